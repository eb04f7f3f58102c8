// The ConfigMap in which a JWKS document is published, with the history of its keys: written down in the object's status, with a copy beside the document.
// And documents that somebody else published.
import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import { type ConfigMap, type KubeObject, LruMap, maxDurationMs, type ObjectName, type OwnerReference } from "@keyturn/runtime";
import * as z from "zod";
import { readCertificateChain, type KeyMembers, keyMembersOf, keyOfMembers, keyUseOf, thumbprintOf } from "../../public-key.ts";
import { type JwksStatus, type KeyStatus, keyStatusSchema } from "./api.ts";
import {
  base64url,
  certifiedEntry,
  ecCurves,
  edwardsCurves,
  entryId,
  jwksSizeBytes,
  type KeyEntry,
  maxDocumentBytes,
  plainEntry,
  publishedAlgorithms,
  renderJwks,
} from "./jwk.ts";
import type { PendingKey, PublishedKey, Room } from "./key-history.ts";
import { documentFile } from "./nginx.ts";
import type { RevokedKey } from "./revocations.ts";
import { limits } from "../../limits.ts";

// JWKS documents that somebody else wrote: what is taken of them, and what of it is worth a warning.

/** A document that somebody published, whatever its entries are. */
const foreignDocument = z.object({ keys: z.array(z.unknown()) });

/** The entries of a JWKS as they stand; undefined if the text is no JWKS. */
export function rawEntriesOf(text: string): readonly unknown[] | undefined {
  try {
    return foreignDocument.safeParse(JSON.parse(text)).data?.keys;
  } catch {
    // What is no JSON is no JWKS either.
    return undefined;
  }
}

const text = z.string().max(limits.keyText);
const number = base64url.max(limits.keyText);
const foreignMembers = {
  kid: text.min(1).optional(),
  alg: text.optional(),
  use: text.optional(),
  key_ops: z.unknown().optional(),
  x5c: z.array(z.string()).optional(),
};

/** RFC 7518, section 4.1: a key for one of these encrypts. */
const encryption = /^(?:RSA1_5|RSA-OAEP|ECDH-ES)/;

/** An entry as far as it is needed to go on publishing its key. The key is read anew from these members, or from its certificates. */
const foreignEntry = z.discriminatedUnion("kty", [
  z.looseObject({ kty: z.literal("RSA"), n: number, e: number, ...foreignMembers }),
  z.looseObject({ kty: z.literal("EC"), crv: z.enum(ecCurves), x: number, y: number, ...foreignMembers }),
  z.looseObject({ kty: z.literal("OKP"), crv: z.enum(edwardsCurves), x: number, ...foreignMembers }),
]);

/**
 * The key of an entry, under its own `kid` and `alg`; undefined for keys that verify no signatures: symmetric ones, those for encryption, and what is no key.
 * What verifiers take is its numbers: certificates for another key are no part of it.
 */
export function foreignEntryOf(raw: unknown): KeyEntry | undefined {
  const { data } = foreignEntry.safeParse(raw);
  if (!data || (data.use !== undefined && data.use !== "sig") || encryption.test(data.alg ?? "")) return undefined;
  if (Array.isArray(data.key_ops) && !data.key_ops.includes("verify")) return undefined;
  const members = checkedMembers(data);
  const chain = readCertificateChain(data.x5c ?? []);
  const thumbprint = members ? thumbprintOf(members) : chain?.thumbprint;
  const alg = publishedAlgorithms.find((known) => known === data.alg);
  if (chain && chain.thumbprint === thumbprint) return certifiedEntry(chain, { kid: data.kid ?? thumbprint, alg });
  return members && plainEntry(members, { kid: data.kid ?? thumbprintOf(members), alg });
}

/** Keys are read once, as chains are: every run for an object meets the same ones in its documents and in its history. */
const membersRead = new LruMap<string, { readonly members: KeyMembers | undefined }>(5000);

/** The numbers of a key, if they are one. */
function checkedMembers(given: KeyMembers): KeyMembers | undefined {
  const id = thumbprintOf(given);
  const known = membersRead.get(id) ?? { members: membersOf(given) };
  membersRead.set(id, known);
  return known.members;
}

function membersOf(given: KeyMembers): KeyMembers | undefined {
  const key = keyOfMembers(given);
  return key && keyMembersOf(key);
}

