// One node of a structural schema (JSONSchemaProps of apiextensions.k8s.io/v1): what it can say, and the order in which it is printed.

/** Any JSON value. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** One CEL rule on a node; see https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules. */
export interface CelRule {
  /** True when the value (`self`) is valid; a rule that names `oldSelf` is checked on updates only. */
  readonly rule: string;
  readonly message?: string;
  /** A CEL expression that makes the message; wins over `message` when it can be evaluated. */
  readonly messageExpression?: string;
  readonly reason?: "FieldValueInvalid" | "FieldValueForbidden" | "FieldValueRequired" | "FieldValueDuplicate";
  /** Where the error is reported, relative to the node, such as `.endpoint`. */
  readonly fieldPath?: string;
  /** Checks a rule with `oldSelf` on creation too; `oldSelf` is then an optional value. */
  readonly optionalOldSelf?: boolean;
}

/** One node of a structural schema. */
export interface JsonSchemaProps {
  readonly title?: string;
  readonly description?: string;
  readonly type?: "object" | "array" | "string" | "number" | "integer" | "boolean";
  readonly format?: string;
  readonly default?: JsonValue;
  readonly enum?: readonly JsonValue[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly maximum?: number;
  readonly exclusiveMaximum?: boolean;
  readonly multipleOf?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly allOf?: readonly { readonly pattern: string }[];
  readonly properties?: Readonly<Record<string, JsonSchemaProps>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: JsonSchemaProps;
  readonly items?: JsonSchemaProps;
  readonly "x-kubernetes-int-or-string"?: boolean;
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
  readonly "x-kubernetes-embedded-resource"?: boolean;
  readonly "x-kubernetes-list-type"?: "atomic" | "set" | "map";
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-map-type"?: "atomic" | "granular";
  readonly "x-kubernetes-validations"?: readonly CelRule[];
}

/** The order in which a node's keys are printed, so that generated files do not depend on how a schema was put together. */
const keyOrder: readonly (keyof JsonSchemaProps)[] = [
  "title",
  "description",
  "type",
  "format",
  "default",
  "enum",
  "minLength",
  "maxLength",
  "pattern",
  "allOf",
  "minimum",
  "exclusiveMinimum",
  "maximum",
  "exclusiveMaximum",
  "multipleOf",
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties",
  "required",
  "properties",
  "additionalProperties",
  "items",
  "x-kubernetes-int-or-string",
  "x-kubernetes-preserve-unknown-fields",
  "x-kubernetes-embedded-resource",
  "x-kubernetes-list-type",
  "x-kubernetes-list-map-keys",
  "x-kubernetes-map-type",
  "x-kubernetes-validations",
];

/** The node with its keys in one fixed order and without those that are undefined. */
export function ordered(node: { readonly [Key in keyof JsonSchemaProps]: JsonSchemaProps[Key] | undefined }): JsonSchemaProps {
  return Object.fromEntries(keyOrder.filter((key) => node[key] !== undefined).map((key) => [key, node[key]]));
}
