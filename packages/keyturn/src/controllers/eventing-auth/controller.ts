// The controller that issues credentials: observe, plan the next step, carry it out, until there is nothing more to do; then report.
import { isDeepStrictEqual } from "node:util";
import {
  type AccessRule,
  addFinalizer,
  type Clock,
  ConnectionError,
  type ControllerDefinition,
  type ControllerScope,
  createHttpTransport,
  isApiError,
  isBeingDeleted,
  isConditionTrue,
  keyOfObject,
  nameOf,
  type ObjectKey,
  type Outcome,
  type PlannedEvent,
  type Random,
  type Run,
  Secret,
  type Stored,
  TransientError,
} from "@keyturn/runtime";
import { keyturn } from "../../feature/feature.ts";
import { afterPause, type Pause, pausedConditions, pausedEvent, type Selects, servingFor } from "../../feature/pause-and-selection.ts";
import { carryOutAct, carryOutLook, type StepContext, writeStatusOf } from "./act.ts";
import { EventingAuth, eventingAuthFinalizer } from "./api.ts";
import { applicationFailed, type ConditionReport, type ConditionReports, secretFailed, statusOf } from "./conditions.ts";
import { type EventingAuthSettings, keyOfRuntime, runtimeOf } from "./flags.ts";
import { grantKeeper } from "./grants.ts";
import { IdentityError } from "./identity/provider-http.ts";
import { IdentityProviders, type IdentityProvidersOptions } from "./identity/provider.ts";
import { type EventingAuthMetrics, eventingAuthNumbers, type ObjectNumbers } from "./metrics.ts";
import { type Observation, type Observed, observeEventingAuth, ownerOfObservation, watchIssuing } from "./observe.ts";
import { type Idle, planDeletionStep, planStep, shownWithinMs } from "./plan.ts";
import { TargetError, TargetPool } from "./target.ts";

/** How the controller is made. */
interface IssuingOptions {
  /** Which EventingAuths are looked after. */
  readonly selects: Selects;
  readonly settings: EventingAuthSettings;
  readonly provider: Omit<IdentityProvidersOptions, "clock" | "random" | "observe">;
}

const name = "eventing-auth";
/** More than any way from nothing to done has. */
const maxSteps = 32;

/** The controller. */
export function issuingController({ selects, settings, provider }: IssuingOptions): ControllerDefinition {
  return {
    name,
    access: issuingAccess(settings, provider.type === "openid"),
    // Twice as many as there may be requests to the identity provider, so that writes to the API servers do not leave its turns unused.
    concurrency: 100,
    setup(scope) {
      const { clock, random, log } = scope;
      const watches = watchIssuing(scope, settings);
      const numbers = eventingAuthNumbers(scope.metrics);
      const providers = new IdentityProviders({
        ...provider,
        clock,
        random,
        observe({ operation, status, durationMs }) {
          numbers.requests.inc({ step: operation, code: status === undefined ? "<error>" : String(status) });
          numbers.durations.observe({ step: operation }, durationMs / 1000);
        },
      });
      const pool = new TargetPool({
        settings,
        clock,
        random,
        log,
        // A proxy is the operator's own affair: a kubeconfig that names one is refused.
        openTransport: (connection) => createHttpTransport({ ...connection, env: provider.env ?? {}, userAgent: keyturn.name, clock }),
        onChange: (runtime) => scope.enqueue(keyOfRuntime(settings, runtime)),
      });
      closeWith(scope, { pool, providers, unusedAfterMs: settings.checkEveryMs * 3 });
      /** By the uid of the object: the annotation that says so can be taken away. */
      const askedAt = new Map<string, number>();
      const idleKeys = new IdleKeys({ clock, random, checkEveryMs: settings.checkEveryMs });
      const show = scope.show<ObjectNumbers>({
        show: (key, shown) => numbers.objects.show(key, shown),
        hide(key) {
          numbers.objects.hide(key);
          // In the next term the first run has to look, or nothing would be shown until it is time again.
          idleKeys.forget(key);
        },
      });
      const reporting = new Reporting({ scope, controller: name, numbers, show, settings });

      return async (run) => {
        const object = watches.objects.get(run.key);
        const serving = object && servingFor(object.metadata, selects, run.now);
        if (object && serving?.type === "paused") {
          idleKeys.forget(run.key);
          await reporting.paused(object, serving, run);
          return afterPause(serving, run.now);
        }
        const isServed = serving?.type === "served";
        const observed = isServed ? await observeEventingAuth(run, { watches, settings, pool, providers, askedAt }) : undefined;
        numbers.targets.set(pool.size);
        if (!observed) {
          const runtime = runtimeOf(settings, run.key);
          if (runtime !== undefined) pool.close(runtime);
          idleKeys.forget(run.key);
          return reporting.forget(run.key);
        }
        const waitMs = idleKeys.waitFor(run.key, observed);
        if (waitMs !== undefined) return { requeueAfterMs: waitMs };
        const reached = await stepUntilIdle(run, observed, { scope, settings, reporting, askedAt });
        if (!reached) return;
        return idleKeys.record(run.key, { ...observed, observation: reached.observation }, { idle: reached.idle, nowMs: clock.now() });
      };
    },
  };
}

