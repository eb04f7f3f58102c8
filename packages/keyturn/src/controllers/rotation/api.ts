// The kind that this controller serves, and the annotations and labels by which sources, targets and version records are known.
import {
  ageColumn,
  conditionColumn,
  conditionsSchema,
  dateTime,
  type DeepReadonly,
  defineCustomKind,
  duration,
  objectName,
  type ObjectOf,
  reasonColumn,
} from "@keyturn/runtime";
import * as z from "zod";
import { limits } from "../../limits.ts";

const domain = "rotator.k8s.telekom.com";

/** On a source, as annotations or as labels. The set is also on a target's object, which a target of the same name in another set may find. */
export const rotationSetAnnotation = `${domain}/rotation-set`;
export const sourceAnnotation = `${domain}/source`;
export const watchPathAnnotation = `${domain}/watch-path`;
export const rotatePathAnnotation = `${domain}/rotate-path`;

/** On a target's object: the version that it was written with, the digest of that version's content, and when. Written in one request with the content. */
export const versionAnnotation = `${domain}/version`;
export const digestAnnotation = `${domain}/digest`;
export const appliedAtAnnotation = `${domain}/applied-at`;

/** On a target's object and on a version record: that this installation has written the others. */
export const proofAnnotation = `${domain}/proof`;

/** On a version record, besides `digest`. */
export const watchDigestAnnotation = `${domain}/watch-digest`;
export const seenAtAnnotation = `${domain}/seen-at`;
export const kindAnnotation = `${domain}/kind`;
export const logAnnotation = `${domain}/log`;

/** On a RotationTarget: the numbers of versions, with commas between them, whose content is lost and that the set may go on without. */
export const giveUpAnnotation = "keyturn.io/give-up-versions";

/** On a RotationTarget: the JWKSConfig of its namespace that must have published a version's key for longer than its cache time before the target gets it. */
export const publishBeforeAnnotation = "keyturn.io/publish-before";

/** On a RotationTarget of the lowest order: a version, by `promotionText`. That one, and those before it, become live there without waiting for the delay. */
export const promoteAnnotation = "keyturn.io/promote";

/** A version by its number and its record: another set, or one whose history began anew, has a version of the same number. */
export function promotionText({ seq, uid }: PromotedRecord): string {
  return `${seq}/${uid}`;
}

/** The version that the annotation's text promotes, if the set has that very one. */
export function promotedOf(text: string | undefined, records: readonly PromotedRecord[]): number | undefined {
  return records.find((record) => promotionText(record) === text)?.seq;
}

interface PromotedRecord {
  readonly seq: number;
  readonly uid: string;
}

/** Versions are counted from 1 up to this: enough for a change every second for 31 years, and small enough that counting on is exact and ends. */
export const { highestVersion } = limits;

/** The version in an annotation; undefined if it is none. Anybody may have written it. */
export function parseVersion(text: string | undefined): number | undefined {
  return text !== undefined && /^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined;
}

/** The latest time that is believed: the end of the year 9899, so that the longest delay after it is still a date. */
export const latestTimeMs = Date.UTC(9900, 0);

/** The time in an annotation; undefined if it is none. */
export function parseTime(text: string | undefined): number | undefined {
  const timeMs = Date.parse(text ?? "");
  return timeMs >= 0 && timeMs <= latestTimeMs ? timeMs : undefined;
}

/** The type of the Secrets that are version records. */
export const versionRecordType = `${domain}/version`;

const setName = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const objectNameForm = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