const documentsRead = new LruMap<string, readonly KeyEntry[]>(200);

/** The keys of a document that verify signatures; none if the text is no JWKS. */
export function entriesOf(text: string): readonly KeyEntry[] {
  const reading = readingDocument(text);
  for (;;) {
    const { done, value } = reading.next();
    if (done) return value;
  }
}

/** The same, key by key, so that whoever has more to do can do it between two of them. What was read is remembered. */
export function* readingDocument(text: string): Generator<undefined, readonly KeyEntry[]> {
  const id = hash("sha256", text);
  const known = documentsRead.get(id);
  if (known) return known;
  const entries: KeyEntry[] = [];
  for (const raw of (rawEntriesOf(text) ?? []).slice(0, limits.documentKeys)) {
    const entry = foreignEntryOf(raw);
    if (entry) entries.push(entry);
    yield;
  }
  documentsRead.set(id, entries);
  return entries;
}

/** The document in a ConfigMap that asks to be merged; empty if there is none, or it is longer than any that is merged. */
export function keepMerged(configMap: Pick<ConfigMap, "data" | "binaryData">): string {
  const document = documentOf(configMap) ?? "";
  return document.length > limits.mergedBytes ? "" : document;
}

/** What is worth a warning about a key that was taken over; undefined if Keyturn would publish it by itself. */
export function weaknessOf({ jwk }: Pick<KeyEntry, "jwk">): string | undefined {
  const key = keyOfMembers(jwk);
  const use = key && keyUseOf(key);
  if (!use || "unsupported" in use) return use?.unsupported ?? "it cannot be read";
  return jwk.x5c === undefined ? "it has no certificate" : undefined;
}

// The history as it is written down, and how it is found again.

/** What has been published, and what is about to be. */
export interface History {
  /** Counts changes of the JWKS document. 0: nothing was ever published. */
  readonly revision: number;
  /** When the ConfigMap was last changed. */
  readonly updatedAtMs: number | undefined;
  readonly keys: readonly PublishedKey[];
  /** Keys that a source was seen to hold: they are written down before they are published, so that none is forgotten on the way. */
  readonly pending: readonly PendingKey[];
  readonly revoked: readonly RevokedKey[];
}

/** A history that was found, where, and how many entries of a document that was taken over are no keys for signatures. */
export interface FoundHistory extends History {
  readonly origin: "nothing" | "status" | "ownDocument" | "foreignDocument";
  readonly leftOut: number;
}

/** Beside the JWKS document in its ConfigMap: all about its keys that is not in the JWKS document itself. */
export const historyAnnotation = "keyturn.io/jwks-history";

/** `removeAt` may be a date that only JavaScript writes, beyond the year 9999: once there was no longest `oldKeysTTL`, and those keys are not lost for it. */
const keyRecord = keyStatusSchema.pick({ kid: true, source: true, since: true, replacedAt: true, algorithm: true }).extend({
  state: z.enum(["Active", "Retiring"]),
  removeAt: z
    .string()
    .refine((text) => !Number.isNaN(Date.parse(text)))
    .optional(),
});
type KeyRecord = z.infer<typeof keyRecord>;

/** The latest replacement that is believed, so that even the longest `oldKeysTTL` after it is a date that the API server takes. */
const latestReplacementMs = Date.UTC(9999, 0) - maxDurationMs;

/** More changes than any set of keys sees; a higher number was written by somebody else, and is not counted on from. */
const { highestVersion: highestRevision } = limits;

const historyRecord = z.object({
  revision: z.int().min(0).max(highestRevision),
  updatedAt: z.iso.datetime(),
  /** SHA-256 of the JWKS document: a document that was edited is not to be believed. */
  digest: z.string(),
  keys: z.array(keyRecord),
  revoked: z.array(z.object({ name: z.string(), thumbprint: z.string() })).optional(),
});

/** The annotation's value for a document and its history. */
function renderHistory({ revision, updatedAtMs = 0, keys, revoked }: Omit<History, "pending">, document: string): string {
  const record: z.infer<typeof historyRecord> = {
    revision,
    updatedAt: timestamp(updatedAtMs),
    digest: hash("sha256", document),
    keys: keys.map(recordOf),
    ...(revoked.length > 0 && { revoked: [...revoked] }),
  };
  return JSON.stringify(record);
}

