// The rotation controller: what a set is planned from, how the plan becomes steps, what is reported, and its rights. One key is one set.
import {
  type AccessRule,
  type BackoffOptions,
  type ControllerDefinition,
  earliest,
  fieldManagerOf,
  installationKeyAccess,
  type Kind,
  type Moment,
  nameOf,
  type ObjectKey,
  type Plan,
  reconcileWith,
  RepeatBackoff,
  type StatusObject,
  type Step,
} from "@keyturn/runtime";
import { keyturn } from "../../feature/feature.ts";
import type { MaintenanceWindows } from "../../feature/maintenance-window.ts";
import type { Selects } from "../../feature/pause-and-selection.ts";
import { type SetAction, SetWriter } from "./act.ts";
import { RotationTarget } from "./api.ts";
import type { SetBlocker } from "./blockers.ts";
import { failedReport, isUnknown, reportOf, statusObjectOf, versionEvent } from "./conditions.ts";
import { numbersOf, setMetrics } from "./metrics.ts";
import { createReadMemory, type Observed, observeSet, type SetObservation, type TargetObservation } from "./observe.ts";
import { planRotation, type RotationPlan, type RotationWrite } from "./plan.ts";
import { type ConditionReason, rotationReasons } from "./reasons.ts";
import { type Seal, sealOf, shownDigest } from "./seal.ts";
import { JWKSConfig, type RotationWatches, setKey, watchRotation } from "./watches.ts";

const controller = "rotation";
const fieldManager = fieldManagerOf(keyturn, controller);
/** Long, because a try reads contents for nothing, and quotas, webhooks and rights are seldom changed within minutes. */
const refusalBackoff: BackoffOptions = { firstMs: 120_000, maxMs: 300_000, spread: 0.2 };

/** How the controller works. */
interface RotationOptions {
  /** What can be rotated. */
  readonly kinds: readonly Kind[];
  /** Which targets are looked after. */
  readonly selects: Selects;
  /** When contents may move. */
  readonly maintenance: MaintenanceWindows;
}

/** What is observed of a set, and what makes its writes: contents are nowhere else. */
interface ObservedSet extends Observed {
  readonly writer: SetWriter;
  readonly seal: Seal | undefined;
  /** How often the source had changed since the look before. */
  readonly changes: number;
}

interface SetPlan extends Plan<never, SetAction> {
  readonly rotation: RotationPlan;
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
      const repeats = new RepeatBackoff(scope.clock, scope.random);
      return reconcileWith<ObservedSet, never, SetAction, SetPlan>(
        scope,
        {
          async observe(run, nowMs) {
            const key = await scope.installationKey(run.signal);
            const seal = key && sealOf(key);
            const changes = watches.looked.changesOf(run.key);
            const observed = await observeSet(run.key, { watches, kinds, maintenance, memory, seal, isFirstLook: changes > 1, nowMs, run });
            return observed && { ...observed, seal, changes, writer: new SetWriter({ observed, kinds, memory, fieldManager, seal, run }) };
          },
          plan: ({ observation, seal }, moment) =>
            withoutRepeats(planSet(observation, moment, seal), setKey(observation.namespace, observation.set), repeats, moment.nowMs),
          async act(action, set) {
            await set.writer.make(action);
            return set;
          },
          done(step, { key }) {
            if (step.verb !== "do") return;
            if (step.action.verb === "writeTarget") metrics.written(key, step.action);
            if (isOwnersNote(step.action)) repeats.written(`${key} ${step.action.seq}`, step.action.owners.join());
          },
          regarding: (key) => targetsOf(watches, key),
          failed: (failure, targets) => targets.map((target) => failedReport(target, failure)),
          completed({ observation, changes }, { key }) {
            if (observation.unwatched.length === 0) watches.looked.looked(key, changes);
          },
          show(key, shown) {
            if (!shown) watches.looked.forget(key);
            const numbers = shown && numbersOf(shown.plan.rotation);
            if (numbers) metrics.show(key, numbers);
            else metrics.hide(key);
          },
        },
        { reasons: rotationReasons, refusedPartBackoff: refusalBackoff },
      );
    },
  };
}

/** The targets of a set that tell how it fares. */
function targetsOf({ targets }: RotationWatches, key: ObjectKey): readonly StatusObject[] {
  const { namespace = "" } = nameOf(key);
  return targets.byIndex("set", key).flatMap((targetKey) => {
    const target = targets.get(targetKey);
    if (!target?.isSelected || target.isLeaving) return [];
    return [statusObjectOf(namespace, { ...target, name: nameOf(targetKey).name }, targets.identity(targetKey)?.resourceVersion)];
  });
}

/** Parts of a set beside its targets, which have no such names: without a history nothing moves, and without tidying up everything does. */
const historyPart = "the history";
const oldRecordsPart = "old records";

