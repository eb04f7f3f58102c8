// What all records have in common, from an object and its summary.
import type { ConditionView, Health, ObjectRef, RecordBase } from "@keyturn/dashboard/contract";
import { apiVersionOf, type Condition, type DeepReadonly, type Kind, type KubeObject, redactAndCut, resourceOf, type Stored } from "@keyturn/runtime";
import { type Summary, timeMs } from "../../controllers/summary.ts";

/** A message may quote what somebody else has written; more than so much is not shown. */
const longestText = 1024;

/** Text that may be shown to anybody who may see the object. */
export function shownText(text: string): string {
  return redactAndCut(text, longestText);
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

/** How a summary's health is drawn. What needs attention is an error if it does not work, and else a warning. */
export function drawnHealth({ health }: Pick<Summary, "health">, works: boolean): Health {
  switch (health) {
    case "healthy":
      return "ok";
    case "moving":
      return "busy";
    case "paused":
      return "waiting";
    case "attention":
      return works ? "warning" : "error";
    case "unknown":
    default:
      return "unknown";
  }
}

/** As much of an object as the common part needs. */
interface Shown {
  readonly metadata: { readonly name: string; readonly namespace?: string | undefined; readonly creationTimestamp?: string | undefined };
  readonly status?: { readonly conditions?: readonly DeepReadonly<Condition>[] | undefined } | undefined;
}

/** The common part of a record. An object works unless its condition of this type says that it does not. */
export function recordBase(
  kind: Kind,
  { metadata, status }: Shown,
  { summary, workingCondition }: { readonly summary: Summary; readonly workingCondition: string },
): Omit<RecordBase, "id" | "step"> {
  const conditions = conditionViews(status?.conditions);
  return {
    ref: objectRef(kind, metadata),
    ...verdictViews(summary, !conditions.some((condition) => condition.type === workingCondition && condition.status === "False")),
    ...defined("createdMs", timeMs(metadata.creationTimestamp)),
    conditions,
  };
}

/** What a summary says. */
export function verdictViews(
  summary: Summary,
  works: boolean,
): Pick<RecordBase, "health" | "reason" | "message"> & { readonly sinceMs?: number; readonly nextMs?: number } {
  return {
    health: drawnHealth(summary, works),
    reason: summary.reason,
    message: shownText(summary.message),
    ...defined("sinceMs", summary.sinceMs),
    ...defined("nextMs", summary.next?.atMs),
  };
}

/** A summary speaks of a step that is late only after a while; until then it is looked at again now and then. */
const lookAgainMs = 30_000;
const longestLookMs = 10 * 60_000;

/** When a summary may say something else although nothing has changed. */
export function summaryAgainAtMs({ next }: Pick<Summary, "next">, nowMs: number): number | undefined {
  if (!next) return undefined;
  if (next.atMs > nowMs) return next.atMs;
  return next.atMs + longestLookMs > nowMs ? nowMs + lookAgainMs : undefined;
}

/** For a watch: the object without its labels and annotations, which may hold all that somebody applied, and without who wrote what. */
export function keepShown<T extends KubeObject>(object: Stored<T>): Stored<T> {
  const hidden = new Set(["managedFields", "annotations", "labels"]);
  // Every member that is left out is optional.
  const metadata = Object.fromEntries(Object.entries(object.metadata).filter(([name]) => !hidden.has(name))) as Stored<T>["metadata"];
  return { ...object, metadata };
}