interface Work {
  readonly scope: ControllerScope;
  readonly settings: EventingAuthSettings;
  readonly reporting: Reporting;
  readonly askedAt: Map<string, number>;
}

/** Carries out step after step until there is nothing more to do, and reports. Resolves to undefined if the object was let go, or nothing may be changed. */
async function stepUntilIdle(
  run: Run,
  { observation: first, provider, target }: Observed,
  { scope, settings, reporting, askedAt }: Work,
): Promise<{ readonly observation: Observation; readonly idle: Idle } | undefined> {
  let observation = first;
  const deleting = isBeingDeleted(first.object);
  const context: StepContext = {
    run,
    scope,
    controller: name,
    provider,
    target,
    grants: grantKeeper({ client: scope.client, owner: ownerOfObservation(first), namespace: settings.providerSecret.namespace, controller: name }),
    record: (event) => reporting.record(observation.object, event),
    onWritten: (object) => (observation = { ...observation, object }),
    onIssued: (why) => reporting.issued(why),
    onAbandoned: () => reporting.abandoned(),
    onAsked(atMs) {
      if (atMs === undefined) {
        askedAt.delete(first.object.metadata.uid);
        return;
      }
      for (const [uid, beforeMs] of askedAt) if (atMs - beforeMs >= shownWithinMs) askedAt.delete(uid);
      askedAt.set(first.object.metadata.uid, atMs);
    },
    hasAsked: false,
    firstSecret: undefined,
  };
  try {
    if (!deleting && first.isServed) {
      observation = { ...first, object: await addFinalizer(run, { kind: EventingAuth, object: first.object }, eventingAuthFinalizer) };
    }
    for (let steps = 0; steps < maxSteps; steps++) {
      // Not the time at which the run began: what it has done since would lie in the future.
      const nowMs = scope.clock.now();
      const step = deleting ? planDeletionStep(observation, nowMs) : planStep(observation, nowMs);
      if (step.type === "idle") return { observation: await reporting.idle(observation, step, run), idle: step };
      if (step.type === "look") {
        observation = await carryOutLook(step, observation, context);
        continue;
      }
      if (scope.dryRun) {
        run.log.info({ step: step.type }, "dry run: this step is withheld");
        return undefined;
      }
      const next = await carryOutAct(step, observation, context);
      if (!next) return undefined;
      observation = next;
    }
    throw new Error(`not idle after ${maxSteps} steps`);
  } catch (error) {
    throw await reporting.failure(observation, error, run);
  }
}

/** Everything that was opened is closed with the controller; connections that are no longer asked for are closed now and then. */
function closeWith(
  { clock, closed }: ControllerScope,
  { pool, providers, unusedAfterMs }: { readonly pool: TargetPool; readonly providers: IdentityProviders; readonly unusedAfterMs: number },
): void {
  let timer = clock.setTimer(unusedAfterMs, sweep);
  function sweep(): void {
    pool.closeUnused(unusedAfterMs);
    timer = clock.setTimer(unusedAfterMs, sweep);
  }
  closed.addEventListener(
    "abort",
    () => {
      timer.cancel();
      pool.closeAll();
      providers.close();
    },
    { once: true },
  );
}

