// A custom kind declared once: the TypeScript type of its objects, its Kind, and all that its CRD is made of.
import type { output } from "zod";
import { type $ZodType, safeParse } from "zod/v4/core";
import type { DeepReadonly } from "../cache/cache.ts";
import { defineKind, keyOfObject, type Kind, type KubeObject } from "../client/kind.ts";
import type { CelRule } from "./json-schema-props.ts";

/** One column; see additionalPrinterColumns of a CRD. */
export interface PrinterColumn {
  readonly name: string;
  readonly type: "string" | "integer" | "number" | "boolean" | "date";
  readonly jsonPath: string;
  readonly description?: string;
  readonly format?: string;
  /** 0 (default) is always shown, more only with `-o wide`. */
  readonly priority?: number;
}

/** How old the object is, as kubectl shows it for kinds without columns of their own. */
export const ageColumn: PrinterColumn = { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" };

/** The reason of one condition, such as `Published`. */
export function reasonColumn(type: string, column: Partial<PrinterColumn> = {}): PrinterColumn {
  const description = `Why it is or is not ${type.toLowerCase()}`;
  return { name: "Reason", type: "string", jsonPath: `.status.conditions[?(@.type=="${type}")].reason`, description, ...column };
}

/** The status of one condition, such as `True`. */
export function conditionColumn(type: string, column: Partial<PrinterColumn> = {}): PrinterColumn {
  return { name: type, type: "string", jsonPath: `.status.conditions[?(@.type=="${type}")].status`, ...column };
}

/** One version of a custom kind. */
export interface CustomVersion {
  /** Such as `v1` or `v1alpha1`. */
  readonly name: string;
  /** Whether the API server answers for this version. Default true. */
  readonly served?: boolean;
  /** Whether objects are stored in this version; true for exactly one. Default: true if it is the only version. */
  readonly storage?: boolean;
  readonly spec: $ZodType;
  readonly status?: $ZodType;
  /** Whether status is written apart from the rest. Default: true if there is a `status` schema. */
  readonly statusSubresource?: boolean;
  /** What `kubectl get` shows. Default: name and age. */
  readonly columns?: readonly PrinterColumn[];
  /** CEL rules on the whole object, for those that need spec, status or `metadata.name` together. */
  readonly rules?: readonly CelRule[];
  /** Fields that field selectors may use, such as `.spec.owner`. */
  readonly selectableFields?: readonly string[];
  /** Shown by clients that use this version. */
  readonly deprecationWarning?: string;
  /** What `kubectl explain` says about the kind. */
  readonly description?: string;
}

/** How a custom kind is declared. */
interface CustomKindOptions<Versions extends readonly CustomVersion[] = readonly CustomVersion[]> {
  readonly group: string;
  readonly kind: string;
  /** Default: the kind in lower case with an English plural ending. */
  readonly plural?: string;
  /** Default: the kind in lower case. */
  readonly singular?: string;
  readonly shortNames?: readonly string[];
  readonly scope: "Namespaced" | "Cluster";
  /** Groups of kinds that `kubectl get <category>` lists together. Default none. */
  readonly categories?: readonly string[];
  readonly versions: Versions;
}

/** The type of a version's objects. */
type ObjectOfVersion<V extends CustomVersion> = KubeObject & { readonly spec: DeepReadonly<output<V["spec"]>> } & (V extends {
    readonly status: infer S extends $ZodType;
  }
    ? { readonly status?: DeepReadonly<output<S>> }
    : unknown);

/** The version that a list of versions stores: the one marked so, else the only one. */
type Stored<Versions extends readonly CustomVersion[]> = Versions extends readonly [infer Only extends CustomVersion]
  ? Only
  : Extract<Versions[number], { readonly storage: true }>;

/** A custom kind: the Kind of its stored version, the Kinds of the others, and its declaration. */
export interface CustomKind<Versions extends readonly CustomVersion[] = readonly CustomVersion[]> extends Kind<ObjectOfVersion<Stored<Versions>>> {
  readonly definition: CustomKindOptions<Versions>;
  /** The same kind at one of its versions. */
  at<Name extends Versions[number]["name"]>(version: Name): Kind<ObjectOfVersion<Extract<Versions[number], { readonly name: Name }>>>;
  /**
   * Reads an object of unknown shape at the stored version: the typed object with defaults filled in, or the reasons why it does not fit.
   * For objects that the API server did not check, or checked against an older CRD.
   */
  decode(this: void, object: KubeObject): DecodedObject<ObjectOfVersion<Stored<Versions>>>;
}

/** What `decode` found. */
export type DecodedObject<T> = { readonly ok: true; readonly object: T } | { readonly ok: false; readonly problems: readonly string[] };

/** The type of a kind's objects: `type Widget = ObjectOf<typeof Widget>`. */
export type ObjectOf<K extends Kind> = K extends Kind<infer T> ? T : never;

/** Declares a custom kind. Throws if its versions contradict each other; the schemas are checked when its CRD is made. */
export function defineCustomKind<const Versions extends readonly CustomVersion[]>(options: CustomKindOptions<Versions>): CustomKind<Versions> {
  const { group, kind, scope, versions } = options;
  const stored = storedVersion(options);
  const names = versions.map(({ name }) => name);
  if (new Set(names).size < names.length) throw new Error(`cannot define kind ${kind}: a version is named twice in ${names.join(", ")}`);
  const place = { group, kind, plural: options.plural ?? pluralOf(kind), namespaced: scope === "Namespaced" };
  const storedKind = defineKind<ObjectOfVersion<Stored<Versions>>>({ ...place, version: stored.name });
  return Object.freeze({
    ...storedKind,
    definition: options,
    at: (version: string) => {
      if (!names.includes(version)) throw new Error(`kind ${kind} has no version ${version}, only ${names.join(", ")}`);
      return defineKind<never>({ ...place, version });
    },
    decode: (object: KubeObject) => decodeObject<ObjectOfVersion<Stored<Versions>>>(stored, object),
  });
}

/** The version in which objects of the kind are stored. */
export function storedVersion({ kind, versions }: CustomKindOptions): CustomVersion {
  const [first, ...more] = versions.length === 1 ? versions : versions.filter(({ storage }) => storage === true);
  if (!first || more.length > 0 || first.storage === false)
    throw new Error(`cannot define kind ${kind}: exactly one version must have storage: true`);
  return first;
}

function decodeObject<T>(version: CustomVersion, object: KubeObject): DecodedObject<T> {
  const problems: string[] = [];
  const parsed: Record<string, unknown> = {};
  const parts = [["spec", version.spec] as const, ...(version.status && "status" in object ? [["status", version.status] as const] : [])];
  for (const [part, schema] of parts) {
    const result = safeParse(schema, Reflect.get(object, part));
    if (result.success) parsed[part] = result.data;
    else problems.push(...result.error.issues.map(({ path, message }) => `${keyOfObject(object)}: ${[part, ...path].join(".")}: ${message}`));
  }
  // This is the decoder that turns an untyped object into a typed one.
  return problems.length > 0 ? { ok: false, problems } : { ok: true, object: { ...object, ...parsed } as T };
}

/** The plural that Kubernetes' own tools would guess. */
function pluralOf(kind: string): string {
  const singular = kind.toLowerCase();
  if (/(?:s|x|z|ch|sh)$/.test(singular)) return `${singular}es`;
  return /[^aeiou]y$/.test(singular) ? `${singular.slice(0, -1)}ies` : `${singular}s`;
}
