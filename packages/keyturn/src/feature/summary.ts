// How one object of a step fares, in the form that `keyturn status` and the dashboard share. Made from what anybody may read: specs, statuses, marks; never from Secrets.
import { type Health, healthOrder } from "@keyturn/dashboard/contract";
import { type Condition, type DeepReadonly, findCondition, type Lease, type Stored } from "@keyturn/runtime";
import { keyturn } from "./feature.ts";
import { pausedReason } from "./pause-and-selection.ts";

/** What is said about an object, in the words of its controller. */
export interface HealthReport {
  readonly health: Health;
  /** One word in PascalCase, from the controller's own reasons wherever it has reported one. */
  readonly reason: string;
  readonly message: string;
  /** Since when; undefined if that is not known. */
  readonly sinceMs: number | undefined;
}

/** What happens next if nothing changes but the time. */
export interface NextStep {
  readonly atMs: number;
  /** Completes "the object …", such as `gets version 4`. */
  readonly what: string;
}

/** One object of a step. */
export interface Summary extends HealthReport {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** What is particular about it, short enough for a cell of a table. */
  readonly detail: string;
  readonly next: NextStep | undefined;
  /** The names under which people may look for it: its own, and those of the Secrets and sets that it is about. All in its namespace. */
  readonly names: readonly string[];
}

/** As much of an object as every verdict looks at. */
export interface Reported {
  readonly metadata: {
    readonly generation?: number | undefined;
    readonly creationTimestamp?: string | undefined;
    readonly deletionTimestamp?: string | undefined;
  };
  readonly status?: { readonly conditions?: readonly DeepReadonly<Condition>[] | undefined } | undefined;
}

/** A step that is this late will not be made by an operator that is only busy. */
const patienceMs = 60_000;

/** What the condition `Ready` says; `healthOf` decides about the reasons of the controller, and gets the condition only if it is about the object as it is. */
export function readyHealth(object: Reported, healthOf: (ready: DeepReadonly<Condition>) => Health): HealthReport {
  const { generation, creationTimestamp, deletionTimestamp } = object.metadata;
  const ready = findCondition(object.status?.conditions, "Ready");
  if (deletionTimestamp !== undefined) {
    const message = ready?.status === "False" ? ready.message : "is being deleted";
    return { health: "progressing", reason: "Deleting", message, sinceMs: timeMs(deletionTimestamp) };
  }
  if (!ready) {
    const message = "the operator has not reported on it yet; is it running, with this controller?";
    return { health: "unknown", reason: "NotReported", message, sinceMs: timeMs(creationTimestamp) };
  }
  if (generation !== undefined && ready.observedGeneration !== undefined && ready.observedGeneration < generation) {
    const message = "it was changed, and the operator has not reported on the change yet; is it running, with this controller?";
    return { health: "unknown", reason: "NotObserved", message, sinceMs: undefined };
  }
  return healthReportOf(ready, ready.reason === pausedReason ? "paused" : healthOf(ready));
}

/** What a condition says, as a verdict. */
export function healthReportOf({ reason, message, lastTransitionTime }: DeepReadonly<Condition>, health: Health): HealthReport {
  return { health, reason, message, sinceMs: timeMs(lastTransitionTime) };
}

/** The summary, unless its next step should long have been made: then that is what somebody should look at. */
export function unlessOverdue(summary: Summary, nowMs: number): Summary {
  const { next, health } = summary;
  if (!next || health === "failed" || health === "degraded" || health === "paused" || next.atMs + patienceMs > nowMs) return summary;
  const message = `should have happened at ${new Date(next.atMs).toISOString()}: ${next.what}; is the operator running, with this controller?`;
  return { ...summary, health: "degraded", reason: "Overdue", message, sinceMs: next.atMs };
}

/** What matters most first: by health, then the longest lasting, then by name. */
export function compareSummaries(left: Summary, right: Summary): number {
  return (
    healthOrder.indexOf(left.health) - healthOrder.indexOf(right.health) ||
    (left.sinceMs ?? Infinity) - (right.sinceMs ?? Infinity) ||
    (placeOf(left) < placeOf(right) ? -1 : 1)
  );
}

/** Tells one object from all others. */
export function placeOf({ kind, namespace, name }: Pick<Summary, "kind" | "namespace" | "name">): string {
  return `${kind.toLowerCase()}/${namespace}/${name}`;
}

/** A time as objects write it; undefined for what is none. */
export function timeMs(text: string | null | undefined): number | undefined {
  const ms = text ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}

// Which replica of the operator leads which controller, from the Leases that they hold.

/** One controller's Lease. */
export interface LeaseSummary {
  readonly controller: string;
  readonly namespace: string;
  /** Who holds it: the host or pod of the process; undefined if nobody does. */
  readonly holder: string | undefined;
  /** `held`: renewed in time. `expired`: its holder is silent for longer than it may. `free`: given back. */
  readonly state: "held" | "expired" | "free";
  readonly renewedMs: number | undefined;
  readonly acquiredMs: number | undefined;
}

/** What a Lease of the operator's says; undefined if it is none of these controllers'. `nowMs` is the API server's time. */
export function leaseSummary(
  { metadata, spec = {} }: DeepReadonly<Stored<Lease>>,
  controllers: readonly string[],
  nowMs: number,
): LeaseSummary | undefined {
  const controller = controllers.find((name) => metadata.name === `${keyturn.name}-${name}`);
  if (controller === undefined) return undefined;
  const renewedMs = timeMs(spec.renewTime);
  const isInTime = renewedMs !== undefined && renewedMs + (spec.leaseDurationSeconds ?? 0) * 1000 > nowMs;
  return {
    controller,
    namespace: metadata.namespace ?? "",
    // What follows the host is only there to tell two processes of one host apart.
    holder: spec.holderIdentity?.replace(/_[0-9a-f-]{36}$/, ""),
    state: spec.holderIdentity ? (isInTime ? "held" : "expired") : "free",
    renewedMs,
    acquiredMs: timeMs(spec.acquireTime),
  };
}
