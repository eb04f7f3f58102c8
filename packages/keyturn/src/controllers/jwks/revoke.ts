// Revoking a key by any of its names: finds every object that publishes it, asks for it to be withdrawn there, and says from when on nobody accepts it.
import {
  type Client,
  ConfigMap,
  keyOfObject,
  type Kind,
  type KubeObject,
  managedBySelector,
  nameOf,
  ownerOf,
  resourceOf,
  sleep,
  type Stored,
  systemClock,
} from "@keyturn/runtime";
import { keyturn, type Query, type Report } from "../../feature/feature.ts";
import { JWKS, JWKSConfig, type JwksStatus, revokeAnnotation } from "./api.ts";
import { documentOf, documentWithout, entriesOf, isDocumentConfigMap, recoverHistory } from "./config-map.ts";
import type { KeyEntry } from "./jwk.ts";
import { isNamed, type RevokedKey, revokedNames } from "./revocations.ts";

/** An object of either kind, as far as it is looked at. */
interface Publisher extends KubeObject {
  readonly status?: JwksStatus;
}

/** An object that publishes the key, with the names that it has there. */
interface Found {
  readonly kind: Kind<Publisher>;
  readonly object: Stored<Publisher>;
  readonly kids: readonly string[];
}

/** A document that stayed when its object was deleted: nobody keeps it up, and whoever revokes changes it. */
interface LeftDocument {
  readonly document: Stored<ConfigMap>;
  readonly kids: readonly string[];
}

/** What would be revoked. */
interface Revocation {
  readonly thumbprint: string;
  readonly found: readonly Found[];
  readonly left: readonly LeftDocument[];
}

/** kubelet brings a changed ConfigMap to pods within its sync period and the life of its cache, a minute each. */
const kubeletMs = 120_000;
const pollMs = 250;

/** Finds the key that a name means, and everything that publishes it. Rejects if nothing is known by that name, or if it means several keys. */
export async function findRevocation({ client, namespace, signal }: Query, name: string, allNamespaces: boolean): Promise<Revocation> {
  const kinds: readonly Kind<Publisher>[] = [JWKSConfig, JWKS];
  const place = allNamespaces ? {} : { namespace };
  const lists = await Promise.all(kinds.map(async (kind) => (await client.list(kind, place, signal)).items.map((object) => ({ kind, object }))));
  const documents = await documentsIn(client, place, signal);
  const known = lists.flat().map(({ kind, object }) => knownBy(kind, object, documents));
  const owners = new Set(lists.flat().map(({ kind, object }) => `${resourceOf(kind)}/${keyOfObject(object)}`));
  const orphaned = documents.flatMap((document) => {
    const owner = kinds.map((kind) => ({ kind, key: ownerOf(document, keyturn, kind) })).find(({ key }) => key !== undefined);
    const isLeft = owner && !owners.has(`${resourceOf(owner.kind)}/${owner.key}`);
    return isLeft ? [{ document, keys: keysIn(document) }] : [];
  });
  const named = [...known, ...orphaned].flatMap(({ keys }) => keys).filter((key) => isNamed(key, name));
  const remembered = known.flatMap(({ revoked }) => revoked).filter((each) => each.name === name || each.thumbprint === name);
  const thumbprints = new Set([...named, ...remembered].map(({ thumbprint }) => thumbprint));
  const where = allNamespaces ? "in any namespace" : `in namespace ${namespace}; with -A every namespace is searched`;
  const [thumbprint, ...others] = thumbprints;
  if (thumbprint === undefined)
    throw new Error(`nothing is known by "${name}": no key with this kid, thumbprint or certificate is published ${where}`);
  if (others.length > 0) throw new Error(`"${name}" means ${thumbprints.size} keys; name one by its thumbprint: ${[...thumbprints].join(", ")}`);
  const found = known.flatMap(({ keys, ...each }) => withKids(each, keys, thumbprint));
  const left = orphaned.flatMap(({ keys, ...each }) => withKids(each, keys, thumbprint));
  if (found.length + left.length === 0) throw new Error(`the key "${name}" is revoked already, and published nowhere ${where}`);
  return { thumbprint, found, left };
}

