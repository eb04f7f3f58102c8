// What `.meta({ … })` on a zod schema can say to Kubernetes, beside `description` and `title`.
import { globalRegistry } from "zod/v4/core";
import type { $ZodType } from "zod/v4/core";
import type { CelRule } from "./json-schema-props.ts";

/** Kubernetes' own words for a node, all optional. */
export interface KubernetesMeta {
  /**
   * CEL rules on this node. The API server refuses a CRD whose rules could cost too much, and it assumes the worst of what has no bound:
   * give strings `.max()`, arrays `.max()` and records `maxProperties` wherever a rule reads them.
   */
  readonly cel?: readonly CelRule[] | undefined;
  /** How server-side apply merges an array. */
  readonly listType?: "atomic" | "set" | "map" | undefined;
  /** With `listType: "map"`: the properties that identify an item; each must be required or have a default. */
  readonly listMapKeys?: readonly string[] | undefined;
  /** How server-side apply merges an object. */
  readonly mapType?: "atomic" | "granular" | undefined;
  readonly minProperties?: number | undefined;
  readonly maxProperties?: number | undefined;
  /** Keeps whatever stands below this node; the only way to use `z.unknown()` and `z.any()`. */
  readonly preserveUnknownFields?: boolean | undefined;
  /** The node is a Kubernetes object of its own (apiVersion, kind, metadata). */
  readonly embeddedResource?: boolean | undefined;
  /** The node is an integer or a string. */
  readonly intOrString?: boolean | undefined;
  /** A regular expression for the node; only for `intOrString` nodes, which have no place for one in zod. */
  readonly pattern?: string | undefined;
}

declare module "zod/v4/core" {
  // Makes the compiler check these keys in `.meta({ … })`.
  interface GlobalMeta extends KubernetesMeta {}
}

/** All that is read from `.meta({ … })` and `.describe()`. */
export interface SchemaMeta extends KubernetesMeta {
  readonly title?: string | undefined;
  readonly description?: string | undefined;
}

/** What is said at a node: its own words and those of the wrappers (`optional`, `default` …) around it. The outer one wins; CEL rules add up. */
export function metaOf(schema: $ZodType, outer: SchemaMeta): SchemaMeta {
  const own: SchemaMeta = globalRegistry.get(schema) ?? {};
  return { ...own, ...outer, cel: [...(own.cel ?? []), ...(outer.cel ?? [])] };
}
