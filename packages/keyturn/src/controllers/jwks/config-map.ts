// The ConfigMap in which a JWKS document is published with the history of its keys, and how that history is found again.
import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import { type ConfigMap, type KubeObject, maxDurationMs, type ObjectName, type OwnerReference } from "@keyturn/runtime";
import * as z from "zod";
import { type JwksStatus, type KeyStatus, keyStatusSchema } from "./api.ts";
import { readCertificateChain } from "./certificates.ts";
import { algorithmsFor, entriesOfJwks, jwksSizeBytes, keyTypeOf, maxDocumentBytes, publicJwkOf, renderJwks } from "./jwk.ts";
import type { PublishedKey } from "./key-history.ts";
import { documentFile } from "./nginx.ts";

// The history as it is written down, and how it is found again. Two copies: with the published ConfigMap, and in the object's status.

/** What has been published. */
export interface History {
  /** Counts changes: of two copies the one with the higher number is the newer. 0: nothing was ever published. */
  readonly revision: number;
  /** When the ConfigMap was last changed. */
  readonly updatedAtMs: number | undefined;
  readonly keys: readonly PublishedKey[];
}

/** Beside the JWKS document in its ConfigMap: all about its keys that is not in the JWKS document itself. */
export const historyAnnotation = "keyturn.io/jwks-history";

/** `removeAt` may be a date that only JavaScript writes, beyond the year 9999: once there was no longest `oldKeysTTL`, and those keys are not lost for it. */
const keyRecord = keyStatusSchema.omit({ certificateExpires: true, algorithm: true, certificates: true }).extend({
  removeAt: z
    .string()
    .refine((text) => !Number.isNaN(Date.parse(text)))
    .optional(),
});

/** The latest replacement that is believed, so that even the longest `oldKeysTTL` after it is a date that the API server takes. */
const latestReplacementMs = Date.UTC(9999, 0) - maxDurationMs;

/** More changes than any set of keys sees; a higher number was written by somebody else, and is not counted on from. */
const highestRevision = 999_999_999;

const historyRecord = z.object({
  revision: z.int().min(0).max(highestRevision),
  updatedAt: z.iso.datetime(),
  /** SHA-256 of the JWKS document: a document that was edited is not to be believed. */
  digest: z.string(),
  keys: z.array(keyRecord),
});

/** The annotation's value for a document and its history. */
function renderHistory({ revision, updatedAtMs = 0, keys }: History, document: string): string {
  const record: z.infer<typeof historyRecord> = {
    revision,
    updatedAt: timestamp(updatedAtMs),
    digest: hash("sha256", document),
    keys: keys.map(recordOf),
  };
  return JSON.stringify(record);
}

/** What the status says about a key. */
export function keyStatusOf(key: PublishedKey): KeyStatus {
  return { ...recordOf(key), certificateExpires: timestamp(key.notAfterMs), algorithm: key.jwk.alg, certificates: [...key.jwk.x5c] };
}

/** The time as Kubernetes writes it, to the millisecond: what is read back is what was written. */
export function timestamp(timeMs: number): string {
  return new Date(timeMs).toISOString();
}

/**
 * Finds the history again, from the newer of its two copies.
 *
 * The ConfigMap's is written in the same request as the JWKS document, so no crash can come between; it does not count if the JWKS document was edited since.
 * The status's is written a moment later, and survives the ConfigMap. With neither, the keys of a JWKS document that somebody has handed over to us, or has
 * edited before its object was made again, are taken as published from Secrets whose names are unknown: they retire when the first key of ours appears.
 */
export function recoverHistory(configMap: ConfigMap | undefined, status: JwksStatus | undefined): History {
  const { revision = 0 } = status ?? {};
  const published = configMap && historyOfConfigMap(configMap);
  if (published && published.revision >= revision) return published;
  if (revision > 0 || !configMap) return historyOfStatus(status);
  return { revision: 0, updatedAtMs: undefined, keys: adoptedKeys(configMap) };
}

/** The JWKS document in a ConfigMap: in `data`, or in `binaryData`, where rieset/jwks-operator puts it. */
function documentOf(configMap: ConfigMap): string | undefined {
  const encoded = configMap.binaryData?.[documentFile];
  return configMap.data?.[documentFile] ?? (encoded === undefined ? undefined : Buffer.from(encoded, "base64").toString("utf8"));
}

function historyOfConfigMap(configMap: ConfigMap): History | undefined {
  const document = documentOf(configMap);
  const record = readRecord(configMap.metadata.annotations?.[historyAnnotation]);
  if (document === undefined || record?.digest !== hash("sha256", document)) return undefined;
  const entries = new Map(entriesOfJwks(document).map((entry) => [entry.kid, entry]));
  const keys = record.keys.flatMap((key) => {
    const entry = entries.get(key.kid);
    return entry ? (publishedKeyOf(key, { algorithm: entry.alg, certificates: entry.x5c }) ?? []) : [];
  });
  return { revision: record.revision, updatedAtMs: Date.parse(record.updatedAt), keys };
}

