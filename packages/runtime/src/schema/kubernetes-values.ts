// Values that Kubernetes APIs are made of and that zod has no word for, conditions among them.
import * as z from "zod";
import { formatDuration, maxDurationMs } from "../duration.ts";

/** An integer or a string, as ports and percentages are given (`x-kubernetes-int-or-string`). */
export const intOrString = () => z.union([z.int(), z.string()]).meta({ intOrString: true });

/** Kubernetes' own expression for quantities: a signed decimal with a binary, decimal or exponent suffix. */
const quantityPattern = String.raw`^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`;

/** A resource quantity such as `100m`, `1.5Gi` or 3. */
export const quantity = () => z.union([z.int(), z.string().regex(new RegExp(quantityPattern))]).meta({ intOrString: true, pattern: quantityPattern });

const maxDuration = formatDuration(maxDurationMs);
const durationPattern = /^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$/;
const durationWords = `must be a duration such as 30s, 720h or 1h30m, and not longer than ${maxDuration} (100 years)`;

/** CEL's `duration` fails beyond 292 years instead of answering. Hours, in which people write what is to last for ever, are out before it is asked; then the message stands alone. */
const withinLongest = `!self.matches(r'(^|[a-z])0*[1-9][0-9]{6,}([.][0-9]+)?h') && duration(self) <= duration('${maxDuration}')`;

/**
 * A duration as Go writes it, such as `1h30m` or `250ms`; not negative, and 100 years at most. The API server keeps to the bound and says it in words.
 * In this process it is for the reader: an object may have been stored before there was one, see `parseStoredDuration`.
 */
export const duration = () =>
  z
    .string()
    .max(64)
    .regex(durationPattern)
    .meta({ cel: [{ rule: `self.matches(r'${durationPattern.source}') && ${withinLongest}`, message: durationWords }] });

/** A string that may be anything, but if it is a duration, then none beyond the longest. For schemas of others that check nothing. */
export const looseDuration = () =>
  z
    .string()
    .max(64)
    .meta({ cel: [{ rule: `!self.matches(r'${durationPattern.source}') || (${withinLongest})`, message: durationWords }] });

/** A time as the API server writes it (RFC 3339), with `Z` or an offset. */
export const dateTime = () => z.iso.datetime({ offset: true });

/** The name of a Kubernetes object: a DNS subdomain of at most 253 characters. */
export const objectName = () =>
  z
    .string()
    .min(1)
    .max(253)
    .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/);

/** The name of a namespace, and of whatever else must be a DNS label of at most 63 characters. */
export const labelName = () =>
  z
    .string()
    .min(1)
    .max(63)
    .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);

/** A whole Kubernetes object of any kind, kept as it is. */
export const embeddedObject = () => z.looseObject({}).meta({ embeddedResource: true });

/** One condition, with metav1.Condition's own limits. */
export const conditionSchema = z
  .object({
    type: z
      .string()
      .max(316)
      .regex(/^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$/)
      .describe("What is true, false or unknown."),
    status: z.enum(["True", "False", "Unknown"]).describe("Whether it holds."),
    observedGeneration: z.int().min(0).optional().describe("The generation of the object that this was said about."),
    lastTransitionTime: dateTime().describe("When the status last changed."),
    reason: z
      .string()
      .min(1)
      .max(1024)
      .regex(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/)
      .describe("Why, in one word for programs."),
    message: z.string().max(32_768).describe("Why, in words for people."),
  })
  .describe("One aspect of the object's state.");

/** The conditions of a status: one per type, merged by type. */
export const conditionsSchema = z
  .array(conditionSchema)
  .max(32)
  .meta({ listType: "map", listMapKeys: ["type"], description: "What is known about the object's state." });
