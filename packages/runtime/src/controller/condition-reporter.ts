// Tells users how their object fares: a failed run becomes the condition `Ready=False` and an Event on the object.
import type { Kind } from "../client/kind.ts";
import { type KubeObject, nameOf } from "../client/object.ts";
import { type Condition, setCondition } from "../observe/conditions.ts";
import type { EventRecorder } from "../observe/event-recorder.ts";
import { fieldManagerOf, type Operator } from "./operator.ts";
import type { Report, Reporter } from "./report.ts";

interface Conditioned extends KubeObject {
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/** Reasons that are part of optimistic concurrency: the next try, milliseconds later, reads what is new. Nobody needs to hear of them. */
const unremarkable: ReadonlySet<string> = new Set(["Conflict", "AlreadyExists", "NotFound"]);

/**
 * A reporter for controllers that have a primary kind with `status.conditions`. Success is not its business: a reconcile that succeeds writes its own status, `Ready` included.
 * Only the condition `Ready` is touched, and only if it says something new.
 */
export function conditionReporter(options: { readonly operator: Operator; readonly events: EventRecorder }): Reporter {
  return async (report, signal) => {
    const { primary, outcome, key } = report;
    if (!primary) return;
    if (outcome.code === "Transient" && unremarkable.has(outcome.reason)) return;
    const { reason, message } = outcome;
    const object = await writeNotReady(report, primary, { fieldManager: fieldManagerOf(options.operator, report.controller), signal });
    if (!object) return;
    const type = outcome.code === "Waiting" ? "Normal" : "Warning";
    options.events.record({ kind: primary, object: { ...nameOf(key), uid: object.metadata.uid }, type, reason, message });
  };
}

/** Resolves to the object, or to undefined if there is none to report on. */
async function writeNotReady(
  { client, key, now, outcome }: Report,
  primary: Kind<Conditioned>,
  { fieldManager, signal }: { readonly fieldManager: string; readonly signal: AbortSignal },
): Promise<{ readonly metadata: { readonly uid: string } } | undefined> {
  const object = await client.get(primary, nameOf(key), signal);
  if (!object) return undefined;
  const { resourceVersion, generation } = object.metadata;
  const { reason, message } = outcome;
  const before = object.status?.conditions ?? [];
  const conditions = setCondition(before, { type: "Ready", status: "False", reason, message, observedGeneration: generation }, now);
  if (conditions === before) return object;
  // The resourceVersion keeps conditions that were written meanwhile: the patch fails, and the next run reports again.
  return client.mergePatch(
    primary,
    nameOf(key),
    { metadata: { resourceVersion }, status: { conditions } },
    { fieldManager, subresource: "status", answer: "metadata" },
    signal,
  );
}
