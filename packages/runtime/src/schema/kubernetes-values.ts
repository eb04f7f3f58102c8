// Values that Kubernetes APIs are made of and that zod has no word for, conditions among them.
import * as z from "zod";
import { formatDuration, maxDurationMs } from "../clock.ts";

/** An integer or a string, as ports and percentages are given (`x-kubernetes-int-or-string`). */
export const intOrString = () => z.union([z.int(), z.string()]).meta({ intOrString: true });

/** Kubernetes' own expression for quantities: a signed decimal with a binary, decimal or exponent suffix. */
const quantityPattern = String.raw`^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`;

/** A resource quantity such as `100m`, `1.5Gi` or 3. */
export const quantity = () => z.union([z.int(), z.string().regex(new RegExp(quantityPattern))]).meta({ intOrString: true, pattern: quantityPattern });

const maxDuration = formatDuration(maxDurationMs);
const maxDurationLength = 64;
const durationPattern = /^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$/;
const durationWords = `must be a duration such as 30s, 720h or 1h30m, and not longer than ${maxDuration} (100 years)`;

/** In CEL: how many seconds the unit of a part such as `1.5h` has. */
const secondsPerUnit =
  "p.endsWith('ns') ? 1e-9 : p.endsWith('us') || p.endsWith('µs') ? 1e-6 : p.endsWith('ms') ? 1e-3 : p.endsWith('s') ? 1.0 : p.endsWith('m') ? 60.0 : 3600.0";

/**
 * CEL's `duration` fails beyond 292 years instead of giving a result, and a rule that fails lets nobody write an object that was stored before
 * there was the rule, not even to delete it. So it is asked only about what is known, to within a second, to be short enough.
 */
const withinLongest =
  `self.findAll(r'[0-9.]+[a-zµ]+').map(p, double(p.find(r'[0-9.]+')) * (${secondsPerUnit})).sum() < ${maxDurationMs / 1000 + 1}.0` +
  ` && duration(self) <= duration('${maxDuration}')`;

/**
 * A duration as Go writes it, such as `1h30m` or `250ms`; not negative, and 100 years at most. The API server keeps to the bound and says it in words.
 * In this process it is for the reader: an object may have been stored before there was one, see `parseStoredDuration`.
 */
export const duration = () =>
  z
    .string()
    .max(maxDurationLength)
    .regex(durationPattern)
    .meta({ cel: [{ rule: `self.matches(r'${durationPattern.source}') && ${withinLongest}`, message: durationWords }] });

/** A string that may be anything, but if it is a duration, then none beyond the longest. For schemas of others that check nothing; its length too is only the API server's to check. */
export const looseDuration = () =>
  z.string().meta({
    maxLength: maxDurationLength,
    cel: [{ rule: `!self.matches(r'${durationPattern.source}') || (${withinLongest})`, message: durationWords }],
  });

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