/** What has the key, with the names that it has there; nothing if it has it not. */
function withKids<T>(each: T, keys: readonly KeyEntry[], thumbprint: string): readonly (T & { readonly kids: readonly string[] })[] {
  const kids = new Set(keys.filter((key) => key.thumbprint === thumbprint).map(({ jwk }) => jwk.kid));
  return kids.size > 0 ? [{ ...each, kids: [...kids] }] : [];
}

async function documentsIn(client: Client, place: { readonly namespace?: string }, signal: AbortSignal): Promise<readonly Stored<ConfigMap>[]> {
  const { items } = await client.list(ConfigMap, { ...place, labels: managedBySelector(keyturn) }, signal);
  return items.filter(isDocumentConfigMap);
}

function keysIn(document: ConfigMap): readonly KeyEntry[] {
  return entriesOf(documentOf(document) ?? "");
}

/** What an object publishes: what its status says, and what its documents hold, also those under earlier names, of which the status may say nothing any more. */
function knownBy(
  kind: Kind<Publisher>,
  object: Stored<Publisher>,
  documents: readonly Stored<ConfigMap>[],
): Pick<Found, "kind" | "object"> & { readonly keys: readonly KeyEntry[]; readonly revoked: readonly RevokedKey[] } {
  const { keys, pending, revoked } = recoverHistory(undefined, object.status);
  return { kind, object, keys: [...keys, ...pending, ...ownedBy(kind, object, documents).flatMap(keysIn)], revoked };
}

function ownedBy(kind: Kind, object: KubeObject, documents: readonly Stored<ConfigMap>[]): readonly Stored<ConfigMap>[] {
  const key = keyOfObject(object);
  return documents.filter((document) => ownerOf(document, keyturn, kind) === key);
}

/** What is about to be done, for whoever has to confirm it. */
export function describeRevocation({ thumbprint, found, left }: Revocation): string {
  const lines = [
    ...found.map(({ kind, object, kids }) => `  ${kind.kind} ${keyOfObject(object)}: ${kids.join(", ")}`),
    ...left.map(({ document, kids }) => `  ConfigMap ${keyOfObject(document)}, whose object is deleted: ${kids.join(", ")}`),
  ];
  return `The key ${thumbprint} is withdrawn at once from\n${lines.join("\n")}\nTokens that it signed are refused from then on.`;
}

/** How a key is withdrawn. */
interface RevokeOptions {
  /** How long the operator may take. */
  readonly timeoutMs: number;
  readonly fieldManager: string;
  /** The API server checks what would be written, and nobody waits for anything. */
  readonly dryRun: boolean;
}

/** Asks for the key to be withdrawn, waits until it is, and tells when the last cache of the old document ends. */
export async function revoke({ client, signal }: Query, { thumbprint, found, left }: Revocation, options: RevokeOptions): Promise<Report> {
  const { timeoutMs, fieldManager, dryRun } = options;
  for (const { kind, object } of found) {
    const names = revokedNames(object.metadata.annotations?.[revokeAnnotation]);
    const { resourceVersion } = object.metadata;
    const annotations = { [revokeAnnotation]: [...new Set([...names, thumbprint])].join(",") };
    const patch = { metadata: { resourceVersion, annotations } };
    await client.mergePatch(kind, nameOf(keyOfObject(object)), patch, { fieldManager, dryRun }, signal);
  }
  for (const { document } of left) await takeOut(client, document, thumbprint, { fieldManager, dryRun, signal });
  if (dryRun) return dryReport({ thumbprint, found, left });
  const endsAtMs = systemClock.monotonic() + timeoutMs;
  const results = await Promise.all(found.map(async (each) => cachesEnd(each, await withdrawn(client, each, { thumbprint, endsAtMs, signal }))));
  const items = [...results, ...left.map(leftItem)];
  const text = items.map(
    ({ words, data: { withdrawnAt, cachedUntil } }) =>
      `${words}: withdrawn at ${withdrawnAt}; ` +
      (cachedUntil === undefined
        ? "for how long others keep the old document is not known"
        : `the last cache of the old document ends at ${cachedUntil}`),
  );
  return { text: text.join("\n"), data: { thumbprint, items: items.map(({ data }) => data) } };
}