// Rights. Secrets are read in the namespaces that hold kubeconfigs and credentials, and nowhere else.

/** `keepsGrants` if the identity provider hands out a right per application that must be kept. */
function issuingAccess(settings: EventingAuthSettings, keepsGrants: boolean): readonly AccessRule[] {
  const { providerSecret, kubeconfigs } = settings;
  const read = ["get", "list", "watch"] as const;
  return [
    { kind: EventingAuth, verbs: ["get", "list", "watch", "patch"], why: "to see whose credentials are wanted, and to hold its finalizer" },
    { kind: EventingAuth, subresource: "status", verbs: ["patch"], why: "to report" },
    { kind: Secret, namespace: kubeconfigs.namespace, verbs: read, why: "to read the runtimes' kubeconfigs" },
    { kind: Secret, namespace: providerSecret.namespace, verbs: read, why: "to read the identity provider's credentials" },
    ...(keepsGrants
      ? [
          {
            kind: Secret,
            namespace: providerSecret.namespace,
            verbs: ["create", "patch", "delete"] as const,
            why: "to keep the right to manage each application",
          },
        ]
      : []),
  ];
}

// Reports: status, Events and metrics of each EventingAuth.

/** What reporting is done with. */
interface ReportingOptions {
  readonly scope: Pick<ControllerScope, "events">;
  readonly controller: string;
  readonly numbers: Pick<EventingAuthMetrics, "issued" | "abandoned">;
  /** Shows the numbers of an object, or that it has none. */
  readonly show: (key: ObjectKey, numbers: ObjectNumbers | undefined) => void;
  readonly settings: EventingAuthSettings;
}

/** Failures in a row before an object that was ready is said not to be: a failure that ends by itself is not worth an alarm. */
const toleratedFailures = 2;
/** A right at the identity provider may be given at any time, which cannot be watched. */
const terminalRetryMs = 300_000;

/** Reports for all objects of the controller. */
class Reporting {
  readonly #options: ReportingOptions;

  constructor(options: ReportingOptions) {
    this.#options = options;
  }