const spec = z
  .object({
    rotationSet: z
      .string()
      .min(1)
      .max(63)
      .regex(setName)
      .meta({
        cel: [
          {
            rule: `self.matches(r'${setName.source}')`,
            message: "must consist of letters, digits, '-', '_' and '.', and begin and end with a letter or digit",
          },
          { rule: "self == oldSelf", message: "rotationSet cannot be changed: make a new RotationTarget" },
        ],
      })
      .describe("The rotation set, as named by the source's annotation rotator.k8s.telekom.com/rotation-set."),
    rotationOrder: z
      .int()
      .min(1)
      .max(1_000_000)
      .describe("The place in the chain: the lowest order gets the source's content, every other one that of the next lower. Gaps are fine."),
    rotationDelay: duration()
      .default("0s")
      .describe(
        "For how long the source must have been changed, without interruption, before the change reaches this target. At most 876000h (100 years).",
      ),
    deletionMode: z
      .enum(["keep", "cascade"])
      .default("keep")
      .describe(
        "When the source is deleted: keep leaves the target's object, cascade deletes it after rotationDelay. When this object is deleted: likewise, at once.",
      ),
    whenUnfilled: z
      .enum(["Backfill", "Absent"])
      .default("Backfill")
      .describe("While there are fewer versions than targets: Backfill holds the oldest version, Absent makes no object yet."),
    changePolicy: z
      .enum(["Settled", "Queue"])
      .default("Settled")
      .describe(
        "Settled skips versions that the source did not keep for the first target's delay; Queue passes every version on. The same for a whole set.",
      ),
    targetName: objectName()
      .meta({
        cel: [
          {
            rule: `self.matches(r'${objectNameForm.source}')`,
            message: "must be the name of an object: lower-case letters, digits, '-' and '.', as in key-live",
          },
        ],
      })
      .optional()
      .describe("The name of the object to keep. Default: the name of this object."),
  })
  .describe("Which place in a rotation set the target has, and how it takes versions.");

const status = z
  .object({
    observedGeneration: z.int().optional().describe("The generation that this status is about."),
    rank: z.int().optional().describe("The place in the chain, counted from 1."),
    sourceRef: z
      .object({ kind: z.string().describe("Plural and group, such as secrets."), name: z.string().describe("The name of the object.") })
      .optional()
      .describe("The set's source."),
    currentVersion: z
      .object({
        seq: z.int().describe("Counts the states of the source."),
        digest: z
          .string()
          .optional()
          .describe(
            "Tells versions of a set apart. Made with the installation's own key for this set and version, so that nobody can check guesses by it.",
          ),
        appliedAt: dateTime().describe("When the target got it."),
      })
      .optional()
      .describe("The version that the target holds."),
    pending: z
      .object({
        seq: z.int().describe("The number of the version, as in currentVersion."),
        notBefore: dateTime().describe("When the target gets it if nothing changes until then."),
        reason: z
          .string()
          .describe(
            "Why not earlier. Settling: the source must stay as it is. Following: it moves up from the target before. OutsideWindow: no maintenance window is open. SetChanged: the set has been changed, and that must hold for its longest delay. Retaining: what the target holds is nowhere else and is kept for the further delays. Publishing: its key must have been published for long enough.",
          ),
      })
      .optional()
      .describe("The version that comes next."),
    conditions: conditionsSchema.optional(),
  })
  .describe("Which version the target holds, which one comes next, and what keeps it from moving.");

export type RotationTargetStatus = DeepReadonly<z.infer<typeof status>>;

export const RotationTarget = defineCustomKind({
  group: domain,
  kind: "RotationTarget",
  plural: "rotationtargets",
  shortNames: ["rott"],
  scope: "Namespaced",
  categories: ["keyturn"],
  versions: [
    {
      name: "v1",
      description: "One place in the history of a resource: an object of the source's kind that holds an earlier state of it.",
      spec,
      status,
      columns: [
        { name: "Set", type: "string", jsonPath: ".spec.rotationSet", description: "The rotation set" },
        { name: "Order", type: "integer", jsonPath: ".spec.rotationOrder", description: "The place in the chain" },
        { name: "Version", type: "integer", jsonPath: ".status.currentVersion.seq", description: "The version that the target holds" },
        // A column of type date shows how long ago something was, and "<invalid>" for what is still to come.
        { name: "Next", type: "string", jsonPath: ".status.pending.notBefore", description: "When the next version comes" },
        conditionColumn("Ready"),
        reasonColumn("Ready"),
        { name: "Delay", type: "string", jsonPath: ".spec.rotationDelay", description: "The target's delay", priority: 1 },
        ageColumn,
      ],
    },
  ],
});
export type RotationTarget = ObjectOf<typeof RotationTarget>;