/** What would be withdrawn, in the words of what was. */
function dryReport({ thumbprint, found, left }: Revocation): Report {
  const items = [
    ...found.map(({ kind, object, kids }) => ({ kind, object, kids })),
    ...left.map(({ document, kids }) => ({ kind: ConfigMap, object: document, kids })),
  ];
  return {
    text: items.map(({ kind, object, kids }) => `${kind.kind} ${keyOfObject(object)}: withdrawn ${kids.join(", ")}`).join("\n"),
    data: {
      thumbprint,
      dryRun: true,
      items: items.map(({ kind, object: { metadata }, kids }) => ({
        resource: resourceOf(kind),
        namespace: metadata.namespace,
        name: metadata.name,
        kids,
      })),
    },
  };
}

/** What became of one document or object. */
interface Item {
  readonly words: string;
  readonly data: {
    readonly resource: string;
    readonly namespace: string | undefined;
    readonly name: string;
    readonly kids: readonly string[];
    readonly withdrawnAt: string;
    readonly cachedUntil: string | undefined;
  };
}

async function takeOut(
  client: Client,
  document: Stored<ConfigMap>,
  thumbprint: string,
  { signal, ...options }: Pick<RevokeOptions, "fieldManager" | "dryRun"> & { readonly signal: AbortSignal },
): Promise<void> {
  const without = documentWithout(document, new Set([thumbprint]), "");
  const name = keyOfObject(document);
  if (!without) return;
  if (document.immutable) throw new Error(`ConfigMap ${name} has the key, is immutable, and the object that made it is deleted: delete it too`);
  const { metadata, data, binaryData } = without.configMap;
  const { resourceVersion } = document.metadata;
  const patch = { metadata: { resourceVersion, annotations: metadata.annotations }, ...(data && { data }), ...(binaryData && { binaryData }) };
  await client.mergePatch(ConfigMap, nameOf(name), patch, options, signal);
}

function leftItem({ document, kids }: LeftDocument): Item {
  const { namespace, name } = document.metadata;
  const data = { resource: resourceOf(ConfigMap), namespace, name, kids, withdrawnAt: timestampNow(), cachedUntil: undefined };
  return { words: `ConfigMap ${keyOfObject(document)}`, data };
}

/** The object as it is once nothing of it has the key any more, also no document under an earlier name; undefined if it has been deleted meanwhile. */
async function withdrawn(
  client: Client,
  { kind, object: { metadata } }: Found,
  { thumbprint, endsAtMs, signal }: { readonly thumbprint: string; readonly endsAtMs: number; readonly signal: AbortSignal },
): Promise<Stored<Publisher> | undefined> {
  const { namespace } = metadata;
  const has = ({ thumbprint: each }: { readonly thumbprint: string }): boolean => each === thumbprint;
  for (;;) {
    const object = await client.get(kind, nameOf(keyOfObject({ metadata })), signal);
    const { keys, revoked } = recoverHistory(undefined, object?.status);
    if (!object) return undefined;
    if (revoked.some(has) && !keys.some(has)) {
      const documents = await documentsIn(client, namespace === undefined ? {} : { namespace }, signal);
      if (!ownedBy(kind, object, documents).flatMap(keysIn).some(has)) return object;
    }
    if (systemClock.monotonic() > endsAtMs) {
      throw new Error(
        `the operator has not withdrawn the key from ${kind.kind} ${keyOfObject({ metadata })} yet; it is asked to: keyturn status ${metadata.name}`,
      );
    }
    await sleep(systemClock, pollMs, signal);
  }
}

/** From when on nobody has the old document: it was handed out with the longer of the two cache times, and kubelet brings the new one late. */
function cachesEnd({ kind, object: { metadata, status }, kids }: Found, now: Stored<Publisher> | undefined): Item {
  const { namespace, name } = metadata;
  const updatedAt = now?.status?.lastUpdateTime;
  // It does not change where the key was in a document under an earlier name alone.
  const withdrawnAt = updatedAt === undefined || updatedAt === status?.lastUpdateTime ? timestampNow() : updatedAt;
  const cacheSeconds = Math.max(status?.cacheSeconds ?? -1, now?.status?.cacheSeconds ?? -1);
  const cachedUntil = cacheSeconds < 0 ? undefined : new Date(Date.parse(withdrawnAt) + kubeletMs + cacheSeconds * 1000).toISOString();
  return {
    words: `${kind.kind} ${keyOfObject({ metadata })}`,
    data: { resource: resourceOf(kind), namespace, name, kids, withdrawnAt, cachedUntil },
  };
}

function timestampNow(): string {
  return new Date(systemClock.now()).toISOString();
}
