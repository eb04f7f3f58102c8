// Tells how an EventingAuth fares: its status, Events and numbers.
import {
  ConnectionError,
  type ControllerScope,
  isApiError,
  isBeingDeleted,
  isConditionTrue,
  keyOfObject,
  nameOf,
  type Notice,
  type ObjectKey,
  type Run,
  type Stored,
  TransientError,
} from "@keyturn/runtime";
import { isDeepStrictEqual } from "node:util";
import { type Pause, pausedConditions, pausedNotice } from "../attention.ts";
import { EventingAuth } from "./api.ts";
import { writeStatusOf } from "./application-steps.ts";
import { IdentityError } from "./identity/identity-error.ts";
import type { EventingAuthMetrics, ObjectNumbers } from "./metrics.ts";
import type { Observation } from "./observation.ts";
import type { EventingAuthSettings } from "./settings.ts";
import { applicationFailed, secretFailed, statusOf, type Verdict, type Verdicts } from "./status.ts";
import type { Rest } from "./step.ts";
import { TargetError } from "./target-error.ts";

/** What reporting is done with. */
export interface ReportingOptions {
  readonly scope: Pick<ControllerScope, "events">;
  readonly controller: string;
  readonly numbers: Pick<EventingAuthMetrics, "issued" | "abandoned">;
  /** Shows the numbers of an object, or that it has none. */
  readonly show: (key: ObjectKey, numbers: ObjectNumbers | undefined) => void;
  readonly settings: EventingAuthSettings;
}

/** Failures in a row before an object that was ready is said not to be: what passes by itself is not worth an alarm. */
const toleratedFailures = 2;
/** A right at the identity provider may be given at any time, and nobody tells. */
const terminalRetryMs = 300_000;

/** Reports for all objects of the controller. */
export class Reporting {
  readonly #options: ReportingOptions;

  constructor(options: ReportingOptions) {
    this.#options = options;
  }

  /** Writes the status that a rest comes to, if it is new. Resolves to the observation with the object as it then is. */
  async rest(observation: Observation, { verdicts, quiet }: Rest, run: Run): Promise<Observation> {
    return quiet ? observation : { ...observation, object: await this.#write(observation, verdicts, run) };
  }

  /** Writes down why a run failed, and resolves to what is to be thrown. */
  async failure(observation: Observation, error: unknown, run: Run): Promise<unknown> {
    if (run.signal.aborted || error instanceof TransientError || error instanceof ConnectionError) return error;
    // Part of optimistic concurrency: the next run, in a moment, sees what is new.
    if (isApiError(error, "Conflict", "AlreadyExists", "NotFound")) return error;
    const { object } = observation;
    const passes = !(error instanceof IdentityError) || error.code === "Transient";
    const verdicts = failureVerdicts(error);
    if (object.status?.state !== "Ready" || !passes || run.failures >= toleratedFailures) {
      const hindrance = hindranceOf(verdicts);
      const deleting = isBeingDeleted(object) && hindrance ? { hindrance: { ...hindrance, reason: "DeletionWaiting" as const } } : {};
      await this.#write(observation, { ...verdicts, ...deleting }, run);
    }
    if (error instanceof IdentityError) {
      const retryAfterMs = error.retryAfterMs ?? (passes ? undefined : terminalRetryMs);
      return new TransientError(error.message, {
        reason: "IdentityProviderFailed",
        cause: error,
        ...(retryAfterMs !== undefined && { retryAfterMs }),
      });
    }
    return error instanceof TargetError ? new TransientError(error.message, { reason: "TargetFailed", cause: error }) : error;
  }

  /** Says that nothing is done for the object, if that is new. */
  async paused(object: Stored<EventingAuth>, pause: Pause, run: Run): Promise<void> {
    const before = object.status?.conditions ?? [];
    const conditions = pausedConditions(before, pause, { generation: object.metadata.generation, nowMs: run.now });
    if (conditions === before) return;
    const status = { state: "NotReady" as const, ...object.status, conditions: [...conditions] };
    await writeStatusOf(run.client, object, { status, controller: this.#options.controller });
    this.notify(object, pausedNotice(pause));
  }

  notify(object: Stored<EventingAuth>, { type, reason, message }: Notice): void {
    this.#options.scope.events.record({
      kind: EventingAuth,
      object: { ...nameOf(keyOfObject(object)), uid: object.metadata.uid },
      type,
      reason,
      message,
    });
  }

  issued(why: "first" | "repair" | "rotation"): void {
    this.#options.numbers.issued.inc({ why });
  }

  abandoned(): void {
    this.#options.numbers.abandoned.inc();
  }

  /** The object is gone. */
  forget(key: ObjectKey): void {
    this.#options.show(key, undefined);
  }

  async #write(observation: Observation, verdicts: Verdicts, run: Run): Promise<Stored<EventingAuth>> {
    const { object, target } = observation;
    const { targetSecret } = this.#options.settings;
    const written = verdicts.secret?.holds;
    const secret = { clusterId: object.metadata.name, namespacedName: `${targetSecret.namespace}/${targetSecret.name}` };
    const status = statusOf(object, verdicts, { nowMs: run.now, ...(written && { secret }) });
    const issuedAtMs = target.type === "seen" ? target.secret?.issuedAtMs : undefined;
    const reachable = isConditionTrue(status.conditions, "TargetReachable");
    this.#options.show(keyOfObject(object), { ready: status.state === "Ready", reachable, issuedAtMs });
    if (isDeepStrictEqual(object.status, status)) return object;
    this.#tell(object, verdicts);
    return writeStatusOf(run.client, object, { status, controller: this.#options.controller });
  }

  /** An Event for what went wrong, told once: for as long as the condition says the same, nothing is new. */
  #tell(object: Stored<EventingAuth>, verdicts: Verdicts): void {
    const hindrance = verdicts.hindrance ?? hindranceOf(verdicts);
    const before = object.status?.conditions?.find(({ type }) => type === "Ready");
    if (!hindrance || (before?.reason === hindrance.reason && before.message === hindrance.message)) return;
    this.notify(object, { type: "Warning", reason: hindrance.reason, message: hindrance.message });
  }
}

function hindranceOf({ hindrance, application, secret }: Verdicts): Verdict | undefined {
  return hindrance ?? [application, secret].find((verdict) => verdict?.holds === false);
}

function failureVerdicts(error: unknown): Verdicts {
  if (error instanceof IdentityError) return { application: applicationFailed(error.message) };
  if (error instanceof TargetError) return { secret: secretFailed(error.message) };
  if (isApiError(error)) return { hindrance: { holds: false, reason: "ControlPlaneRefused", message: error.message } };
  const name = error instanceof Error ? error.name : "unknown error";
  return {
    hindrance: {
      holds: false,
      reason: "InternalError",
      message: `an unexpected error stopped the work on this object (${name}); the operator's log says where`,
    },
  };
}
