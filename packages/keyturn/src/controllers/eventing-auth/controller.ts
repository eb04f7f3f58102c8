// The controller that issues credentials: what it works with, how its failures are told, what it remembers of objects that are as they should be, its rights.
import {
  type AccessRule,
  type ControllerDefinition,
  type ControllerScope,
  createHttpTransport,
  type Failure,
  findCondition,
  isBeingDeleted,
  keyOfObject,
  nameOf,
  type ObjectKey,
  type Owner,
  reconcileWith,
  type Run,
  Secret,
  type Stored,
  TerminalError,
  TransientError,
} from "@keyturn/runtime";
import { keyturn } from "../../feature/feature.ts";
import { type Selects, servingFor } from "../../feature/pause-and-selection.ts";
import { carryOutAct, carryOutLook, type StepContext } from "./act.ts";
import { EventingAuth, eventingAuthFinalizer } from "./api.ts";
import { IdleKeys, RunLimits } from "./rate-limits.ts";
import { censusKey, censusTaker } from "./census.ts";
import {
  applicationFailed,
  type ConditionReport,
  type ConditionReports,
  type EventingAuthReport,
  pausedReport,
  reportOf,
  secretFailed,
  statusOf,
} from "./conditions.ts";
import { type EventingAuthSettings, keysOfRuntime, runtimeOf } from "./flags.ts";
import { grantKeeper } from "./grants.ts";
import { IdentityError } from "./identity/provider-http.ts";
import { IdentityProviders, type IdentityProvidersOptions } from "./identity/provider.ts";
import { type EventingAuthMetrics, eventingAuthNumbers, type ObjectNumbers } from "./metrics.ts";
import {
  type IssuingWatches,
  type Observation,
  type Observed,
  observeEventingAuth,
  ownerOfObservation,
  type SharedBySteps,
  watchIssuing,
} from "./observe.ts";
import { type IssuingPlan, planIssuing } from "./plan.ts";
import { eventingAuthReasons } from "./reasons.ts";
import type { Act, Look } from "./step.ts";
import { TargetError, TargetPool } from "./target.ts";
import { TenantCheck } from "./tenant-check.ts";

/** How the controller is made. */
interface IssuingOptions {
  /** Which EventingAuths are looked after. */
  readonly selects: Selects;
  readonly settings: EventingAuthSettings;
  readonly provider: Omit<IdentityProvidersOptions, "clock" | "random" | "observe" | "openTransport">;
  /** How clusters and the identity provider are reached. Default: HTTP. */
  readonly openTransport?: typeof createHttpTransport;
}

const name = "eventing-auth";

