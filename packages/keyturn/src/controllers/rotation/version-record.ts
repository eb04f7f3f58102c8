// Version records: one immutable Secret per state of the source. What is noted with one can change, what it holds cannot.
import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { type KubeObject, managedByLabel, type ObjectName, type OwnerReference, type Secret, TerminalError } from "@keyturn/runtime";
import * as z from "zod";
import { keyturn } from "../../operator-identity.ts";
import {
  digestAnnotation,
  highestVersion,
  kindAnnotation,
  latestTimeMs,
  logAnnotation,
  parseTime,
  parseVersion,
  RotationTarget,
  rotationSetMark,
  seenAtAnnotation,
  versionAnnotation,
  versionRecordType,
  watchDigestAnnotation,
} from "./api.ts";
import { type Content, digestOf } from "./content.ts";
import type { RecordObservation } from "./observation.ts";
import type { RotationLog } from "./rotation-log.ts";
import type { RotationWrite } from "./rotation-plan.ts";

const componentLabel = "app.kubernetes.io/component";
const component = "rotation-version";

/** Where the content is in a record. */
const contentKey = "content";

/**
 * The longest text that a version may be; a record that unpacks to more is damaged. A Secret or ConfigMap holds 1 MiB, which is 6 MiB of JSON if every
 * character has to be escaped.
 */
export const largestContentBytes = 8 * 1024 * 1024;

/** What a record holds: the kind of object, and its content. */
export interface VersionContent {
  readonly apiVersion: string;
  readonly kind: string;
  readonly content: Content;
}

const versionContent = z.object({ apiVersion: z.string(), kind: z.string(), content: z.record(z.string(), z.unknown()) });

const timeMs = z.number().min(0).max(latestTimeMs);
const rotationLog = z.object({
  source: z.union([
    z.object({ state: z.literal("present"), uid: z.string(), sinceMs: timeMs }),
    z.object({ state: z.enum(["gone", "unreadable"]), sinceMs: timeMs }),
  ]),
  commits: z.array(
    z.object({ seq: z.int().min(1).max(highestVersion), digest: z.string(), departedMs: timeMs.exactOptional(), at: z.record(z.string(), timeMs) }),
  ),
  frozen: z.array(z.object({ fromMs: timeMs, toMs: timeMs })),
  backfilled: z.array(z.string()),
});

/** The name of a record. A set whose name cannot be part of it is written with a digest instead. */
export function recordName(set: string, seq: number): string {
  const isName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(set);
  const stem = isName ? set : `${set.toLowerCase().replaceAll(/[^a-z0-9-]/g, "-")}-${hash("sha256", set).slice(0, 8)}`;
  return `${stem}-${seq}`;
}

/** The record of a new version. */
export function recordSecret(
  { namespace, set }: { readonly namespace: string; readonly set: string },
  write: RotationWrite & { readonly verb: "createRecord" },
  { content, owners }: { readonly content: VersionContent; readonly owners: readonly OwnerReference[] },
): Secret {
  return {
    metadata: {
      namespace,
      name: recordName(set, write.seq),
      labels: { [managedByLabel]: keyturn.name, [componentLabel]: component, [rotationSetMark]: set },
      annotations: {
        [versionAnnotation]: String(write.seq),
        [kindAnnotation]: write.resource,
        [digestAnnotation]: write.digest,
        [watchDigestAnnotation]: write.watchDigest,
        [seenAtAnnotation]: new Date(write.seenAtMs).toISOString(),
        [logAnnotation]: JSON.stringify(write.log),
      },
      ownerReferences: [...owners],
    },
    type: versionRecordType,
    immutable: true,
    data: { [contentKey]: deflateRawSync(JSON.stringify(content)).toString("base64") },
  };
}

/** What is changed in a record's metadata when something new is noted with it. */
export function recordNote(log: RotationLog | undefined, owners: readonly OwnerReference[]): object {
  return { ...(log && { annotations: { [logAnnotation]: JSON.stringify(log) } }), ownerReferences: owners };
}

/** The target as an owner of records. It does not block its deletion: the history is not what somebody who deletes a target waits for. */
export function ownerReferenceOf({ name, uid }: { readonly name: string; readonly uid: string }): OwnerReference {
  return { apiVersion: `${RotationTarget.group}/${RotationTarget.version}`, kind: RotationTarget.kind, name, uid };
}

/** What a record is, as far as its metadata tells; its log stays text until it is needed. */
export interface RecordMarks extends Omit<RecordObservation, "uid" | "resourceVersion" | "log"> {
  readonly set: string;
  readonly log: string;
}

/** The marks of a record; undefined for any other Secret, such as a copy of one under another name. */
export function recordMarksOf({ metadata }: KubeObject): RecordMarks | undefined {
  const { labels = {}, annotations = {}, ownerReferences = [] } = metadata;
  const set = labels[rotationSetMark];
  if (labels[managedByLabel] !== keyturn.name || labels[componentLabel] !== component || set === undefined) return undefined;
  const seq = parseVersion(annotations[versionAnnotation]);
  const seenAtMs = parseTime(annotations[seenAtAnnotation]);
  const { [kindAnnotation]: resource, [digestAnnotation]: digest, [watchDigestAnnotation]: watchDigest, [logAnnotation]: log = "" } = annotations;
  if (seq === undefined || seenAtMs === undefined || !resource || !digest || !watchDigest || metadata.name !== recordName(set, seq)) return undefined;
  return { set, seq, resource, digest, watchDigest, seenAtMs, log, owners: ownerReferences.map(({ uid }) => uid) };
}

/** The log in a record's annotation; undefined if somebody has damaged it. */
export function parseLog(text: string): RotationLog | undefined {
  try {
    return rotationLog.safeParse(JSON.parse(text)).data;
  } catch {
    // A text that is no JSON was edited: the log of another record counts.
    return undefined;
  }
}

/** A record's content cannot be read, or is not what the record says. Only a person can decide that its version is given up. */
export class DamagedRecordError extends TerminalError {
  constructor({ namespace, name }: ObjectName) {
    super(`version record ${namespace}/${name} cannot be read: delete it, and the version is given up`, { reason: "HistoryDamaged" });
    this.name = "DamagedRecordError";
  }
}

/** The content in a record. Throws a `DamagedRecordError` if there is none, without showing anything of it. */
export function contentOfRecord(record: Secret, name: ObjectName): VersionContent {
  const content = readableContent(record);
  if (!content) throw new DamagedRecordError(name);
  return content;
}

/** The content in a record; undefined if it is damaged. */
export function readableContent({ metadata, data }: Secret): VersionContent | undefined {
  try {
    const packed = Buffer.from(data?.[contentKey] ?? "", "base64");
    const version = versionContent.parse(JSON.parse(inflateRawSync(packed, { maxOutputLength: largestContentBytes }).toString("utf8")));
    return digestOf(version.content) === metadata.annotations?.[digestAnnotation] ? version : undefined;
  } catch {
    // What zlib says helps nobody, and the parsers quote their input, which may be a Secret's content.
    return undefined;
  }
}
