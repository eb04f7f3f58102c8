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
import { documentOf, entriesOf, isDocumentConfigMap, recoverHistory } from "./config-map.ts";
import type { KeyEntry } from "./jwk.ts";
import { nginxConfigFile } from "./nginx.ts";
import { isNamed, type RevokedKey, revokedNames } from "./revocations.ts";

/** An object of either kind, as far as it is looked at. */
interface Publisher extends KubeObject {
  readonly spec?: { readonly nginxConfigMapName?: string | undefined };
  readonly status?: JwksStatus;
}

/** An object that publishes the key, with the names that it has there. */
interface Found {
  readonly kind: Kind<Publisher>;
  readonly object: Stored<Publisher>;
  readonly kids: readonly string[];
}

/** What would be revoked. */
interface Revocation {
  readonly thumbprint: string;
  readonly found: readonly Found[];
}

/** kubelet brings a changed ConfigMap to pods within its sync period and the life of its cache, a minute each. */
const kubeletMs = 120_000;
const pollMs = 250;

/** Finds the key that a name means, and everything that publishes it. Rejects if nothing is known by that name, or if it means several keys. */
export async function findRevocation({ client, namespace, signal }: Query, name: string, allNamespaces: boolean): Promise<Revocation> {
  const kinds: readonly Kind<Publisher>[] = [JWKSConfig, JWKS];
  const place = allNamespaces ? {} : { namespace };
  const lists = await Promise.all(kinds.map(async (kind) => (await client.list(kind, place, signal)).items.map((object) => ({ kind, object }))));
  const { items: documents } = await client.list(ConfigMap, { ...place, labels: managedBySelector(keyturn) }, signal);
  const known = lists.flat().map(({ kind, object }) => knownBy(kind, object, documents));
  const thumbprints = new Set(
    known.flatMap(({ keys, revoked }) => [
      ...keys.filter((key) => isNamed(key, name)).map(({ thumbprint }) => thumbprint),
      ...revoked.filter((each) => each.name === name || each.thumbprint === name).map(({ thumbprint }) => thumbprint),
    ]),
  );
  const where = allNamespaces ? "in any namespace" : `in namespace ${namespace}; with -A every namespace is searched`;
  const [thumbprint, ...others] = thumbprints;
  if (thumbprint === undefined)
    throw new Error(`nothing is known by "${name}": no key with this kid, thumbprint or certificate is published ${where}`);
  if (others.length > 0) throw new Error(`"${name}" means ${thumbprints.size} keys; name one by its thumbprint: ${[...thumbprints].join(", ")}`);
  const found = known.flatMap(({ kind, object, keys }) => {
    const kids = new Set(keys.filter((key) => key.thumbprint === thumbprint).map(({ jwk }) => jwk.kid));
    return kids.size > 0 ? [{ kind, object, kids: [...kids] }] : [];
  });
  if (found.length === 0) throw new Error(`the key "${name}" is revoked already, and published nowhere ${where}`);
  return { thumbprint, found };
}

/** What an object publishes: what its status says, and what its documents hold, also those under earlier names, of which the status may say nothing any more. */
function knownBy(
  kind: Kind<Publisher>,
  object: Stored<Publisher>,
  configMaps: readonly Stored<ConfigMap>[],
): Pick<Found, "kind" | "object"> & { readonly keys: readonly KeyEntry[]; readonly revoked: readonly RevokedKey[] } {
  const { keys, pending, revoked } = recoverHistory(undefined, object.status);
  const key = keyOfObject(object);
  const own = configMaps.filter((configMap) => isDocumentConfigMap(configMap) && ownerOf(configMap, keyturn, kind) === key);
  return { kind, object, keys: [...keys, ...pending, ...own.flatMap((configMap) => entriesOf(documentOf(configMap) ?? ""))], revoked };
}