/** What the status says about its keys. */
export function keyStatusesOf({ keys, pending }: History): KeyStatus[] {
  return [
    ...keys.map((key) => ({ ...recordOf(key), ...availabilityOf(key), ...contentOf(key) })),
    ...pending.map((key) => ({ ...beginningOf(key), state: "Pending" as const, ...contentOf(key) })),
  ];
}

function availabilityOf({ availableSinceMs }: PublishedKey): Pick<KeyStatus, "availableSince"> {
  return availableSinceMs === undefined ? {} : { availableSince: timestamp(availableSinceMs) };
}

function contentOf({ jwk, thumbprint, notAfterMs }: KeyEntry): Partial<KeyStatus> {
  const { kty, n, e, crv, x, y }: { kty: string; n?: string; e?: string; crv?: string; x?: string; y?: string } = jwk;
  const given = Object.fromEntries(Object.entries({ n, e, crv, x, y }).filter(([, value]) => value !== undefined));
  return {
    thumbprint,
    ...(notAfterMs !== undefined && { certificateExpires: timestamp(notAfterMs) }),
    ...(jwk.x5c ? { certificates: [...jwk.x5c] } : { publicKey: { kty, ...given } }),
  };
}

/** The time as Kubernetes writes it, to the millisecond: what is read back is what was written. */
export function timestamp(timeMs: number): string {
  return new Date(timeMs).toISOString();
}

/**
 * Finds the history again.
 *
 * What the status says counts, and nothing else: only who may write it can have written it. The ConfigMap, which more people may write, counts for an object
 * that has published nothing yet: it was made anew or restored, crashed after its first publication, or was given a document that others had published. Keys
 * of such a document are taken as published by sources whose names are unknown: they retire when the first key of ours appears.
 */
export function recoverHistory(configMap: ConfigMap | undefined, status: JwksStatus | undefined): FoundHistory {
  const written = historyOfStatus(status);
  if (written.origin === "status" || !configMap) return written;
  // What was seen while the ConfigMap was not ours yet is not forgotten.
  const { pending } = written;
  return { ...(historyOfConfigMap(configMap) ?? adoptedHistory(configMap)), pending };
}

/** The revision that a ConfigMap says it has; undefined if it says none, or was edited. */
export function revisionOf(configMap: ConfigMap): number | undefined {
  const record = readRecord(configMap.metadata.annotations?.[historyAnnotation]);
  return record?.digest === hash("sha256", documentOf(configMap) ?? "") ? record?.revision : undefined;
}

/** The JWKS document in a ConfigMap: in `data`, or in `binaryData`, where rieset/jwks-operator puts it. */
export function documentOf(configMap: Pick<ConfigMap, "data" | "binaryData">): string | undefined {
  const encoded = configMap.binaryData?.[documentFile];
  return configMap.data?.[documentFile] ?? (encoded === undefined ? undefined : Buffer.from(encoded, "base64").toString("utf8"));
}

function historyOfStatus({ revision = 0, lastUpdateTime, keys = [], revoked = [] }: JwksStatus = {}): FoundHistory {
  const found = keys.flatMap((key) => {
    const entry = entryOfStatus(key);
    return entry ? [{ key, entry }] : [];
  });
  return {
    origin: revision > 0 ? "status" : "nothing",
    leftOut: 0,
    revision,
    updatedAtMs: lastUpdateTime === undefined ? undefined : Date.parse(lastUpdateTime),
    keys: found.flatMap(({ key: { state, ...key }, entry }) =>
      state === "Pending" ? [] : publishedKeyOf({ state, ...key }, entry, key.availableSince),
    ),
    pending: found.flatMap(({ key: { state, source, since }, entry: { jwk, thumbprint, notAfterMs } }) =>
      state === "Pending" ? { jwk, thumbprint, notAfterMs, source, sinceMs: Date.parse(since) } : [],
    ),
    revoked,
  };
}

/** Reads the keys of a status one by one, for the plan to find them read. */
export function* readingStatus({ keys = [] }: JwksStatus = {}): Generator<undefined, void> {
  for (const key of keys) {
    entryOfStatus(key);
    yield;
  }
}

