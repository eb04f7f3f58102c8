// Who owns which fields of an object: `metadata.managedFields`, kept up by updates and decided by server-side apply.
import {
  changesBetween,
  difference,
  emptySet,
  type FieldSet,
  fieldsOf,
  fromFieldsV1,
  intersection,
  isEmptySet,
  mergeFields,
  pathsOf,
  removeFields,
  toFieldsV1,
  union,
} from "./object-fields.ts";
import { isObject, type JsonObject, listOr, objectOr, sameJson, stringOr, withKey } from "../../json.ts";
import type { ServedKind } from "./object-store.ts";

/** Who writes, through which endpoint, when. */
export interface Writer {
  readonly manager: string;
  readonly subresource: "" | "status";
  readonly apiVersion: string;
  /** RFC 3339, whole seconds. */
  readonly time: string;
}

interface Owner extends Writer {
  readonly operation: "Apply" | "Update";
  readonly fields: FieldSet;
}

/** Fields that nobody owns, because the server sets them or the URL does. */
const unowned = new Set(["name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"]);

/** `after` with managedFields that say what the writer changed in `before`. */
export function recordUpdate(
  served: ServedKind,
  { before, after, writer }: { readonly before: JsonObject; readonly after: JsonObject; readonly writer: Writer },
): JsonObject {
  const place = { rules: served.mergeRules, path: "" };
  const { changed, removed } = changesBetween(ownable(served, before, writer), ownable(served, after, writer), place);
  const owners = ownersOf(before);
  // An object that nobody is on record for stays so until the first apply, but for one that is being created.
  const isUntracked = owners.length === 0 && objectOr(before["metadata"])["uid"] !== undefined;
  if (isUntracked || (isEmptySet(changed) && isEmptySet(removed))) return withOwners(after, owners);
  const isSelf = (owner: Owner): boolean => isSameWriter(owner, writer) && owner.operation === "Update";
  const others = owners.filter((owner) => !isSelf(owner)).map((owner) => withFields(owner, difference(difference(owner.fields, changed), removed)));
  const previous = owners.find(isSelf);
  const fields = difference(union(previous?.fields ?? emptySet, changed), removed);
  const time = previous && isEmptySet(changed) ? previous.time : writer.time;
  return withOwners(after, [...others, { ...writer, operation: "Update", fields, time }]);
}

/** What an apply comes to. */
type Applied = { readonly type: "applied"; readonly object: JsonObject } | { readonly type: "conflict"; readonly causes: readonly FieldConflict[] };

/** A field that another manager owns with another value. */
interface FieldConflict {
  readonly manager: string;
  readonly path: string;
}

/** What to apply to what. */
interface ApplyRequest {
  readonly live: JsonObject;
  readonly config: JsonObject;
  readonly writer: Writer;
  readonly force: boolean;
  /** The object is being created by this apply. */
  readonly isNew?: boolean;
}

/** Server-side apply of `config` to `live`: conflicts without `force`; fields that the manager applied before and now leaves out go, if nobody else owns them. */
export function applyConfig(served: ServedKind, { live, config, writer, force, isNew = false }: ApplyRequest): Applied {
  const place = { rules: served.mergeRules, path: "" };
  const wanted = ownable(served, config, writer);
  const opinions = Object.keys(objectOr(wanted["metadata"])).length > 0 ? wanted : withKey(wanted, "metadata", undefined);
  const fields = { ...fieldsOf(opinions, place), owned: false };
  const merged = objectOr(mergeFields(live, wanted, place));
  const { changed } = changesBetween(ownable(served, live, writer), ownable(served, merged, writer), place);
  const recorded = ownersOf(live);
  const owners = recorded.length === 0 && !isNew ? beforeFirstApply(served, live, writer) : recorded;
  const isSelf = (owner: Owner): boolean => isSameWriter(owner, writer) && owner.operation === "Apply";
  const others = owners.filter((owner) => !isSelf(owner));
  const causes = others.flatMap(({ manager, fields: theirs }) => pathsOf(intersection(theirs, changed)).map((path) => ({ manager, path })));
  if (causes.length > 0 && !force) return { type: "conflict", causes };

  const previous = owners.find(isSelf);
  const keep = others.reduce((all, owner) => union(all, owner.fields), fields);
  const set = difference(previous?.fields ?? emptySet, fields);
  const object = objectOr(removeFields(merged, { set, keep }, place));
  const remaining = others.map((owner) => withFields(owner, difference(owner.fields, changed)));
  const candidate = (time: string): JsonObject => withOwners(object, [...remaining, { ...writer, operation: "Apply", fields, time }]);
  const unchanged = candidate(previous?.time ?? writer.time);
  return { type: "applied", object: previous && sameJson(unchanged, live) ? live : candidate(writer.time) };
}

/** What an object without records holds at its first apply belongs to a manager of this name. */
function beforeFirstApply(served: ServedKind, live: JsonObject, writer: Writer): readonly Owner[] {
  const nothing = ownable(served, { ...served.blank, metadata: {} }, writer);
  const { changed } = changesBetween(nothing, ownable(served, live, writer), { rules: served.mergeRules, path: "" });
  return [{ ...writer, manager: "before-first-apply", operation: "Update", fields: changed }];
}

/** The part of an object that can be owned through the writer's endpoint. */
function ownable(served: ServedKind, object: JsonObject, { subresource }: Writer): JsonObject {
  if (subresource === "status") return object["status"] === undefined ? {} : { status: object["status"] };
  const { apiVersion: _apiVersion, kind: _kind, metadata, ...rest } = object;
  const owned = Object.fromEntries(Object.entries(objectOr(metadata)).filter(([key]) => !unowned.has(key)));
  const body = served.status ? withKey(rest, "status", undefined) : rest;
  return { ...body, metadata: owned };
}

function isSameWriter(owner: Owner, writer: Writer): boolean {
  return owner.manager === writer.manager && owner.subresource === writer.subresource && owner.apiVersion === writer.apiVersion;
}

function ownersOf(object: JsonObject): readonly Owner[] {
  return listOr(objectOr(object["metadata"])["managedFields"])
    .filter((entry) => isObject(entry))
    .map((entry) => ({
      manager: stringOr(entry["manager"], ""),
      operation: entry["operation"] === "Apply" ? "Apply" : "Update",
      apiVersion: stringOr(entry["apiVersion"], ""),
      subresource: entry["subresource"] === "status" ? "status" : "",
      time: stringOr(entry["time"], ""),
      fields: fromFieldsV1(objectOr(entry["fieldsV1"])),
    }));
}

function withFields(owner: Owner, fields: FieldSet): Owner {
  return { ...owner, fields };
}

function withOwners(object: JsonObject, owners: readonly Owner[]): JsonObject {
  const entries = owners
    .filter((owner) => !isEmptySet(owner.fields))
    .sort((left, right) => (orderOf(left) < orderOf(right) ? -1 : 1))
    .map(entryOf);
  return { ...object, metadata: withKey(objectOr(object["metadata"]), "managedFields", entries.length > 0 ? entries : undefined) };
}

function entryOf({ manager, operation, apiVersion, subresource, time, fields }: Owner): JsonObject {
  const entry = { manager, operation, apiVersion, time, fieldsType: "FieldsV1", fieldsV1: toFieldsV1(fields) };
  return subresource === "" ? entry : { ...entry, subresource };
}

function orderOf({ operation, time, manager, apiVersion, subresource }: Owner): string {
  return [operation, time, manager, apiVersion, subresource].join("\n");
}
