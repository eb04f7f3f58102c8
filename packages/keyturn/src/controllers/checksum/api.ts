// The kinds in which checksums are published, as Tengine-Ingress reads them, with optional fields of our own.
import {
  ageColumn,
  conditionColumn,
  conditionsSchema,
  dateTime,
  type DeepReadonly,
  defineCustomKind,
  type ObjectOf,
  reasonColumn,
} from "@keyturn/runtime";
import * as z from "zod";

const change = z.object({
  name: z.string().describe("The object; with several namespaces in a scope, namespace/name. Empty if only its id is known."),
  from: z.string().optional().describe("The id that it has before. Absent: it comes."),
  to: z.string().optional().describe("The id that it has afterwards. Absent: it goes."),
  sha256: z.string().optional().describe("SHA-256 of its whole content afterwards, where the kind's content is covered."),
  unchanged: z
    .boolean()
    .optional()
    .describe(
      "It is so already and is to stay so: a word that confirms, and that nobody has to wait for. Without a name and ids: nothing is meant but what is confirmed.",
    ),
});

const signature = z.object({
  key: z.string().describe("Which key has signed: the first 16 digits of the SHA-256 of its public key in DER."),
  value: z.string().describe("Ed25519, in base64, over namespace, kind, timestamp, expiry and changes."),
});

const announcement = z
  .object({
    expires: dateTime().describe("Until when the intended state may be awaited. Then the state as it is is published."),
    changes: z
      .array(change)
      .optional()
      .meta({ listType: "atomic" })
      .describe(
        "What is going to change. Changes of other objects, and other announcements, do not concern it. Absent: the state as a whole is awaited.",
      ),
    signature: signature.optional().describe("Of whoever means it."),
  })
  .describe("Marks the checksum of a state that is still to be written. Absent: the state was there when the checksum was made.");

const specFor = (objects: string) =>
  z.object({
    timestamp: dateTime().describe("When the checksum was made. Of two checksums of a namespace, the one with the later timestamp is the newer."),
    checksum: z.string().optional().describe("MD5 of the ids, sorted as bytes and joined with commas, in lower-case hex."),
    ids: z
      .array(z.string())
      .optional()
      .meta({ listType: "atomic" })
      .describe(
        `The ids of all ${objects} that the checksum is made of. Left out if they do not fit into one object; count says how many there are.`,
      ),
    count: z.int().min(0).optional().describe("How many ids the checksum is made of."),
    sha256: z
      .string()
      .optional()
      .describe("SHA-256 over the names and the whole contents (chains, keys and CAs) of the same objects, where the kind's content is covered."),
    announcement: announcement.optional(),
  });

const problem = z.object({
  name: z.string().describe("The object."),
  reason: z.string().describe("Why it is left out, or counts with a reservation."),
});

const status = z.object({
  conditions: conditionsSchema.optional(),
  reached: dateTime().optional().describe("When an announced state was there for the first time."),
  problemCount: z.int().optional().describe("How many objects are left out of the checksum or have an id in common."),
  problems: z.array(problem).optional().meta({ listType: "atomic" }).describe("The first of them by name, with the reason."),
});

export type CheckSumStatus = DeepReadonly<z.infer<typeof status>>;

const columns = [
  { name: "Checksum", type: "string", jsonPath: ".spec.checksum", description: "MD5 of all ids" },
  { name: "Count", type: "integer", jsonPath: ".spec.count", description: "Objects that are covered" },
  { name: "Left out", type: "integer", jsonPath: ".status.problemCount", description: "Objects that are left out or have an id in common" },
  conditionColumn("Current"),
  reasonColumn("Current"),
  conditionColumn("Ready", { description: "False while an announced state is still to come", priority: 1 }),
  {
    name: "Announced until",
    type: "string",
    jsonPath: ".spec.announcement.expires",
    description: "Until when an intended state is awaited",
    priority: 1,
  },
  { name: "Timestamp", type: "string", jsonPath: ".spec.timestamp", description: "When the checksum was made", priority: 1 },
  ageColumn,
] as const;

/** Both kinds are alike. The CRD in Tengine's documentation says v1alpha1, its sample and Tengine's code say v1: both are answered. */
function checkSumKind(
  kind: string,
  { plural, shortName, objects }: { readonly plural: string; readonly shortName: string; readonly objects: string },
) {
  const version = { description: `The checksum of all ${objects} of a namespace.`, spec: specFor(objects), status, columns };
  return defineCustomKind({
    group: "tengine.taobao.org",
    kind,
    plural,
    shortNames: [shortName],
    scope: "Namespaced",
    categories: ["keyturn"],
    versions: [
      { ...version, name: "v1", storage: true },
      { ...version, name: "v1alpha1", storage: false },
    ],
  });
}

export const SecretCheckSum = checkSumKind("SecretCheckSum", { plural: "secretchecksums", shortName: "scs", objects: "certificates" });
export type SecretCheckSum = ObjectOf<typeof SecretCheckSum>;

export const IngressCheckSum = checkSumKind("IngressCheckSum", { plural: "ingresschecksums", shortName: "ics", objects: "Ingresses" });
export type IngressCheckSum = ObjectOf<typeof IngressCheckSum>;

/** The spec of either kind. */
export type CheckSumSpec = SecretCheckSum["spec"];
