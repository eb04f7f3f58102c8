// Where records come from: each source watches something and makes records of it, one for each key.
import type { ConditionView, DashboardRecord, ObjectRef, RecordBase, StageName } from "@keyturn/dashboard/contract";
import {
  apiVersionOf,
  type Cache,
  type Condition,
  type ControllerScope,
  type DeepReadonly,
  type Kind,
  type KubeObject,
  redactAndCut,
  resourceOf,
  type Stored,
  type WatchStatus,
} from "@keyturn/runtime";
import { type Summary, timeMs } from "../feature/summary.ts";

/** What a source is made with. */
export interface SourceScope extends Pick<ControllerScope, "watch" | "clock" | "log"> {
  /** Something about that key may have changed. */
  touch(this: void, key: string): void;
}

/** The record of one key, and when time alone changes it. */
export interface Made {
  readonly record: DashboardRecord;
  readonly againAtMs: number | undefined;
}

/** A source of records. */
export interface RecordSource {
  readonly step: StageName;
  /** The kinds whose objects it shows: `plural.group`. */
  readonly resources: readonly string[];
  /** What it watches; how those fare is shown with the step. */
  readonly caches: () => readonly Cache<unknown>[];
  /** Called once for many keys, before `make`. */
  readonly prepare?: (nowMs: number) => void;
  /** The record of a key; undefined if there is none (any more). The record's id is the key. */
  readonly make: (key: string, nowMs: number) => Made | undefined;
  /** The record that an object is in, and the object's kind; undefined if it is in none of this source. */
  readonly find?: (
    resource: string,
    name: { readonly namespace: string; readonly name: string },
  ) => { readonly id: string; readonly kind: Kind } | undefined;
}

/** A way to set a source up. */
export type SourceSetup = (scope: SourceScope) => RecordSource;

/** How a cache fares, asked of whoever made it. */
export type StatusOf = (cache: Cache<unknown>) => WatchStatus;

// What all records have in common, from an object and its summary.

/** A message may quote what somebody else has written; more than so much is not shown. */
const maxText = 1024;

/** Text that may be shown to anybody who may see the object. */
export function shownText(text: string): string {
  return redactAndCut(text, maxText);
}

export function objectRef(kind: Kind, { namespace = "", name }: { readonly namespace?: string | undefined; readonly name: string }): ObjectRef {
  return { apiVersion: apiVersionOf(kind), kind: kind.kind, resource: resourceOf(kind), namespace, name };
}

export function conditionViews(conditions: readonly DeepReadonly<Condition>[] = []): readonly ConditionView[] {
  return conditions.map(({ type, status, reason, message, lastTransitionTime }) => ({
    type,
    status,
    reason,
    message: shownText(message),
    ...defined("sinceMs", timeMs(lastTransitionTime)),
  }));
}

/** A member that is there only if it has a value. */
export function defined<Name extends string, Value>(name: Name, value: Value | undefined): { readonly [_ in Name]?: Value } {
  // The compiler does not follow a computed name into a mapped type.
  return (value === undefined ? {} : { [name]: value }) as { readonly [_ in Name]?: Value };
}

/** As much of an object as the common part needs. */
interface Shown {
  readonly metadata: { readonly name: string; readonly namespace?: string | undefined; readonly creationTimestamp?: string | undefined };
  readonly status?: { readonly conditions?: readonly DeepReadonly<Condition>[] | undefined } | undefined;
}

/** The common part of a record. */
export function recordBase(kind: Kind, { metadata, status }: Shown, summary: Summary): Omit<RecordBase, "id" | "step"> {
  return {
    ref: objectRef(kind, metadata),
    ...healthViews(summary),
    ...defined("createdMs", timeMs(metadata.creationTimestamp)),
    conditions: conditionViews(status?.conditions),
  };
}

/** What a summary says. */
export function healthViews(
  summary: Summary,
): Pick<RecordBase, "health" | "reason" | "message"> & { readonly sinceMs?: number; readonly nextMs?: number } {
  return {
    health: summary.health,
    reason: summary.reason,
    message: shownText(summary.message),
    ...defined("sinceMs", summary.sinceMs),
    ...defined("nextMs", summary.next?.atMs),
  };
}

/** A summary speaks of a step that is late only after a while; until then it is looked at again now and then. */
const lookAgainMs = 30_000;
const maxLookMs = 10 * 60_000;

/** When a summary may say something else although nothing has changed. */
export function summaryAgainAtMs({ next }: Pick<Summary, "next">, nowMs: number): number | undefined {
  if (!next) return undefined;
  if (next.atMs > nowMs) return next.atMs;
  return next.atMs + maxLookMs > nowMs ? nowMs + lookAgainMs : undefined;
}

/** For a watch: the object without its labels and annotations, which may hold all that somebody applied, and without who wrote what. */
export function keepShown<T extends KubeObject>(object: Stored<T>): Stored<T> {
  const hidden = new Set(["managedFields", "annotations", "labels"]);
  // Every member that is left out is optional.
  const metadata = Object.fromEntries(Object.entries(object.metadata).filter(([name]) => !hidden.has(name))) as Stored<T>["metadata"];
  return { ...object, metadata };
}