const statusRead = new WeakMap<KeyStatus, { readonly entry: KeyEntry | undefined }>();

/** The key anew from its certificates or numbers, so that nothing is published that was not made here; remembered by the status's own object, which never changes. */
function entryOfStatus(key: KeyStatus): KeyEntry | undefined {
  const { kid, algorithm: alg, certificates, publicKey } = key;
  const known = statusRead.get(key);
  if (known) return known.entry;
  const chain = certificates && readCertificateChain(certificates);
  const entry = certificates ? chain && certifiedEntry(chain, { kid, alg }) : foreignEntryOf({ ...publicKey, kid, alg });
  statusRead.set(key, { entry });
  return entry;
}

/** The copy of the history beside a document; undefined if there is none, or the document was edited. */
export function historyOfConfigMap(configMap: ConfigMap): FoundHistory | undefined {
  const document = documentOf(configMap);
  const record = readRecord(configMap.metadata.annotations?.[historyAnnotation]);
  if (document === undefined || record?.digest !== hash("sha256", document)) return undefined;
  // Two keys may have one name; records are in the order of the entries.
  const left = new Set(entriesOf(document));
  const keys = record.keys.flatMap((key) => {
    const entry = [...left].find(({ jwk }) => jwk.kid === key.kid && (key.algorithm === undefined || jwk.alg === key.algorithm));
    if (entry) left.delete(entry);
    return entry ? publishedKeyOf(key, entry) : [];
  });
  const { revision, updatedAt, revoked = [] } = record;
  return { origin: "ownDocument", leftOut: 0, revision: Math.max(revision, 1), updatedAtMs: Date.parse(updatedAt), keys, pending: [], revoked };
}

function adoptedHistory(configMap: ConfigMap): FoundHistory {
  const since = Date.parse(configMap.metadata.creationTimestamp ?? timestamp(0));
  const raw = rawEntriesOf(documentOf(configMap) ?? "") ?? [];
  const entries = entriesOf(documentOf(configMap) ?? "");
  const distinct = new Map(entries.map((entry) => [entryId(entry), entry]));
  const keys = Array.from(distinct.values(), (entry) => ({ ...entry, source: "", sinceMs: since, standing: { state: "Active" } as const }));
  const leftOut = raw.length - entries.length;
  return { origin: "foreignDocument", leftOut, revision: 1, updatedAtMs: undefined, keys, pending: [], revoked: [] };
}

function readRecord(annotation: string | undefined): z.infer<typeof historyRecord> | undefined {
  if (annotation === undefined) return undefined;
  try {
    return historyRecord.safeParse(JSON.parse(annotation)).data;
  } catch {
    // An annotation that is no JSON was edited, and does not count.
    return undefined;
  }
}

function beginningOf({ jwk: { kid, alg }, source, sinceMs }: PendingKey): Omit<KeyRecord, "state"> {
  return { kid, source, since: timestamp(sinceMs), ...(alg !== undefined && { algorithm: alg }) };
}

function recordOf({ standing, ...key }: PublishedKey): KeyRecord {
  const record = { ...beginningOf(key), state: standing.state };
  return standing.state === "Active" ? record : { ...record, replacedAt: timestamp(standing.replacedAtMs), removeAt: timestamp(standing.removeAtMs) };
}

function publishedKeyOf(
  { state, source, since, replacedAt, removeAt }: Omit<KeyRecord, "kid">,
  entry: KeyEntry,
  availableSince?: string,
): PublishedKey {
  const replacedAtMs = Math.min(Date.parse(replacedAt ?? ""), latestReplacementMs);
  return {
    ...entry,
    source,
    sinceMs: Date.parse(since),
    ...(availableSince !== undefined && { availableSinceMs: Date.parse(availableSince) }),
    standing:
      state === "Retiring" && replacedAt !== undefined && removeAt !== undefined
        ? { state, replacedAtMs, removeAtMs: Math.min(Date.parse(removeAt), replacedAtMs + maxDurationMs) }
        : { state: "Active" },
  };
}

// The ConfigMap itself.

/** Distinguishes this ConfigMap from the others that are kept for the same object. */
const componentLabel = "app.kubernetes.io/component";
const component = "jwks";

const emptyBytes = jwksSizeBytes(renderJwks([]));

