// Shows users how their object fares, for controllers that do not do so themselves: a failed run becomes `Ready=False` and an Event, and a success takes that back.
import { isRecord } from "../json.ts";
import { keyOfObject, type Kind, type KubeObject, nameOf, type ObjectKey, type Stored } from "../client/kind.ts";
import { pagedList } from "../client/kube-client.ts";
import type { Client } from "../client/client.ts";
import type { Clock } from "../clock.ts";
import type { EventRecorder } from "../observe/events.ts";
import { isTolerated, type Report, type Reporter } from "./failure.ts";
import { fieldManagerOf, type Operator } from "./owned-objects.ts";
import { type Condition, findCondition, setCondition } from "./status.ts";

interface Conditioned extends KubeObject {
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/** Reasons that are part of optimistic concurrency: the next try, milliseconds later, reads what is new. Nobody needs to hear of them, unless they last. */
const unremarkable: ReadonlySet<string> = new Set(["Conflict", "AlreadyExists", "NotFound"]);

/** For how long failures that pass by themselves go untold, as in `ReconcileOptions`. */
const toleratedMs = 5_000;

/** What the reporter works with. */
interface OutcomeConditionOptions {
  readonly operator: Operator;
  /** The recorder of each controller. */
  readonly events: (controller: string) => EventRecorder;
  readonly client: Client;
  readonly clock: Clock;
  readonly namespaces: readonly string[];
}

/**
 * A reporter for controllers that have a primary kind with `status.conditions`. Only the condition `Ready` is touched, and only if it says something new.
 * It is written under a field manager of its own: by that, a later process too knows what is the runtime's to take back, and leaves alone what the
 * controller has written since.
 */
export function outcomeCondition(options: OutcomeConditionOptions): Reporter {
  const managerOf = (controller: string): string => `${fieldManagerOf(options.operator, controller)}-outcome`;
  const report: Reporter = async ({ failingForMs, ...rest }, signal) => {
    const { primary, outcome, key, controller } = rest;
    if (!primary) return;
    if (outcome?.code === "Transient" && isTolerated(outcome, failingForMs, unremarkable.has(outcome.reason) ? Infinity : toleratedMs)) return;
    const object = await writeReady(rest, primary, { manager: managerOf(controller), signal });
    if (!object || !outcome) return;
    const type = outcome.code === "Waiting" ? "Normal" : "Warning";
    const { reason, message } = outcome;
    options.events(controller).record({ kind: primary, object: { ...nameOf(key), uid: object.metadata.uid }, type, reason, message });
  };
  return Object.assign(report, {
    async standing(primary: Kind<Conditioned>, controller: string, signal: AbortSignal) {
      const manager = managerOf(controller);
      const keys: ObjectKey[] = [];
      const places = primary.namespaced && options.namespaces.length > 0 ? options.namespaces.map((namespace) => ({ namespace })) : [{}];
      for (const selection of places) {
        for await (const object of pagedList(primary, { client: options.client, clock: options.clock, selection }, signal)) {
          if (isOurs(object, manager)) keys.push(keyOfObject(object));
        }
      }
      return keys;
    },
  });
}

/** True if `Ready` says that something is wrong, and the runtime was the last to write it. */
function isOurs({ metadata, status }: Stored<Conditioned>, manager: string): boolean {
  const ready = findCondition(status?.conditions, "Ready");
  if (!ready || ready.status === "True") return false;
  return (metadata.managedFields ?? []).some((entry) => entry.manager === manager && ownsReady(entry.fieldsV1));
}

/** Conditions are owned one by one where the schema makes them a map, and else as a whole. */
function ownsReady(fields: unknown): boolean {
  const conditions = member(member(fields, "f:status"), "f:conditions");
  return isRecord(conditions) && (Object.keys(conditions).length === 0 || 'k:{"type":"Ready"}' in conditions);
}

function member(value: unknown, name: string): unknown {
  return isRecord(value) ? value[name] : undefined;
}

/** Resolves to the object, or to undefined if there is none to report on. */
async function writeReady(
  { client, key, now, outcome }: Pick<Report, "client" | "key" | "now" | "outcome">,
  primary: Kind<Conditioned>,
  { manager, signal }: { readonly manager: string; readonly signal: AbortSignal },
): Promise<{ readonly metadata: { readonly uid: string } } | undefined> {
  const object = await client.get(primary, nameOf(key), signal);
  if (!object || (!outcome && !isOurs(object, manager))) return undefined;
  const { resourceVersion, generation: observedGeneration } = object.metadata;
  const before = object.status?.conditions ?? [];
  const said = outcome
    ? ({ status: "False", reason: outcome.reason, message: outcome.message } as const)
    : ({ status: "True", reason: "Reconciled", message: "the last reconcile succeeded" } as const);
  const conditions = setCondition(before, { type: "Ready", ...said, observedGeneration }, now);
  if (conditions === before) return object;
  // The resourceVersion keeps conditions that were written meanwhile: the patch fails, and the next run reports again.
  return client.mergePatch(
    primary,
    nameOf(key),
    { metadata: { resourceVersion }, status: { conditions } },
    { fieldManager: manager, subresource: "status", answer: "metadata" },
    signal,
  );
}