/** The controller. */
export function issuingController({ selects, settings, provider, openTransport = createHttpTransport }: IssuingOptions): ControllerDefinition {
  return {
    name,
    access: issuingAccess(settings, provider.type === "openid"),
    // Twice as many as there may be requests to the identity provider, so that writes to the API servers do not leave its turns unused.
    concurrency: 100,
    deadlineMs: Math.max(minDeadlineMs, inOneRun.ofProvider * (provider.timeoutMs ?? 0) + inOneRun.ofTarget * settings.targetTimeoutMs),
    setup(scope) {
      const { clock, random, log } = scope;
      const watches = watchIssuing(scope, settings);
      const numbers = eventingAuthNumbers(scope.metrics);
      const providers = new IdentityProviders({
        ...provider,
        openTransport,
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
        openTransport: (connection, limits) => openTransport({ ...connection, ...limits, env: provider.env ?? {}, userAgent: keyturn.name, clock }),
        onChange: (runtime) => keysOfRuntime(settings, runtime).forEach((key) => scope.enqueue(key)),
      });
      closeWith(scope, { pool, providers, unusedAfterMs: settings.checkEveryMs * 3 });
      /** By the uid of the object: the annotation that says so can be taken away. */
      const askedAt = new Map<string, number>();
      const unheardAt = new Map<string, number>();
      /** Objects as the last run's own writes left them, until the next run. */
      const written = new Map<ObjectKey, Stored<EventingAuth>>();
      const latest = (key: ObjectKey): Stored<EventingAuth> | undefined => written.get(key) ?? watches.objects.get(key);
      const idleKeys = new IdleKeys();
      const limits = new RunLimits(settings.checkEveryMs);
      const doubled = new Set<string>();
      const tenantCheck = new TenantCheck({ clock, random });
      const show = scope.show<ObjectNumbers>(numbers.objects);
      const contextOf = stepContexts({ scope, settings, numbers, askedAt, unheardAt, written, watches, tenantCheck });
      const takeCensus = censusTaker({
        scope,
        objects: watches.objects,
        orphans: numbers.orphans,
        provider: () => providers.current,
        everyMs: settings.checkEveryMs,
        onDoubled(found) {
          doubled.clear();
          for (const [key, { metadata }] of watches.objects.entries()) {
            if (!found.has(metadata.uid)) continue;
            doubled.add(metadata.uid);
            idleKeys.forget(key);
            scope.enqueue(key);
          }
        },
      });

      const reconcile = reconcileWith<Observed, Look, Act, IssuingPlan>(
        scope,
        {
          async observe(run, nowMs) {
            written.delete(run.key);
            const observed = await observeEventingAuth(run, { watches, settings, pool, providers, askedAt, unheardAt, doubled });
            numbers.targets.set(pool.size);
            // Spread, so that what came in together is not asked about together.
            const checkAfterMs = settings.checkEveryMs * (0.8 + 0.2 * random());
            if (!observed) return undefined;
            const idleUntilMs = idleKeys.idleUntil(run.key, observed, nowMs);
            const waitMs = idleUntilMs === undefined && asksProvider(observed) ? limits.take(run.key, clock.monotonic()) : undefined;
            return { ...observed, checkAfterMs, idleUntilMs, ...(waitMs !== undefined && { limitedUntilMs: nowMs + waitMs }) };
          },
          plan: planIssuing,
          look: (step, observed, run, nowMs) =>
            stepOn(observed, contextOf(observed, run, nowMs), (observation, context) => carryOutLook(step, observation, context)),
          act: (step, observed, run, nowMs) =>
            stepOn(observed, contextOf(observed, run, nowMs), (observation, context) => carryOutAct(step, observation, context)),
          released({ abandoned = [] }) {
            if (abandoned.length > 0) numbers.abandoned.inc();
          },
          regarding(key) {
            const object = latest(key);
            return object ? [{ kind: EventingAuth, object }] : [];
          },
          failed(failure, [regarding]) {
            const object = regarding && latest(keyOfObject(regarding.object));
            if (!object) return [];
            const report = failureReport(object, failure);
            show(keyOfObject(object), numbersOf(report, object));
            return [report];
          },
          finalizer: {
            name: eventingAuthFinalizer,
            // What is not served gets none, and is let go with the one that it has.
            of: ({ observation: { object, refusal } }) => (!refusal || isBeingDeleted(object) ? { kind: EventingAuth, object } : undefined),
            added(observed, metadata) {
              const object = { ...observed.observation.object, metadata };
              written.set(keyOfObject(object), object);
              return { ...observed, observation: { ...observed.observation, object } };
            },
          },
          show(key, shown) {
            if (!shown) {
              written.delete(key);
              // In the next term the first run has to look, or nothing would be shown until it is time again.
              idleKeys.forget(key);
              return show(key, undefined);
            }
            const { plan, observed } = shown;
            if (!plan.end) return;
            const { object } = observed.observation;
            const { complete, report } = plan.end;
            if (report) show(key, numbersOf(report, object, observed.observation));
            if (!complete) return idleKeys.forget(key);
            idleKeys.record(key, observed, { untilMs: plan.nextAtMs ?? 0, status: report ? statusOf(report, object, 0) : object.status });
          },
        },
        {
          reasons: eventingAuthReasons,
          leaves(key, nowMs) {
            const object = watches.objects.get(key);
            const serving = object && servingFor(object.metadata, selects, nowMs);
            if (!object || !serving || serving.type === "served") return undefined;
            if (serving.type === "paused") return { type: "paused", status: [pausedReport(object, serving)], untilMs: serving.untilMs };
            const runtime = runtimeOf(settings, key);
            if (runtime !== undefined) pool.close(runtime);
            numbers.targets.set(pool.size);
            return serving;
          },
          // What is made for the first time is watched by people, and a creation that failed is not tried again for a minute: they hear why at once.
          toleratedMs: (objects) => (objects.some(({ object }) => findCondition(object.status?.conditions, "Ready")?.status === "True") ? 5_000 : 0),
        },
      );
      const { failed } = reconcile;
      return Object.assign((run: Run) => (run.key === censusKey ? takeCensus(run) : reconcile(run)), failed && { failed });
    },
  };
}

/** What a run may take at least, whatever the flags say. */
const minDeadlineMs = 60_000;
/**
 * Requests that have to come together, each of which may take as long as it may: the application, the well-known document, the list of secrets, a new
 * secret, its client ID and a token, and the Secret written and read. A run that was cut between them would begin with the same ones for ever.
 */
const inOneRun = { ofProvider: 6, ofTarget: 2 } as const;

