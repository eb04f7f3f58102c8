// The rotation controller: how a run for one set goes, what is reported, and its rights.
import {
  type AccessRule,
  type ControllerDefinition,
  type EventRecorder,
  fieldManagerOf,
  isApiError,
  keyOf,
  type Kind,
  type KubeObject,
  nameOf,
  type PlannedEvent,
  type Outcome,
  type Run,
  TransientError,
  writeStatus,
} from "@keyturn/runtime";
import { keyturn } from "../../feature/feature.ts";
import type { MaintenanceWindows } from "../../feature/maintenance-window.ts";
import type { Selects } from "../../feature/pause-and-selection.ts";
import { makeWrites, RefusedTargetError } from "./act.ts";
import { statusDigest } from "./annotations.ts";
import { RotationTarget, type RotationTargetStatus } from "./api.ts";
import { conditionEvents, statusOf, versionEvents } from "./conditions.ts";
import { DamagedRecordError } from "./history.ts";
import { numbersOf, setMetrics } from "./metrics.ts";
import { createReadMemory, observeSet, type ReadMemory, type SetObservation, type TargetObservation } from "./observe.ts";
import { planRotation, type RotationPlan } from "./plan.ts";
import { watchRotation } from "./watches.ts";

const controller = "rotation";
const fieldManager = fieldManagerOf(keyturn, controller);
/** Before something that the API server refused is tried again without anything having changed. */
const refusalMs = 300_000;

/** How the controller works. */
interface RotationOptions {
  /** What can be rotated. */
  readonly kinds: readonly Kind[];
  /** Which targets are looked after. */
  readonly selects: Selects;
  /** When contents may move. */
  readonly maintenance: MaintenanceWindows;
}

/** The controller. */
export function rotationController({ kinds, selects, maintenance }: RotationOptions): ControllerDefinition {
  return {
    name: controller,
    access: rotationAccess(kinds),
    setup(scope) {
      const watches = watchRotation(scope, kinds, selects);
      const memory = createReadMemory();
      const metrics = setMetrics(scope.metrics);
      const show = scope.show(metrics);

      return async (run) => {
        const { client, signal, now } = run;
        const serverAheadMs = scope.serverAheadMs();
        const { namespace = "" } = nameOf(run.key);
        const observed = await observeSet(run.key, { watches, kinds, maintenance, memory, client, serverAheadMs, nowMs: now, signal });
        if (!observed) return show(run.key, undefined);
        const { observation } = observed;
        const reporting = { observation, memory, events: scope.events, run };
        const plan = planRotation(observation, now);
        show(run.key, numbersOf(plan));
        try {
          // What a dry run writes is nowhere to be found intact later.
          await makeWrites(plan, { observed, kinds, memory: scope.dryRun ? createReadMemory() : memory, client, fieldManager, signal });
        } catch (error) {
          // In a dry run later writes may need what earlier ones were to leave, and the server cannot check them.
          if (scope.dryRun && isApiError(error, "NotFound", "AlreadyExists")) return {};
          if (error instanceof RefusedTargetError) {
            memory.refusals.set(keyOf({ namespace, name: error.target }), { message: error.message, untilMs: now + refusalMs });
            throw new TransientError(`the object of target ${error.target} was refused; the set goes on without it`, {
              reason: "WriteRefused",
              cause: error,
            });
          }
          if (isApiError(error, "Forbidden", "Invalid", "BadRequest")) await report(refusedPlan(plan, error.message), reporting);
          if (error instanceof DamagedRecordError) {
            const halted = planRotation({ ...observation, damage: error.message }, now);
            show(run.key, numbersOf(halted));
            await report({ ...halted, writes: [] }, reporting);
          }
          throw error;
        }
        if (!scope.dryRun) metrics.written(run.key, plan);
        await report(plan, reporting);
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

interface ReportContext {
  readonly observation: SetObservation;
  readonly memory: ReadMemory;
  readonly events: EventRecorder;
  readonly run: Run;
}

/** Writes the statuses that say something new, and records what that is. */
async function report(plan: RotationPlan, context: ReportContext): Promise<void> {
  const { targets } = context.observation;
  const reported = targets.filter(({ blocker }) => blocker?.reason !== "NotSelected");
  await Promise.all(reported.map((target) => reportTarget(target, plan, context)));
}

async function reportTarget(target: TargetObservation, plan: RotationPlan, { observation, memory, events, run }: ReportContext): Promise<void> {
  const { namespace } = observation;
  const { name, uid } = target;
  const record = (event: PlannedEvent): void => events.record({ kind: RotationTarget, object: { namespace, name, uid }, ...event });
  // Recorded whether or not the status can be written: what happened has happened.
  versionEvents(target, plan).forEach(record);
  if (statusDigest(statusOf(target, plan, { before: undefined, nowMs: run.now })) === target.statusDigest) return;
  const remembered = memory.statuses.get(uid);
  const isCurrent = remembered && statusDigest(remembered) === target.statusDigest;
  const before =
    target.statusDigest === undefined
      ? undefined
      : isCurrent
        ? remembered
        : (await run.client.get(reportedKind, { namespace, name }, run.signal))?.status;
  const status = statusOf(target, plan, { before, nowMs: run.now });
  const object = { metadata: { namespace, name, uid, resourceVersion: "" }, ...(before && { status: before }) };
  await writeStatus(run, { kind: reportedKind, object, status, fieldManager });
  memory.statuses.set(uid, status);
  conditionEvents(before, status).forEach(record);
}

/** The API server does not take the history itself, so that nothing can be moved. */
function refusedPlan(plan: RotationPlan, message: string): RotationPlan {
  return { ...plan, writes: [], setBlocker: { reason: "WriteRefused", message } };
}

function outcomeOf({ nextAtMs, targets }: RotationPlan, { serverAheadMs = 0 }: SetObservation, nowMs: number): Outcome {
  const isRefused = [...targets.values()].some(({ blocker }) => blocker?.reason === "WriteRefused");
  const dueMs = nextAtMs === undefined ? Number.POSITIVE_INFINITY : Math.max(0, nextAtMs - (nowMs + serverAheadMs));
  const afterMs = Math.min(dueMs, isRefused ? refusalMs : Number.POSITIVE_INFINITY);
  return Number.isFinite(afterMs) ? { requeueAfterMs: afterMs } : {};
}

// Every right that the rotation controller needs for the kinds that it rotates.

function rotationAccess(kinds: readonly Kind[]): readonly AccessRule[] {
  return [
    { kind: RotationTarget, verbs: ["get", "list", "watch"], why: "to know the targets" },
    { kind: RotationTarget, subresource: "status", verbs: ["patch"], why: "to report" },
    ...kinds.map((kind): AccessRule => {
      const isHistory = kind.group === "" && kind.plural === "secrets";
      return {
        kind,
        verbs: ["get", "list", "watch", "create", "update", "patch", "delete"],
        why: isHistory
          ? "to read sources, to write targets, and to keep the history; only metadata is watched"
          : "to read sources and to write targets; only metadata is watched",
      };
    }),
  ];
}