/** What is about to be done, for whoever has to confirm it. */
export function describeRevocation({ thumbprint, found }: Revocation): string {
  const lines = found.map(({ kind, object, kids }) => `  ${kind.kind} ${keyOfObject(object)}: ${kids.join(", ")}`);
  return `The key ${thumbprint} is withdrawn at once from\n${lines.join("\n")}\nTokens that it signed are refused from then on.`;
}

/** Asks for the key to be withdrawn, waits until it is, and tells when the last cache of the old document ends. */
export async function revoke({ client, signal }: Query, { thumbprint, found }: Revocation, timeoutMs: number): Promise<Report> {
  for (const { kind, object } of found) {
    const names = revokedNames(object.metadata.annotations?.[revokeAnnotation]);
    const { resourceVersion } = object.metadata;
    const annotations = { [revokeAnnotation]: [...new Set([...names, thumbprint])].join(",") };
    await client.mergePatch(kind, nameOf(keyOfObject(object)), { metadata: { resourceVersion, annotations } }, undefined, signal);
  }
  const endsAtMs = systemClock.monotonic() + timeoutMs;
  const results = await Promise.all(
    found.map(async (each) => {
      const object = await withdrawn(client, each, { thumbprint, endsAtMs, signal });
      return { each, ...(await cachesEnd(client, each, object, signal)) };
    }),
  );
  const text = results.map(({ each, withdrawnAt, cachedUntil }) => {
    const what = `${each.kind.kind} ${keyOfObject(each.object)}`;
    const until =
      cachedUntil === undefined ? "whoever reads its ConfigMap sees that at once" : `the last cache of the old document ends at ${cachedUntil}`;
    return `${what}: withdrawn at ${withdrawnAt}; ${until}`;
  });
  const data = results.map(({ each: { kind, object, kids }, withdrawnAt, cachedUntil }) => {
    const { namespace, name } = object.metadata;
    return { resource: resourceOf(kind), namespace, name, kids, withdrawnAt, cachedUntil };
  });
  return { text: text.join("\n"), data: { thumbprint, items: data } };
}

async function withdrawn(
  client: Client,
  { kind, object: { metadata } }: Found,
  { thumbprint, endsAtMs, signal }: { readonly thumbprint: string; readonly endsAtMs: number; readonly signal: AbortSignal },
): Promise<Stored<Publisher> | undefined> {
  for (;;) {
    const object = await client.get(kind, nameOf(keyOfObject({ metadata })), signal);
    const { keys, revoked } = recoverHistory(undefined, object?.status);
    if (!object || (revoked.some((each) => each.thumbprint === thumbprint) && !keys.some((key) => key.thumbprint === thumbprint))) return object;
    if (systemClock.monotonic() > endsAtMs) {
      throw new Error(
        `the operator has not withdrawn the key from ${kind.kind} ${keyOfObject({ metadata })} yet; it is asked to: keyturn status ${metadata.name}`,
      );
    }
    await sleep(systemClock, pollMs, signal);
  }
}

async function cachesEnd(
  client: Client,
  { object: { metadata, spec } }: Found,
  now: Stored<Publisher> | undefined,
  signal: AbortSignal,
): Promise<{ readonly withdrawnAt: string; readonly cachedUntil: string | undefined }> {
  const withdrawnAt = now?.status?.lastUpdateTime ?? new Date(systemClock.now()).toISOString();
  const { namespace } = nameOf(keyOfObject({ metadata }));
  const config =
    spec?.nginxConfigMapName &&
    (await client.get(ConfigMap, { ...(namespace !== undefined && { namespace }), name: spec.nginxConfigMapName }, signal));
  const [, maxAge] = (config && /max-age=(\d+)/.exec(config.data?.[nginxConfigFile] ?? "")) || [];
  if (maxAge === undefined) return { withdrawnAt, cachedUntil: undefined };
  return { withdrawnAt, cachedUntil: new Date(Date.parse(withdrawnAt) + kubeletMs + Number(maxAge) * 1000).toISOString() };
}