/** Each target is a part: what is refused for one holds up that one, and those that wait for it. */
function planSet(observation: SetObservation, { nowMs, clockSkew, refused }: Moment, seal: Seal | undefined): SetPlan {
  const { namespace, set } = observation;
  const shown = seal && ((version: { readonly seq: number; readonly digest: string }): string => shownDigest(seal, setKey(namespace, set), version));
  const refusal = refused.get(historyPart) ?? refused.get(oldRecordsPart);
  const refusedSet: SetBlocker | undefined = refusal && { reason: "WriteRefused", message: refusal.message };
  const planned = planRotation(withRefusals(observation, refused), nowMs, clockSkew ?? (refused.has(historyPart) ? refusedSet : undefined));
  const isHeldUp = planned.setBlocker !== undefined && planned.setBlocker.reason !== "NoSource";
  const rotation = refusedSet && !isHeldUp ? { ...planned, setBlocker: refusedSet } : planned;
  const versionOf = ({ resourceVersion }: TargetObservation): string | undefined => (isUnknown(rotation.setBlocker) ? resourceVersion : undefined);
  const objects = new Map(observation.targets.map((target) => [target.name, statusObjectOf(namespace, target, versionOf(target))] as const));
  return {
    steps: rotation.writes.map((write) => stepOf(write, rotation, objects)).filter(({ part }) => !refused.has(part)),
    status: observation.targets.flatMap(({ name, blocker }) => {
      const [object, schedule] = [objects.get(name), rotation.targets.get(name)];
      return object && schedule && blocker?.reason !== "NotSelected" ? [reportOf(object, schedule, rotation, shown)] : [];
    }),
    nextAtMs: rotation.nextAtMs,
    rotation,
  };
}

function isOwnersNote(action: SetAction): action is SetAction & { readonly verb: "noteRecord" } {
  return action.verb === "noteRecord" && action.log === undefined;
}

/** Two leaders of which one has not heard of a target made again do not agree about the owners of records. With other steps a note goes ahead: they build on it. */
function withoutRepeats(plan: SetPlan, key: ObjectKey, repeats: RepeatBackoff, nowMs: number): SetPlan {
  const notes = plan.steps.flatMap((step) => (step.verb === "do" && isOwnersNote(step.action) ? [step.action] : []));
  if (notes.length < plan.steps.length) return plan;
  const waits = notes.map(({ seq, owners }) => repeats.waitMs(`${key} ${seq}`, owners.join()));
  const leastMs = earliest(waits.filter((each) => each > 0));
  if (leastMs === undefined) return plan;
  return { ...plan, steps: plan.steps.filter((_, index) => waits[index] === 0), nextAtMs: earliest([plan.nextAtMs, nowMs + leastMs]) };
}

/** A version's record that cannot be read stops the whole set; anything else that is refused for a target stops that one. */
function withRefusals(observation: SetObservation, refused: Moment["refused"]): SetObservation {
  if (refused.size === 0) return observation;
  const damage = [...refused.values()].find(({ reason }) => reason === ("HistoryDamaged" satisfies ConditionReason))?.message;
  if (damage !== undefined) return { ...observation, damage };
  const targets = observation.targets.map((target) => {
    const message = refused.get(target.name)?.message;
    return message === undefined || target.blocker ? target : { ...target, blocker: { reason: "WriteRefused", message } as const };
  });
  return { ...observation, targets };
}

function stepOf(
  write: RotationWrite,
  rotation: RotationPlan,
  objects: ReadonlyMap<string, StatusObject>,
): Step<never, SetAction> & { readonly part: string } {
  const input = inputOf(write);
  if (!("target" in write)) return { verb: "do", action: write, part: "log" in write && write.log ? historyPart : oldRecordsPart, input };
  const { target: part } = write;
  const regarding = objects.get(part);
  const event = versionEvent(write, rotation);
  const moves = write.verb === "writeTarget" && rotation.targets.get(part)?.restored === false;
  const action = moves ? { ...write, moves } : write;
  return { verb: "do", action, part, input, ...(event && regarding && { events: [{ regarding, ...event }] }) };
}

/** What a write is made from, but for times, which are others in every run. */
function inputOf(write: RotationWrite): string {
  const { verb } = write;
  if (verb === "writeTarget") return JSON.stringify({ ...write, atMs: undefined });
  if (verb === "createRecord") return JSON.stringify({ verb, seq: write.seq, digest: write.digest, watchDigest: write.watchDigest });
  return verb === "deleteTarget" ? JSON.stringify(write) : `${verb} ${write.seq}`;
}

// Every right that the rotation controller needs for the kinds that it rotates.

function rotationAccess(kinds: readonly Kind[]): readonly AccessRule[] {
  return [
    { kind: RotationTarget, verbs: ["get", "list", "watch"], why: "to know the targets" },
    { kind: JWKSConfig, verbs: ["list", "watch"], why: "to know which keys are published, for targets that wait for that" },
    { kind: RotationTarget, subresource: "status", verbs: ["patch"], why: "to report" },
    ...installationKeyAccess(keyturn),
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