/** The room that a ConfigMap has for the JWKS document, and for the history of its keys. */
export const configMapRooms: readonly Room[] = [
  { most: maxDocumentBytes - emptyBytes, takenBy: ({ jwk }) => jwksSizeBytes(renderJwks([jwk])) - emptyBytes },
  {
    most: limits.historyBytes - jwksSizeBytes(renderHistory({ revision: 0, updatedAtMs: 0, keys: [], revoked: [] }, "")),
    takenBy: (key) => jwksSizeBytes(JSON.stringify(recordOf(key))) + 1,
  },
];

/** Where and how a history is published. */
interface DocumentOptions {
  readonly name: ObjectName;
  /** What is there: it says in which field the JWKS document is, because it cannot be in both. */
  readonly live: ConfigMap | undefined;
  /** Makes it go with its object. */
  readonly owner: OwnerReference | undefined;
  /** What else is served beside the JWKS document, by file name. */
  readonly files: Readonly<Record<string, string>>;
}

/** The ConfigMap for a history. */
export function documentConfigMap(history: History, { name, live, owner, files }: DocumentOptions): ConfigMap {
  const document = renderJwks(history.keys.map(({ jwk }) => jwk));
  return {
    metadata: {
      ...name,
      labels: { [componentLabel]: component },
      annotations: { [historyAnnotation]: renderHistory(history, document) },
      ...(owner && { ownerReferences: [owner] }),
    },
    ...(live?.binaryData?.[documentFile] === undefined
      ? { data: { [documentFile]: document, ...files } }
      : { binaryData: { [documentFile]: Buffer.from(document).toString("base64") }, ...(Object.keys(files).length > 0 && { data: files }) }),
  };
}

/** True if `live` publishes all that `wanted` does. */
export function publishesSame(live: ConfigMap, wanted: ConfigMap): boolean {
  return (
    documentOf(live) === documentOf(wanted) &&
    Object.entries(wanted.data ?? {}).every(([file, text]) => live.data?.[file] === text) &&
    live.metadata.annotations?.[historyAnnotation] === wanted.metadata.annotations?.[historyAnnotation]
  );
}

/** True if an object that is kept for a JWKS object is such a ConfigMap. */
export function isDocumentConfigMap<T extends KubeObject>(object: T): object is T & ConfigMap {
  return object.metadata.labels?.[componentLabel] === component;
}

/**
 * A published ConfigMap without some keys, under whatever names they are there, and the `kid`s that go; undefined if none is there. All else in it stays as
 * it is: it may be a document under an earlier name, whose keys nobody keeps up any more.
 */
export function documentWithout(
  configMap: ConfigMap,
  thumbprints: ReadonlySet<string>,
  ownerUid: string,
): { readonly configMap: ConfigMap; readonly kids: readonly string[] } | undefined {
  const raw = rawEntriesOf(documentOf(configMap) ?? "") ?? [];
  const gone = new Map(
    raw.slice(0, limits.documentKeys).flatMap((each) => {
      const entry = foreignEntryOf(each);
      return entry && thumbprints.has(entry.thumbprint) ? [[each, entry.jwk.kid] as const] : [];
    }),
  );
  if (gone.size === 0) return undefined;
  const document = `${JSON.stringify({ keys: raw.filter((each) => !gone.has(each)) }, undefined, 2)}\n`;
  const kids = [...gone.values()];
  const record = readRecord(configMap.metadata.annotations?.[historyAnnotation]);
  const left = record && { ...record, digest: hash("sha256", document), keys: record.keys.filter(({ kid }) => !kids.includes(kid)) };
  const { name, namespace, ownerReferences = [] } = configMap.metadata;
  const owners = ownerReferences.filter(({ uid }) => uid === ownerUid);
  return {
    kids,
    configMap: {
      metadata: {
        ...(name !== undefined && { name }),
        ...(namespace !== undefined && { namespace }),
        labels: { [componentLabel]: component },
        annotations: { ...(left && { [historyAnnotation]: JSON.stringify(left) }) },
        ...(owners.length > 0 && { ownerReferences: owners }),
      },
      ...(configMap.binaryData?.[documentFile] === undefined
        ? { data: { ...configMap.data, [documentFile]: document } }
        : { binaryData: { [documentFile]: Buffer.from(document).toString("base64") } }),
    },
  };
}
