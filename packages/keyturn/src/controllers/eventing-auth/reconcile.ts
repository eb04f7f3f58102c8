// The issuing controller: observe, decide the next step, carry it out, until there is nothing more to do.
import { addFinalizer, type ControllerDefinition, type ControllerScope, createHttpTransport, isBeingDeleted, type Run } from "@keyturn/runtime";
import { keyturn } from "../../operator-identity.ts";
import { afterPause, attentionTo, type Selects } from "../attention.ts";
import { issuingAccess } from "./access.ts";
import { EventingAuth, eventingAuthFinalizer } from "./api.ts";
import { carryOutAct, carryOutLook } from "./carry-out-step.ts";
import { planDeletionStep } from "./deletion-plan.ts";
import { grantKeeper } from "./grant-keeper.ts";
import { IdentityProviders, type IdentityProvidersOptions } from "./identity/identity-providers.ts";
import { eventingAuthNumbers, type ObjectNumbers } from "./metrics.ts";
import type { Observation } from "./observation.ts";
import { ownerOfObservation } from "./observation.ts";
import { type Observed, observeEventingAuth } from "./observe.ts";
import { planStep } from "./plan.ts";
import { Reporting } from "./reporting.ts";
import { SettledKeys } from "./settled-keys.ts";
import { type EventingAuthSettings, keyOfRuntime, runtimeOf } from "./settings.ts";
import type { StepContext } from "./step-context.ts";
import type { Rest } from "./step.ts";
import { TargetPool } from "./target-pool.ts";
import { watchIssuing } from "./watches.ts";

/** How the controller is made. */
export interface IssuingOptions {
  /** Which EventingAuths are looked after. */
  readonly selects: Selects;
  readonly settings: EventingAuthSettings;
  readonly provider: Omit<IdentityProvidersOptions, "clock" | "random" | "observe">;
}

const name = "eventing-auth";
/** More than any way from nothing to done has. */
const mostSteps = 32;

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
        observe({ step, status, durationMs }) {
          numbers.requests.inc({ step, code: status === undefined ? "<error>" : String(status) });
          numbers.durations.observe({ step }, durationMs / 1000);
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
      const settled = new SettledKeys({ clock, random, checkEveryMs: settings.checkEveryMs });
      const show = scope.show<ObjectNumbers>({
        show: (key, shown) => numbers.objects.show(key, shown),
        hide(key) {
          numbers.objects.hide(key);
          // In the next term the first run has to look, or nothing would be shown until it is time again.
          settled.forget(key);
        },
      });
      const reporting = new Reporting({ scope, controller: name, numbers, show, settings });

      return async (run) => {
        const object = watches.objects.get(run.key);
        const attention = object && attentionTo(object.metadata, selects, run.now);
        if (object && attention?.type === "paused") {
          settled.forget(run.key);
          await reporting.paused(object, attention, run);
          return afterPause(attention, run.now);
        }
        const isServed = attention?.type === "served";
        const observed = isServed ? await observeEventingAuth(run, { watches, settings, pool, providers }) : undefined;
        numbers.targets.set(pool.size);
        if (!observed) {
          const runtime = runtimeOf(settings, run.key);
          if (runtime !== undefined) pool.close(runtime);
          settled.forget(run.key);
          return reporting.forget(run.key);
        }
        const waitMs = settled.waitFor(run.key, observed);
        if (waitMs !== undefined) return { requeueAfterMs: waitMs };
        const reached = await stepUntilRest(run, observed, { scope, settings, reporting });
        if (!reached) return;
        return settled.settle(run.key, { ...observed, observation: reached.observation }, { rest: reached.rest, nowMs: run.now });
      };
    },
  };
}

interface Work {
  readonly scope: ControllerScope;
  readonly settings: EventingAuthSettings;
  readonly reporting: Reporting;
}

/** Goes on until there is nothing more to do, and reports. Resolves to undefined if the object was let go, or nothing may be changed. */
async function stepUntilRest(
  run: Run,
  { observation: first, provider, target }: Observed,
  { scope, settings, reporting }: Work,
): Promise<{ readonly observation: Observation; readonly rest: Rest } | undefined> {
  let observation = first;
  const deleting = isBeingDeleted(first.object);
  const context: StepContext = {
    run,
    scope,
    controller: name,
    provider,
    target,
    grants: grantKeeper({ client: scope.client, owner: ownerOfObservation(first), namespace: settings.providerSecret.namespace, controller: name }),
    notify: (notice) => reporting.notify(observation.object, notice),
    onWritten: (object) => (observation = { ...observation, object }),
    onIssued: (why) => reporting.issued(why),
    onAbandoned: () => reporting.abandoned(),
    firstSecret: undefined,
  };
  try {
    if (!deleting && first.isServed) {
      observation = { ...first, object: await addFinalizer(run, { kind: EventingAuth, object: first.object }, eventingAuthFinalizer) };
    }
    for (let steps = 0; steps < mostSteps; steps++) {
      const step = deleting ? planDeletionStep(observation, run.now) : planStep(observation, run.now);
      if (step.type === "rest") return { observation: await reporting.rest(observation, step, run), rest: step };
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
    throw new Error(`no rest after ${mostSteps} steps`);
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
