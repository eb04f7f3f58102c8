// The status of an object: written when it says something new, with conditions as Kubernetes' conventions ask.
import { hash } from "node:crypto";
import { isApiError } from "../client/api-error.ts";
import type { Client } from "../client/client.ts";
import type { Kind, KubeObject, Stored } from "../client/kind.ts";
import { LruMap } from "../collections.ts";
import { RepeatBackoff } from "../queue/backoff.ts";
import type { Random } from "../random.ts";
import type { Clock } from "../clock.ts";
import type { EventRecorder } from "../observe/events.ts";
import { redactAndCut } from "../observe/redaction.ts";
import type { Run } from "./controller.ts";
import { canonicalJson } from "./owned-objects.ts";
import type { EventObject, PlannedEvent, ReasonTable, ReportedStatus, StatusObject, StatusReport } from "./plan.ts";
import { isSame } from "./stored-form.ts";

/** An object whose controller reports in `status`. */
interface WithStatus<Status> extends KubeObject {
  readonly status?: Status;
}

/** Makes `status` the whole status that this field manager reports. True if it had to be sent. Fails with `Conflict` if the very object is gone. */
export async function writeStatus<T extends WithStatus<unknown>>(
  through: { readonly client: Client; readonly signal?: AbortSignal },
  target: { readonly kind: Kind<T>; readonly object: Stored<T>; readonly status: NonNullable<NoInfer<T>["status"]>; readonly fieldManager: string },
): Promise<boolean> {
  const { kind, object, status, fieldManager } = target;
  if (isSame(object.status, status)) return false;
  const { name, namespace, uid } = object.metadata;
  const applied: WithStatus<unknown> = { metadata: { name, uid, ...(namespace ? { namespace } : {}) }, status };
  const options = { fieldManager, force: true, subresource: "status", answer: "metadata" } as const;
  await through.client.apply<WithStatus<unknown>, "metadata">(kind, applied, options, through.signal);
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

// What a plan reports: conditions with their times, one write if that is new, and Events of what has changed.

/** What a kind's status says besides its conditions. */
type StatusFields<T extends WithStatus<unknown>> = Omit<NonNullable<T["status"]>, "conditions">;

/** A report whose fields are checked against the kind's status: all that it needs, and nothing that it does not have. */
export function reportOn<T extends WithStatus<unknown>>(
  kind: Kind<T>,
  object: Stored<T> & StatusObject["object"],
  report: Omit<StatusReport<NoInfer<StatusFields<T>>>, "regarding">,
): StatusReport<StatusFields<T>> {
  return { regarding: { kind, object }, ...report };
}

/** The whole status that a report comes to, from the one before. */
export function statusAfter(
  { regarding, conditions, fields, order }: StatusReport,
  before: ReportedStatus | undefined,
  nowMs: number,
): ReportedStatus {
  const { generation: observedGeneration } = regarding.object.metadata;
  let after = before?.conditions ?? [];
  for (const type in conditions) {
    const report = conditions[type];
    after = report ? setCondition(after, { type, ...report, observedGeneration }, nowMs) : removeCondition(after, type);
  }
  return { ...(fields ?? before), conditions: order ? after.toSorted((a, b) => order.indexOf(a.type) - order.indexOf(b.type)) : after };
}

/** Two statuses with the same digest say the same, whenever their conditions began to. `none` for no status. */
export function statusDigest(status: ReportedStatus | undefined): string {
  if (!status) return "none";
  const { conditions = [], ...fields } = status;
  const lasting = Object.fromEntries(conditions.map((condition) => [condition.type, { ...condition, lastTransitionTime: undefined }]));
  // Twelve characters are 72 bits; of a longer piece V8 would keep the whole text that it was cut from.
  return hash("sha256", canonicalJson({ ...fields, conditions: lasting }), "base64").slice(0, 12);
}

/** The Events of conditions that have changed: each reason once, and nothing for as long as a condition says the same. */
export function conditionEvents(
  before: ReportedStatus | undefined,
  { conditions }: Pick<StatusReport, "conditions">,
  reasons: ReasonTable,
): readonly Omit<PlannedEvent, "regarding">[] {
  const events = new Map<string, Omit<PlannedEvent, "regarding">>();
  for (const type in conditions) {
    const report = conditions[type];
    const event = report && !events.has(report.reason) ? eventTypeOf(report.reason, reasons) : undefined;
    if (!report || !event) continue;
    const { status, reason, message } = report;
    const last = findCondition(before?.conditions, type);
    if (last?.status === status && last.reason === reason && last.message === message) continue;
    events.set(reason, { type: event, reason, message });
  }
  return [...events.values()];
}

/** What the runtime says of a failure is in no table of a controller's. */
function eventTypeOf(name: string, reasons: ReasonTable): PlannedEvent["type"] | undefined {
  const reason = Object.hasOwn(reasons, name) ? reasons[name] : undefined;
  if (!reason) return "Warning";
  const event = reason.event ?? (reason.health === "degraded" ? "Warning" : reason.health === "paused" ? "Normal" : "none");
  return event === "none" ? undefined : event;
}

/** What reports are written with. */
interface ReportContext {
  /** Its client is asked for only if something is to be sent: most runs have nothing new to say. */
  readonly run: Pick<Run, "client" | "signal">;
  readonly nowMs: number;
  /** Of a failure: Events do not wait for a status that may be refused as well. `untold` if they are new. */
  readonly failure?: "told" | "untold";
}

/** Statuses of objects whose cache keeps only digests: as many as are likely to change soon. */
const maxStatuses = 4096;

interface Reported extends KubeObject {
  readonly status?: ReportedStatus;
}

/** A status that could not be written. */
interface Unreported {
  readonly regarding: StatusObject;
  readonly error: unknown;
}

/** Writes reports, and records what is new in them. */
export class StatusReporter {
  readonly #fieldManager: string;
  readonly #reasons: ReasonTable;
  readonly #events: EventRecorder;
  readonly #statuses = new LruMap<string, ReportedStatus>(maxStatuses);
  readonly #repeats: RepeatBackoff;

  constructor(options: {
    readonly fieldManager: string;
    readonly reasons: ReasonTable;
    readonly events: EventRecorder;
    readonly clock: Clock;
    readonly random: Random;
  }) {
    this.#fieldManager = options.fieldManager;
    this.#reasons = options.reasons;
    this.#events = options.events;
    this.#repeats = new RepeatBackoff(options.clock, options.random);
  }

  /** Resolves when all that is new is written, to what could not be, and how long the rest has to wait. */
  async report(
    reports: readonly StatusReport[],
    context: ReportContext,
  ): Promise<{ readonly unreported: readonly Unreported[]; readonly waitMs: number }> {
    const unreported: Unreported[] = [];
    let leastMs = Number.POSITIVE_INFINITY;
    const tried = async (report: StatusReport): Promise<void> => {
      try {
        const waitMs = await this.#reportOne(report, context);
        if (waitMs > 0) leastMs = Math.min(leastMs, waitMs);
      } catch (error) {
        unreported.push({ regarding: report.regarding, error });
      }
    };
    await Promise.all(reports.map(tried));
    return { unreported, waitMs: leastMs };
  }

  record({ kind, object }: EventObject, { type, reason, message, action }: Omit<PlannedEvent, "regarding">): void {
    const { namespace, name, uid } = object.metadata;
    this.#events.record({
      kind,
      object: { name, ...(namespace !== undefined && { namespace }), ...(uid !== undefined && uid !== "" && { uid }) },
      type,
      reason,
      message,
      ...(action !== undefined && { action }),
    });
  }

  /** How long the report has to wait; 0 if all is said. */
  async #reportOne(report: StatusReport, context: ReportContext): Promise<number> {
    const { regarding } = report;
    const digest = regarding.statusDigest;
    if (regarding.eventsOnly && !context.failure) return 0;
    if (digest !== undefined && report.fields && statusDigest(statusAfter(report, undefined, 0)) === digest) return 0;
    const before = digest === undefined ? regarding.object.status : await this.#lookUp(regarding, context);
    const events = conditionEvents(before, report, this.#reasons);
    const record = (): void => events.forEach((event) => this.record(regarding, event));
    if (context.failure === "untold") record();
    const waitMs = regarding.eventsOnly ? 0 : await this.#write(report, before, context);
    if (!context.failure && waitMs === 0) record();
    return waitMs;
  }

  async #lookUp(
    { kind: objectKind, object, statusDigest: digest }: StatusObject,
    { run, failure }: ReportContext,
  ): Promise<ReportedStatus | undefined> {
    if (digest === "none") return undefined;
    const known = this.#statuses.get(object.metadata.uid);
    if (known && statusDigest(known) === digest) return known;
    const kind: Kind<Reported> = objectKind;
    const found = run.client.get(kind, object.metadata, run.signal);
    return (await (failure ? found.catch(() => undefined) : found))?.status;
  }

  async #write(report: StatusReport, before: ReportedStatus | undefined, context: ReportContext): Promise<number> {
    const { regarding, fields, onlyIfUnchanged } = report;
    const { uid, resourceVersion } = regarding.object.metadata;
    const status = statusAfter(report, before, context.nowMs);
    if (isSame(before, status)) return 0;
    const digest = statusDigest(statusAfter(report, undefined, 0));
    // A failure is told at its own times.
    const waitMs = context.failure ? 0 : this.#repeats.waitMs(uid, digest);
    if (waitMs > 0) return waitMs;
    try {
      // What stays is taken from what was seen, so that must still be what is there.
      await this.#apply(regarding, { status, ...((!fields || onlyIfUnchanged) && { resourceVersion }) }, context);
    } catch (error) {
      if (fields || onlyIfUnchanged || !isApiError(error, "Conflict")) throw error;
      await this.#writeAgain(report, context);
      return 0;
    }
    this.#repeats.written(uid, digest);
    if (regarding.statusDigest !== undefined) this.#statuses.set(uid, status);
    return 0;
  }

  /** A cache that is behind, if only by our own finalizer, must not keep anybody from hearing of a failure. */
  async #writeAgain(report: StatusReport, context: ReportContext): Promise<void> {
    const { object } = report.regarding;
    const kind: Kind<Reported> = report.regarding.kind;
    const found = await context.run.client.get(kind, object.metadata, context.run.signal);
    if (!found || found.metadata.uid !== object.metadata.uid) return;
    const status = statusAfter({ ...report, regarding: { kind, object: found } }, found.status, context.nowMs);
    if (!isSame(found.status, status))
      await this.#apply({ kind, object: found }, { status, resourceVersion: found.metadata.resourceVersion }, context);
  }

  async #apply(
    { kind: objectKind, object }: Pick<StatusObject, "kind" | "object">,
    { status, resourceVersion }: { readonly status: ReportedStatus; readonly resourceVersion?: string },
    { run }: ReportContext,
  ): Promise<void> {
    const kind: Kind<Reported> = objectKind;
    const { name, namespace, uid } = object.metadata;
    const metadata = { name, uid, ...(namespace !== undefined && { namespace }), ...(resourceVersion !== undefined && { resourceVersion }) };
    const options = { fieldManager: this.#fieldManager, force: true, subresource: "status", answer: "metadata" } as const;
    await run.client.apply<Reported, "metadata">(kind, { metadata, status }, options, run.signal);
  }
}