function historyOfStatus({ revision = 0, lastUpdateTime, keys = [] }: JwksStatus = {}): History {
  return {
    revision,
    updatedAtMs: lastUpdateTime === undefined ? undefined : Date.parse(lastUpdateTime),
    keys: keys.flatMap((key) => publishedKeyOf(key, key) ?? []),
  };
}

function adoptedKeys(configMap: ConfigMap): readonly PublishedKey[] {
  const since = configMap.metadata.creationTimestamp ?? timestamp(0);
  return entriesOfJwks(documentOf(configMap) ?? "").flatMap(
    ({ kid, alg, x5c }) => publishedKeyOf({ kid, state: "Active", source: "", since }, { algorithm: alg, certificates: x5c }) ?? [],
  );
}

function readRecord(annotation: string | undefined): z.infer<typeof historyRecord> | undefined {
  if (annotation === undefined) return undefined;
  try {
    return historyRecord.safeParse(JSON.parse(annotation)).data;
  } catch {
    // An annotation that is no JSON was edited, and the other copy counts.
    return undefined;
  }
}

function recordOf({ jwk: { kid }, source, sinceMs, standing }: PublishedKey): z.infer<typeof keyRecord> {
  const record = { kid, state: standing.state, source, since: timestamp(sinceMs) };
  return standing.state === "Active" ? record : { ...record, replacedAt: timestamp(standing.replacedAtMs), removeAt: timestamp(standing.removeAtMs) };
}

/** The key anew from its certificates, so that nothing is published that was not made here. Undefined if they cannot be read. */
function publishedKeyOf(
  { kid, state, source, since, replacedAt, removeAt }: z.infer<typeof keyRecord>,
  { algorithm, certificates }: { readonly algorithm: string | undefined; readonly certificates: readonly string[] },
): PublishedKey | undefined {
  const chain = readCertificateChain(certificates);
  const keyType = chain && keyTypeOf(chain.publicKey);
  if (!chain || typeof keyType !== "string") return undefined;
  const alg = algorithmsFor(keyType).find((possible) => possible === algorithm) ?? algorithmsFor(keyType)[0];
  const replacedAtMs = Math.min(Date.parse(replacedAt ?? ""), latestReplacementMs);
  return {
    jwk: publicJwkOf(chain, { kid, alg }),
    source,
    sinceMs: Date.parse(since),
    notAfterMs: chain.notAfterMs,
    standing:
      state === "Retiring" && replacedAt !== undefined && removeAt !== undefined
        ? { state, replacedAtMs, removeAtMs: Math.min(Date.parse(removeAt), replacedAtMs + maxDurationMs) }
        : { state: "Active" },
  };
}

// The ConfigMap in which the JWKS document is published, together with the history of its keys.

/** Distinguishes this ConfigMap from the others that are kept for the same object. */
const componentLabel = "app.kubernetes.io/component";
const component = "jwks";

/** All annotations of an object may have 256 KiB together; the rest is left to others. */
const maxHistoryBytes = 192 * 1024;

/** True if the JWKS document and the history of these keys fit into a ConfigMap. */
export function fitsConfigMap(keys: readonly PublishedKey[]): boolean {
  const document = renderJwks(keys.map(({ jwk }) => jwk));
  return (
    jwksSizeBytes(document) <= maxDocumentBytes && jwksSizeBytes(renderHistory({ revision: 0, updatedAtMs: 0, keys }, document)) <= maxHistoryBytes
  );
}

/** The ConfigMap for a history. An owner makes it go with its object; `live` says in which field the JWKS document already is, because it cannot be in both. */
export function documentConfigMap(
  history: History,
  options: { readonly name: ObjectName; readonly live: ConfigMap | undefined; readonly owner: OwnerReference | undefined },
): ConfigMap {
  const document = renderJwks(history.keys.map(({ jwk }) => jwk));
  return {
    metadata: {
      ...options.name,
      labels: { [componentLabel]: component },
      annotations: { [historyAnnotation]: renderHistory(history, document) },
      ...(options.owner && { ownerReferences: [options.owner] }),
    },
    ...(options.live?.binaryData?.[documentFile] === undefined
      ? { data: { [documentFile]: document } }
      : { binaryData: { [documentFile]: Buffer.from(document).toString("base64") } }),
  };
}

/** True if `live` publishes exactly what `wanted` does. */
export function publishesSame(live: ConfigMap, wanted: ConfigMap): boolean {
  return (
    documentOf(live) === documentOf(wanted) && live.metadata.annotations?.[historyAnnotation] === wanted.metadata.annotations?.[historyAnnotation]
  );
}

/** True if an object that is kept for a JWKS object is such a ConfigMap. */
export function isDocumentConfigMap<T extends KubeObject>(object: T): object is T & ConfigMap {
  return object.metadata.labels?.[componentLabel] === component;
}
