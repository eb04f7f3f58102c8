// Which workloads are restarted now, and what every other one waits for. Pure: the operator, its dry run and `keyturn plan sidecars` all use this one function.
import { type MaintenanceWindows, nextOpeningMs } from "../../feature/maintenance-window.ts";
import { pauseOf } from "../../feature/pause-and-selection.ts";
import type { OutdatedReason } from "./injection/sidecar.ts";
import type { SkipReason, UnknownReason, WaitReason } from "./reasons.ts";

/** Names a workload, or something else that pods belong to. */
export interface WorkloadRef {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** `kind/namespace/name`. Two workloads of one name and different kinds are two. */
export type WorkloadId = string;

/** How the live pods compare with what new ones would get. */
export type Inspection =
  | { readonly type: "current" }
  /** `digest` stands for the sidecar that was expected. */
  | { readonly type: "outdated"; readonly reason: OutdatedReason; readonly message: string; readonly digest: string }
  | { readonly type: "unknown"; readonly reason: UnknownReason; readonly message: string };

/**
 * How far a workload's last change has come: `rolling` while pods are still to be replaced, `unhealthy` when all are but not all are available, `finished` otherwise.
 */
export type Progress = "rolling" | "unhealthy" | "finished";

/** A workload that the plan has to deal with: one that is not current, or that we restarted and whose rollout is not finished. */
export interface Candidate {
  readonly ref: WorkloadRef;
  readonly inspection: Inspection;
  readonly progress: Progress;
  /** It carries our label: we restarted it and have not seen its rollout finished. */
  readonly restarting: boolean;
  /** When anybody last restarted it by the annotation, as `RestartTimes` has it: at the latest when that was first seen. */
  readonly restartedAtMs: number | undefined;
  /** As many pods of its last restart are seen as it should have, so that the inspection is about those. */
  readonly replaced: boolean;
  /** What makes a restart pointless or impossible. */
  readonly blocker: SkipReason | undefined;
  /** What people have said about restarts, on the workload or else on its namespace. */
  readonly consent: "enabled" | "disabled" | undefined;
  /** The annotation that pauses it, as it was written. */
  readonly paused: string | undefined;
  /** The digest of the sidecar that the restart under way is to bring; with none under way, of the one that the last restart did not bring. */
  readonly restartedFor: string | undefined;
  /** After a restart that the API server did not take: when to try again. */
  readonly retryAtMs: number | undefined;
}

/** How much may happen at a time. */
export interface Limits {
  /** Workloads that may be rolling at a time; 0 for no limit. */
  readonly maxRollouts: number;
  /** Between two restarts of any workloads. */
  readonly restartDelayMs: number;
  /** Between two restarts of one workload. */
  readonly cooldownMs: number;
  /** How long a rollout may take; 0 for as long as it likes. */
  readonly rolloutTimeoutMs: number;
  /** A rollout that takes longer does not keep others from being restarted. */
  readonly continueWhenStuck: boolean;
  /** Only what is labelled `enabled` is restarted. */
  readonly optIn: boolean;
  readonly maintenance: MaintenanceWindows;
}

/** Everything that the plan is made from. */
export interface Fleet {
  readonly candidates: readonly Candidate[];
  /** Restarts under way that the API server knows of, with their time, whether or not the caches show them already. */
  readonly rolling: ReadonlyMap<WorkloadId, number | undefined>;
  /** When any workload was last restarted, in whole seconds. */
  readonly lastRestartMs: number | undefined;
}

/** What is decided about one workload. */
export type Decision =
  /** `digest` stands for the sidecar that it is to bring. */
  | { readonly type: "restart"; readonly digest: string }
  /** Our restart of it is under way; `stuck` if it takes too long. */
  | { readonly type: "rolling"; readonly stuck: boolean }
  /** Our restart of it has come to its end; `helped` unless its pods still lack the very sidecar that it was restarted for. */
  | { readonly type: "finish"; readonly helped: boolean }
  | { readonly type: "wait"; readonly reason: WaitReason; readonly untilMs: number | undefined }
  | { readonly type: "skip"; readonly reason: SkipReason; /** When that ends by itself, if it does. */ readonly untilMs?: number | undefined }
  | { readonly type: "unknown"; readonly reason: UnknownReason };

/** One workload and what is decided about it. */
export interface Row {
  readonly id: WorkloadId;
  readonly ref: WorkloadRef;
  /** What is wrong with its pods; undefined if nothing is, or if that is not known. */
  readonly outdated: OutdatedReason | undefined;
  /** The same in words, or why it is not known; empty if nothing is wrong. */
  readonly why: string;
  readonly decision: Decision;
}

/** The plan. */
export interface RolloutPlan {
  /** All candidates, by id. */
  readonly rows: readonly Row[];
  /** When time alone changes the plan; undefined if only a change of the fleet can. */
  readonly nextAtMs: number | undefined;
}

/** The annotation has whole seconds: a restart may be that much later than it says, and two within one second would be one. */
const restartTimeStepMs = 1000;

/** Plans. The order of restarts is that of the ids, so that every leader would choose the same. */
export function planRollouts(fleet: Fleet, limits: Limits, nowMs: number): RolloutPlan {
  const candidates = fleet.candidates
    .map((candidate) => ({ id: workloadId(candidate.ref), candidate }))
    .sort((left, right) => (left.id < right.id ? -1 : 1));
  const rolling = new Map(fleet.rolling);
  for (const { id, candidate } of candidates) {
    if (isFinished(candidate)) rolling.delete(id);
    else if (candidate.restarting) rolling.set(id, candidate.restartedAtMs);
  }
  const stuck = new Set(Array.from(rolling).flatMap(([id, sinceMs]) => (isStuck(sinceMs, limits, nowMs) ? [id] : [])));
  const pace = new Pace(fleet, limits, { nowMs, rolling: rolling.size, stuck: stuck.size });

  const rows = candidates.map(({ id, candidate }): Row => {
    const { ref, inspection } = candidate;
    const why = inspection.type === "current" ? "" : inspection.message;
    const outdated = inspection.type === "outdated" ? inspection.reason : undefined;
    const decided = (decision: Decision): Row => ({ id, ref, outdated, why, decision });
    if (isFinished(candidate))
      return decided({ type: "finish", helped: inspection.type !== "outdated" || inspection.digest !== candidate.restartedFor });
    if (rolling.has(id)) return decided({ type: "rolling", stuck: stuck.has(id) });
    if (inspection.type === "unknown") return decided({ type: "unknown", reason: inspection.reason });
    return decided(ownDecision(candidate, limits, nowMs) ?? pace.next(inspection));
  });

  const times = [
    ...rows.map(({ decision }) => ("untilMs" in decision ? decision.untilMs : undefined)),
    ...Array.from(rolling, ([id, sinceMs]) =>
      sinceMs !== undefined && !stuck.has(id) && limits.rolloutTimeoutMs > 0 ? sinceMs + limits.rolloutTimeoutMs : undefined,
    ),
  ].filter((time) => time !== undefined);
  return { rows, nextAtMs: times.length > 0 ? times.reduce((earliest, time) => Math.min(earliest, time)) : undefined };
}

/** A rollout of ours is over once all is replaced and healthy, and it is known what that has brought. */
function isFinished({ restarting, progress, replaced, inspection }: Candidate): boolean {
  return restarting && progress === "finished" && replaced && inspection.type !== "unknown";
}

function isStuck(sinceMs: number | undefined, { rolloutTimeoutMs }: Limits, nowMs: number): boolean {
  return sinceMs !== undefined && rolloutTimeoutMs > 0 && nowMs >= sinceMs + rolloutTimeoutMs;
}

/** What the workload's own state says, whatever the others do; undefined if it may be restarted as far as it is concerned. */
function ownDecision(candidate: Candidate, limits: Limits, nowMs: number): Decision | undefined {
  const { inspection, blocker, consent, paused, restartedFor, progress, restartedAtMs, retryAtMs } = candidate;
  // A workload that is current is among the candidates only while it is rolling.
  if (inspection.type !== "outdated") return { type: "rolling", stuck: false };
  const skip = (reason: SkipReason): Decision => ({ type: "skip", reason });
  const pause = pauseOf(paused, nowMs);
  if (pause) return { type: "skip", reason: "Paused", untilMs: pause.untilMs };
  if (blocker !== undefined) return skip(blocker);
  if (consent === "disabled") return skip("OptedOut");
  if (limits.optIn && consent !== "enabled") return skip("NotOptedIn");
  if (restartedFor === inspection.digest) return skip("RestartWithoutEffect");
  if (progress === "rolling") return { type: "wait", reason: "RolloutInProgress", untilMs: undefined };
  const cooldownMs = limits.cooldownMs + restartTimeStepMs;
  if (restartedAtMs !== undefined && nowMs - restartedAtMs < cooldownMs) {
    return { type: "wait", reason: "CoolingDown", untilMs: restartedAtMs + cooldownMs };
  }
  if (retryAtMs !== undefined && retryAtMs > nowMs) return { type: "wait", reason: "RestartFailed", untilMs: retryAtMs };
  return undefined;
}

/** How many more workloads may be restarted in this run. */
class Pace {
  readonly #limits: Limits;
  readonly #nowMs: number;
  #free: number;
  #halt: Decision | undefined;

