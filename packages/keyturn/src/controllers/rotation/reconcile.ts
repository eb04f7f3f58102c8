// The rotation controller: observe, plan, carry out. One key is one set.
import {
  type ControllerDefinition,
  type ControllerScope,
  fieldManagerOf,
  isApiError,
  keyOf,
  type Kind,
  type KubeObject,
  nameOf,
  type Outcome,
  type Run,
  TransientError,
  writeStatus,
} from "@keyturn/runtime";
import { keyturn } from "../../operator-identity.ts";
import { rotationAccess } from "./access.ts";
import { RotationTarget, type RotationTargetStatus } from "./api.ts";
import { makeWrites, RefusedTargetError } from "./carry-out.ts";
import { setMetrics } from "./metrics.ts";
import type { SetObservation } from "./observation.ts";
import { createReadMemory, type Observed, observeSet } from "./observe.ts";
import { planRotation } from "./plan.ts";
import type { RotationPlan } from "./rotation-plan.ts";
import { noticesOf, statusOf } from "./status.ts";
import { watchRotation } from "./watches.ts";

const controller = "rotation";
const fieldManager = fieldManagerOf(keyturn, controller);
/** Before something that the API server refused is tried again without anything having changed. */
const refusalMs = 300_000;

/** The controller, for the kinds that can be rotated. */
export function rotationController(kinds: readonly Kind[]): ControllerDefinition {
  return {
    name: controller,
    access: rotationAccess(kinds),
    setup(scope) {
      const watches = watchRotation(scope, kinds);
      const memory = createReadMemory();
      const metrics = setMetrics(scope.metrics);

      return async (run) => {
        const { client, signal, now } = run;
        const serverAheadMs = scope.serverAheadMs();
        const { namespace = "", name: set } = nameOf(run.key);
        const observed = await observeSet(run.key, { watches, kinds, memory, client, serverAheadMs, nowMs: now, signal });
        if (!observed) return metrics.gone({ namespace, set });
        const { observation } = observed;
        const plan = planRotation(observation, now);
        metrics.planned({ namespace, set }, observation.targets, plan);
        try {
          await makeWrites(plan, { observed, kinds, memory, client, fieldManager, signal });
        } catch (error) {
          if (error instanceof RefusedTargetError) {
            memory.refusals.set(keyOf({ namespace, name: error.target }), { message: error.message, untilMs: now + refusalMs });
            throw new TransientError(`the object of target ${error.target} was refused; the set goes on without it`, { reason: "WriteRefused", cause: error });
          }
          if (isApiError(error, "Forbidden", "Invalid", "BadRequest")) await report(refusedPlan(plan, error.message), { observed, scope, run });
          throw error;
        }
        metrics.written({ namespace, set }, plan);
        await report(plan, { observed, scope, run });
        return outcomeOf(plan, observation, now);
      };
    },
  };
}

/** A target as far as a report looks at it. */
interface Reported extends KubeObject {
  readonly status?: RotationTargetStatus;
}
const reportedKind: Kind<Reported> = RotationTarget;

/** Writes the statuses and tells what is new. */
async function report(
  plan: RotationPlan,
  { observed: { observation }, scope, run }: { readonly observed: Observed; readonly scope: ControllerScope; readonly run: Run },
): Promise<void> {
  const { namespace, targets } = observation;
  await Promise.all(
    targets.map(async (target) => {
      const { name, uid } = target;
      const status = statusOf(target, plan, run.now);
      // Told whether or not the status can be written: what happened has happened.
      for (const notice of noticesOf(target, plan, status)) scope.events.record({ kind: RotationTarget, object: { namespace, name, uid }, ...notice });
      const object = { metadata: { namespace, name, uid, resourceVersion: "" }, ...(target.status && { status: target.status }) };
      await writeStatus(run.client, { kind: reportedKind, object, status, fieldManager }, run.signal);
    }),
  );
}

/** The API server does not take the history itself, so that nothing can be moved. */
function refusedPlan(plan: RotationPlan, message: string): RotationPlan {
  return { ...plan, writes: [], standstill: { reason: "WriteRefused", message } };
}

function outcomeOf({ nextAtMs, targets }: RotationPlan, { serverAheadMs = 0 }: SetObservation, nowMs: number): Outcome {
  const isRefused = [...targets.values()].some(({ hindrance }) => hindrance?.reason === "WriteRefused");
  const dueMs = nextAtMs === undefined ? Number.POSITIVE_INFINITY : Math.max(0, nextAtMs - (nowMs + serverAheadMs));
  const afterMs = Math.min(dueMs, isRefused ? refusalMs : Number.POSITIVE_INFINITY);
  return Number.isFinite(afterMs) ? { requeueAfterMs: afterMs } : {};
}
