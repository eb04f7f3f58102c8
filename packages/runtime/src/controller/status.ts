// The status of an object: written when it says something new, with conditions as Kubernetes' conventions ask.
import type { Client } from "../client/client.ts";
import { type Kind, type KubeObject, nameOf, type Stored } from "../client/kind.ts";
import type { EventRecorder } from "../observe/events.ts";
import { redactAndCut } from "../observe/redaction.ts";
import type { Report, Reporter } from "./failure.ts";
import { fieldManagerOf, isSame, type Operator } from "./owned-objects.ts";

/** An object whose controller reports in `status`. */
export interface WithStatus<Status> extends KubeObject {
  readonly status?: Status;
}

/** Makes `status` the whole status that this field manager reports. True if it had to be sent. Fails with `Conflict` if the very object is gone. */
export async function writeStatus<Status, T extends WithStatus<Status>>(
  through: { readonly client: Client; readonly signal?: AbortSignal },
  target: { readonly kind: Kind<T>; readonly object: Stored<T>; readonly status: Status; readonly fieldManager: string },
): Promise<boolean> {
  const { kind, object, status, fieldManager } = target;
  if (isSame(object.status, status)) return false;
  const { name, namespace, uid } = object.metadata;
  const applied: WithStatus<Status> = { metadata: { name, uid, ...(namespace ? { namespace } : {}) }, status };
  const options = { fieldManager, force: true, subresource: "status", answer: "metadata" } as const;
  await through.client.apply<WithStatus<Status>, "metadata">(kind, applied, options, through.signal);
  return true;
}

/** A condition as it stands in a status (metav1.Condition). */
export interface Condition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  /** PascalCase, never empty. */
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration?: number | undefined;
  /** When `status` last changed; whole seconds. */
  readonly lastTransitionTime: string;
}

/** A condition to be set; the time is found out. */
type ConditionToSet = Omit<Condition, "lastTransitionTime">;

/** The API server refuses longer ones (metav1.Condition's own schema). */
const maxMessage = 32_768;

/**
 * The conditions with one of them set; the given list is not changed. The time of the last transition stays unless the status changes, the message is
 * redacted and cut, the order is that of first appearance, and setting what is already there returns the very same list.
 */
export function setCondition(conditions: readonly Condition[], { observedGeneration, ...wanted }: ConditionToSet, now: number): readonly Condition[] {
  const previous = conditions.find(({ type }) => type === wanted.type);
  const condition: Condition = {
    type: wanted.type,
    status: wanted.status,
    reason: wanted.reason,
    message: redactAndCut(wanted.message, maxMessage),
    ...(observedGeneration !== undefined && { observedGeneration }),
    lastTransitionTime: previous?.status === wanted.status ? previous.lastTransitionTime : `${new Date(now).toISOString().slice(0, 19)}Z`,
  };
  if (!previous) return [...conditions, condition];
  if (isUnchanged(previous, condition)) return conditions;
  return conditions.map((other) => (other.type === wanted.type ? condition : other));
}

/** The conditions without one type; the same list if it was not there. */
export function removeCondition(conditions: readonly Condition[], type: string): readonly Condition[] {
  return conditions.some((condition) => condition.type === type) ? conditions.filter((condition) => condition.type !== type) : conditions;
}

/** The condition of a type, if there is one. */
export function findCondition(conditions: readonly Condition[] | undefined, type: string): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** True if the condition of this type has the status True, and was observed for this generation if one is given. */
export function isConditionTrue(conditions: readonly Condition[] | undefined, type: string, generation?: number): boolean {
  const condition = findCondition(conditions, type);
  return condition?.status === "True" && (generation === undefined || condition.observedGeneration === generation);
}

function isUnchanged(a: Condition, b: Condition): boolean {
  return (
    a.status === b.status &&
    a.reason === b.reason &&
    a.message === b.message &&
    a.observedGeneration === b.observedGeneration &&
    a.lastTransitionTime === b.lastTransitionTime
  );
}

// Shows users how their object fares: a failed run becomes the condition `Ready=False` and an Event on the object.

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