  constructor(
    { lastRestartMs }: Fleet,
    limits: Limits,
    { nowMs, rolling, stuck }: { readonly nowMs: number; readonly rolling: number; readonly stuck: number },
  ) {
    this.#limits = limits;
    this.#nowMs = nowMs;
    const counted = limits.continueWhenStuck ? rolling - stuck : rolling;
    this.#free = limits.maxRollouts === 0 ? Infinity : limits.maxRollouts - counted;
    const opensMs = nextOpeningMs(limits.maintenance, nowMs);
    if (stuck > 0 && !limits.continueWhenStuck) this.#halt = { type: "wait", reason: "RolloutStuck", untilMs: undefined };
    else if (opensMs > nowMs) this.#halt = { type: "wait", reason: "OutsideWindow", untilMs: opensMs };
    else if (lastRestartMs !== undefined) this.#delayFrom(lastRestartMs + restartTimeStepMs);
  }

  /** Decides about the next workload that is due. */
  next(inspection: Candidate["inspection"]): Decision {
    if (this.#halt) return this.#halt;
    if (this.#free <= 0) return { type: "wait", reason: "RolloutLimit", untilMs: undefined };
    this.#free--;
    this.#delayFrom(this.#nowMs);
    return { type: "restart", digest: inspection.type === "outdated" ? inspection.digest : "" };
  }

  #delayFrom(restartMs: number): void {
    const { restartDelayMs } = this.#limits;
    const untilMs = restartMs + restartDelayMs;
    if (restartDelayMs > 0 && untilMs > this.#nowMs) this.#halt = { type: "wait", reason: "RestartDelay", untilMs };
  }
}

/** The last of these restarts; one in the future was not written by our clock, and says nothing about when it was. */
export function lastOf(restartTimesMs: readonly (number | undefined)[], nowMs: number): number | undefined {
  const times = restartTimesMs.filter((time) => time !== undefined).filter((time) => time <= nowMs);
  return times.length > 0 ? times.reduce((latest, time) => Math.max(latest, time)) : undefined;
}

export function workloadId({ kind, namespace, name }: WorkloadRef): WorkloadId {
  return `${kind}/${namespace}/${name}`;
}

/** The inverse of `workloadId`. */
export function workloadRef(id: WorkloadId): WorkloadRef {
  const [kind = "", namespace = "", name = ""] = id.split("/");
  return { kind, namespace, name };
}
