// Values that Kubernetes APIs are made of and that zod has no word for.
import * as z from "zod";

/** An integer or a string, as ports and percentages are given (`x-kubernetes-int-or-string`). */
export const intOrString = () => z.union([z.int(), z.string()]).meta({ intOrString: true });

/** Kubernetes' own expression for quantities: a signed decimal with a binary, decimal or exponent suffix. */
const quantityPattern = String.raw`^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`;

/** A resource quantity such as `100m`, `1.5Gi` or 3. */
export const quantity = () => z.union([z.int(), z.string().regex(new RegExp(quantityPattern))]).meta({ intOrString: true, pattern: quantityPattern });

/** A duration as Go writes it, such as `1h30m` or `250ms`; not negative. */
export const duration = () =>
  z
    .string()
    .max(64)
    .regex(/^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$/);

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
