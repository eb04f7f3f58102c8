// Objects as other libraries type them: `@kubernetes/client-node` has dates, optional metadata and names of its own, `kubernetes-types` has optional metadata.
import { isRecord } from "../json.ts";
import type { ObjectMeta } from "./kind.ts";

/** Any object that may have metadata: `V1Pod` of client-node, `Pod` of kubernetes-types. */
export interface ForeignObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: object;
}

/** A type of another library as JSON has it: times are text, fields have the names that the API server knows, and there is metadata. */
export type PlainObject<T extends ForeignObject> = Omit<Plain<T>, "metadata"> & { readonly metadata: ObjectMeta };

type Plain<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? readonly Plain<Item>[]
    : T extends object
      ? { readonly [Name in keyof T as PlainName<Name>]: Name extends "managedFields" ? ObjectMeta[Name] & {} : Plain<T[Name]> }
      : T;

/** What is a word of many languages has an underscore in client-node: `_from` of a NetworkPolicy. */
type PlainName<Name> = Name extends `_${infer Word}` ? Word : Name;

const renamed: ReadonlySet<string> = new Set(["_continue", "_default", "_enum", "_from", "_int"]);
/** Their names are users' own. */
const maps: ReadonlySet<string> = new Set(["annotations", "binaryData", "data", "labels", "stringData"]);

/**
 * An object of another library, ready to be written: `client.create(Pod, plainObject(pod))`. What that library typed, its type says, as
 * `defineKind<PlainObject<V1Pod>>` does for a kind. Throws if it has no metadata.
 */
export function plainObject<T extends ForeignObject>(object: T): PlainObject<T> {
  if (!object.metadata)
    throw new TypeError(`an object ${object.kind === undefined ? "" : `of kind ${object.kind} `}without metadata cannot be written`);
  return plain(object, false) as PlainObject<T>;
}

function plain(value: unknown, isMap: boolean): unknown {
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map((item) => plain(item, false));
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [!isMap && renamed.has(name) ? name.slice(1) : name, plain(field, maps.has(name))]),
  );
}