  /** Writes the status of an object that is idle, if it is new. Resolves to the observation with the object as it then is. */
  async idle(observation: Observation, { reports, quiet }: Idle, run: Run): Promise<Observation> {
    return quiet ? observation : { ...observation, object: await this.#write(observation, reports, run) };
  }

  /** Writes down why a run failed, and resolves to what is to be thrown. */
  async failure(observation: Observation, error: unknown, run: Run): Promise<unknown> {
    if (run.signal.aborted || error instanceof TransientError || error instanceof ConnectionError) return error;
    // Part of optimistic concurrency: the next run, in a moment, sees what is new.
    if (isApiError(error, "Conflict", "AlreadyExists", "NotFound")) return error;
    const { object } = observation;
    const isTransient = !(error instanceof IdentityError) || error.code === "Transient";
    const reports = failureReports(error);
    if (object.status?.state !== "Ready" || !isTransient || run.failures >= toleratedFailures) {
      const blocker = blockerOf(reports);
      const deleting = isBeingDeleted(object) && blocker ? { blocker: { ...blocker, reason: "DeletionWaiting" as const } } : {};
      await this.#write(observation, { ...reports, ...deleting }, run);
    }
    if (error instanceof IdentityError) {
      const retryAfterMs = error.retryAfterMs ?? (isTransient ? undefined : terminalRetryMs);
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
    this.record(object, pausedEvent(pause));
  }

  record(object: Stored<EventingAuth>, { type, reason, message }: PlannedEvent): void {
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

  async #write(observation: Observation, reports: ConditionReports, run: Run): Promise<Stored<EventingAuth>> {
    const { object, target } = observation;
    const { targetSecret } = this.#options.settings;
    const written = reports.secret?.holds;
    const secret = { clusterId: object.metadata.name, namespacedName: `${targetSecret.namespace}/${targetSecret.name}` };
    const status = statusOf(object, reports, { nowMs: run.now, ...(written && { secret }) });
    const issuedAtMs = target.type === "observed" ? target.secret?.issuedAtMs : undefined;
    const reachable = isConditionTrue(status.conditions, "TargetReachable");
    this.#options.show(keyOfObject(object), { ready: status.state === "Ready", reachable, issuedAtMs });
    if (isDeepStrictEqual(object.status, status)) return object;
    this.#recordBlocker(object, reports);
    return writeStatusOf(run.client, object, { status, controller: this.#options.controller });
  }

  /** An Event for what went wrong, recorded once: for as long as the condition says the same, nothing is new. */
  #recordBlocker(object: Stored<EventingAuth>, reports: ConditionReports): void {
    const blocker = reports.blocker ?? blockerOf(reports);
    const before = object.status?.conditions?.find(({ type }) => type === "Ready");
    if (!blocker || (before?.reason === blocker.reason && before.message === blocker.message)) return;
    this.record(object, { type: "Warning", reason: blocker.reason, message: blocker.message });
  }
}

function blockerOf({ blocker, application, secret }: ConditionReports): ConditionReport | undefined {
  return blocker ?? [application, secret].find((report) => report?.holds === false);
}

function failureReports(error: unknown): ConditionReports {
  if (error instanceof IdentityError) return { application: applicationFailed(error.message) };
  if (error instanceof TargetError) return { secret: secretFailed(error.message) };
  if (isApiError(error)) return { blocker: { holds: false, reason: "ControlPlaneRefused", message: error.message } };
  const name = error instanceof Error ? error.name : "unknown error";
  return {
    blocker: {
      holds: false,
      reason: "InternalError",
      message: `an unexpected error stopped the work on this object (${name}); the operator's log says where`,
    },
  };
}

// Objects that were found as they should be: the identity provider is not asked about them again until something changes or a while has gone by.

interface IdleKey {
  /** Who was asked: another one has to be asked again. */
  readonly provider: Observed["provider"];
  readonly fingerprint: string;
  readonly untilMs: number;
}

/** Saves requests to the identity provider. Nothing is decided from it but whether to look again now or later. */
export class IdleKeys {
  readonly #keys = new Map<ObjectKey, IdleKey>();
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #checkEveryMs: number;

  constructor({ clock, random, checkEveryMs }: { readonly clock: Clock; readonly random: Random; readonly checkEveryMs: number }) {
    this.#clock = clock;
    this.#random = random;
    this.#checkEveryMs = checkEveryMs;
  }

  /** How long the key can be left alone; undefined if it has to be looked at now. */
  waitFor(key: ObjectKey, { observation, provider }: Observed): number | undefined {
    const idle = this.#keys.get(key);
    const nowMs = this.#clock.monotonic();
    if (!idle || nowMs >= idle.untilMs || idle.provider !== provider || idle.fingerprint !== fingerprintOf(observation)) return undefined;
    return idle.untilMs - nowMs;
  }

  /** Records what a run came to. Returns when the next one is due. */
  record(key: ObjectKey, { observation, provider }: Observed, { idle, nowMs }: { readonly idle: Idle; readonly nowMs: number }): Outcome {
    // Spread, so that what came in together is not asked about together.
    const checkMs = this.#checkEveryMs * (0.8 + 0.2 * this.#random());
    const waitMs = Math.max(0, Math.min(checkMs, idle.nextAtMs === undefined ? Infinity : idle.nextAtMs - nowMs));
    if (idle.complete) this.#keys.set(key, { provider, fingerprint: fingerprintOf(observation), untilMs: this.#clock.monotonic() + waitMs });
    else this.#keys.delete(key);
    return { requeueAfterMs: waitMs };
  }

  forget(key: ObjectKey): void {
    this.#keys.delete(key);
  }
}

/** Everything but the identity provider's answers. */
function fingerprintOf({ object, target }: Observed["observation"]): string {
  const { deletionTimestamp, annotations } = object.metadata;
  const observed = target.type === "observed" ? [target.secret?.uid, target.secret?.resourceVersion, target.trouble] : target;
  return JSON.stringify([object.status, deletionTimestamp, annotations, target.type, observed]);
}