/** Whether a run goes on to the identity provider: not for an object that is refused, nor while the cluster is away. */
function asksProvider({ observation: { object, refusal, target } }: Pick<Observed, "observation">): boolean {
  return !refusal && (isBeingDeleted(object) || (target.type === "observed" && !target.trouble));
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

// Steps: what they are carried out with, and what they fail with.

interface StepMeans {
  readonly scope: ControllerScope;
  readonly settings: EventingAuthSettings;
  readonly numbers: Pick<EventingAuthMetrics, "issued">;
  readonly askedAt: Map<string, number>;
  readonly unheardAt: Map<string, number>;
  readonly written: Map<ObjectKey, Stored<EventingAuth>>;
  readonly watches: Pick<IssuingWatches, "objects">;
  readonly tenantCheck: TenantCheck;
}

/** Makes the context of each step. */
function stepContexts({
  scope,
  settings,
  numbers,
  askedAt,
  unheardAt,
  written,
  watches,
  tenantCheck,
}: StepMeans): (observed: Observed, run: Run, nowMs: number) => StepContext {
  return ({ observation, provider, target, shared }, run, nowMs) => {
    const { uid } = observation.object.metadata;
    return {
      run,
      nowMs,
      controller: name,
      provider,
      target: target && { client: target.clientFor(run.permit), wrote: (...written) => target.wrote(...written) },
      shared: shared ?? sharedBySteps(observation, scope, settings),
      record({ type, reason, message }) {
        scope.events.record({ kind: EventingAuth, object: { ...nameOf(run.key), uid }, type, reason, message });
      },
      onWritten: (object) => written.set(run.key, object),
      onIssued: (why) => numbers.issued.inc({ why }),
      lookForOthers() {
        const others = [...watches.objects.entries()].flatMap(([key, { metadata, status }]) => {
          if (key === run.key || status?.iasApplication === undefined || runtimeOf(settings, key) === undefined) return [];
          const owner = { kind: EventingAuth, name: nameOf(key) };
          return [{ id: status.iasApplication.uuid, name: metadata.name, uid: metadata.uid, grants: grantsOf(owner, scope, settings) }];
        });
        return provider ? tenantCheck.lookFor(others, provider, run.signal) : Promise.resolve({ asked: 0, missing: 0 });
      },
      onAsked(atMs) {
        if (atMs === undefined) {
          askedAt.delete(uid);
          return;
        }
        note(askedAt, { uid, atMs, untilMs: atMs - settings.shownWithinMs });
      },
      onUnheard: (atMs) => note(unheardAt, { uid, atMs, untilMs: atMs - settings.shownWithinMs }),
    };
  };
}

/** Keeps when something was done for an object, and forgets what was done long ago. */
function note(times: Map<string, number>, { uid, atMs, untilMs }: { readonly uid: string; readonly atMs: number; readonly untilMs: number }): void {
  for (const [other, beforeMs] of times) if (beforeMs <= untilMs) times.delete(other);
  times.set(uid, atMs);
}

function sharedBySteps(observation: Observation, scope: ControllerScope, settings: EventingAuthSettings): SharedBySteps {
  return { grants: grantsOf(ownerOfObservation(observation), scope, settings), hasAsked: false, firstSecret: undefined };
}

function grantsOf(owner: Owner, { client }: ControllerScope, { providerSecret }: EventingAuthSettings): SharedBySteps["grants"] {
  return grantKeeper({ client, owner, namespace: providerSecret.namespace, controller: name });
}

const identityProviderFailed = "IdentityProviderFailed";
const targetFailed = "TargetFailed";
/** A right at the identity provider may be given at any time, which cannot be watched. */
const terminalRetryMs = 300_000;

async function stepOn(
  observed: Observed,
  context: StepContext,
  carryOut: (observation: Observation, context: StepContext) => Promise<Observation>,
): Promise<Observed> {
  try {
    return { ...observed, observation: await carryOut(observed.observation, context), shared: context.shared };
  } catch (cause) {
    if (cause instanceof TargetError) throw new TransientError(cause.message, { reason: targetFailed, cause });
    if (!(cause instanceof IdentityError)) throw cause;
    const { message, code, retryAfterMs } = cause;
    const options = { reason: identityProviderFailed, cause, ...(retryAfterMs !== undefined && { retryAfterMs }) };
    throw code === "Transient" ? new TransientError(message, options) : new TerminalError(message, { retryAfterMs: terminalRetryMs, ...options });
  }
}

// Failures, in the predecessor's words where it has them.

/** What the object says of a failed run. */
export function failureReport(object: Stored<EventingAuth>, failure: Pick<Failure, "reason" | "message">): EventingAuthReport {
  const reports = failureReports(failure);
  const blocker = [reports.blocker, reports.application, reports.secret].find((report) => report !== undefined);
  return reportOf(object, isBeingDeleted(object) && blocker ? { ...reports, blocker: { ...blocker, reason: "DeletionWaiting" } } : reports);
}

function failureReports({ reason, message }: Pick<Failure, "reason" | "message">): ConditionReports {
  if (reason === identityProviderFailed) return { application: applicationFailed(message) };
  if (reason === targetFailed) return { secret: secretFailed(message) };
  const isOurs = reason === "InternalError" || reason === "DeadlineExceeded";
  const blocker: ConditionReport = { holds: false, reason: isOurs ? reason : "ControlPlaneRefused", message };
  return { blocker };
}

function numbersOf({ conditions, fields }: EventingAuthReport, object: Stored<EventingAuth>, observation?: Observation): ObjectNumbers {
  const type = "TargetReachable";
  const reachable = conditions[type] ?? findCondition(object.status?.conditions, type);
  const target = observation?.target;
  return {
    ready: fields.state === "Ready",
    reachable: reachable?.status === "True",
    issuedAtMs: target?.type === "observed" ? target.secret?.issuedAtMs : undefined,
  };
}
