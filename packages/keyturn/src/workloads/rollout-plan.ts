// Which workloads are restarted now, and what every other one waits for. Pure: the operator, its dry run, the page and `keyturn plan` all use this one function.
import { type Blocker, earliest, type HeldBack } from "@keyturn/runtime";
import { maxRemembered, type Remembered, type RestartMemory } from "./restart-memory.ts";
import { type MaintenanceWindows, nextOpeningMs } from "../feature/maintenance-window.ts";
import { pauseOf } from "../feature/pause-and-selection.ts";
import type { SkipReason, WaitReason } from "./reasons.ts";
import { changesOf, covers, joinedDigest } from "./restart-digest.ts";

/** Names a workload, or something else that pods belong to. */
export interface WorkloadRef {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** `kind/namespace/name`. Two workloads of one name and different kinds are two. */
export type WorkloadId = string;

/** How the live pods compare with what new ones would get. Reasons are the inspector's. */
export type Inspection =
  | { readonly type: "current" }
  /** `digest` stands for what was expected; see `covers`. That of an inspector beside others begins with its name and a colon; only sidecars' does not. */
  | { readonly type: "outdated"; readonly reason: string; readonly message: string; readonly digest: string }
  /** `reason` is `Pending` while it will be known soon. What `lasts` is not known until somebody changes the workload or what its inspector goes by. */
  | { readonly type: "unknown"; readonly reason: string; readonly message: string; readonly lasts?: boolean };

/** True for what will not be known by waiting, so that nobody waits for it. */
export function isLasting(inspection: Inspection): boolean {
  return inspection.type === "unknown" && inspection.lasts === true;
}

/**
 * How far a workload's last change has come: `rolling` while pods are still to be replaced, `unhealthy` when all are but not all are available, `finished` otherwise.
 */
export type Progress = "rolling" | "unhealthy" | "finished";

/** A workload that the plan has to deal with: one that is not current, or that we restarted and whose rollout is not finished. */
export interface Candidate {
  readonly ref: WorkloadRef;
  readonly uid: string;
  readonly generation: number;
  readonly inspection: Inspection;
  /** The inspectors that say so, by name, each with its own word for what is wrong; empty if nothing is. */
  readonly by: Readonly<Record<string, string>>;
  readonly progress: Progress;
  /** It carries our label: we restarted it and have not seen its rollout finished. */
  readonly restarting: boolean;
  /** When anybody last restarted it by the annotation, as `RestartTimes` has it: at the latest when that was first seen. */
  readonly restartedAtMs: number | undefined;
  /** The first pod of its last change is there. */
  readonly isStarted: boolean;
  /** Whether new pods would be admitted could not be asked, so that the first new pod of the namespace has to show it. */
  readonly isUnchecked?: boolean | undefined;
  /** As many pods of its last restart are seen as it should have, so that the inspection is about those. */
  readonly replaced: boolean;
  /** What makes a restart pointless, impossible or unwanted. */
  readonly blocker: SkipReason | undefined;
  /** The annotation that pauses it, as it was written. */
  readonly paused: string | undefined;
  /** The digest of what the restart under way is to bring; with none under way, of what the last restart did not bring. */
  readonly restartedFor: string | undefined;
  /** A restart, or the end of one, that the API server did not take: until when it is not tried again. */
  readonly refused?: Blocker | undefined;
  /** Annotations in which inspectors keep what its pods were started with, as far as they are to be written. Default none. */
  readonly records?: Records | undefined;
  /** The API server did not take what was to be written there: until when it is not tried again. */
  readonly recordRefused?: Blocker | undefined;
  /** Somebody takes off what is written there: until when it is not written again. */
  readonly recordHeld?: Blocker<"RecordTakenOff"> | undefined;
  /** Parts of the digest that no workload has come through healthy yet. Default none. */
  readonly untried?: readonly string[];
  /** Of several that are due, those with the highest are first. Default 0. */
  readonly priority?: number;
}

/** Annotations by name: what is to stand there without a restart, and with one. */
export interface Records {
  readonly now: Readonly<Record<string, string>>;
  readonly withRestart: Readonly<Record<string, string>>;
}

/** How much may happen at a time. */
export interface Limits {
  /** Workloads that may be rolling at a time; 0 for no limit but `maxRemembered`. */
  readonly maxRollouts: number;
  /** Between two restarts of any workloads. */
  readonly restartDelayMs: number;
  /** Between two restarts of one workload. */
  readonly cooldownMs: number;
  /** How long a rollout may take; 0 for as long as it likes. */
  readonly rolloutTimeoutMs: number;
  /** A rollout that takes longer does not keep others from being restarted. */
  readonly continueWhenStuck: boolean;
  readonly maintenance: MaintenanceWindows;
}

/** Everything that the plan is made from. */
export interface ObservedFleet {
  readonly candidates: readonly Candidate[];
  /** Restarts under way that the API server knows of, with their time, whether or not the caches show them already. */
  readonly rolling: ReadonlyMap<WorkloadId, number | undefined>;
  /** Those that we remember having restarted and that still roll, although somebody has taken the label off. Default none. */
  readonly unlabelled?: readonly WorkloadId[] | undefined;
  /** What the operator remembers of its own restarts; undefined if it cannot: then labels and annotations are believed. */
  readonly memory?: RestartMemory | undefined;
  /** When any workload was last restarted, in whole seconds. */
  readonly lastRestartMs: number | undefined;
  /** When this process last sent a restart or had the answer to one: what is remembered of it was written down before, and either may have taken its time. */
  readonly sentMs?: number | undefined;
  /** What keeps everything from being restarted now. */
  readonly blocker?: Blocker<"ClockSkew"> | undefined;
}

/** What is decided about one workload. */
export type Decision =
  /** `digest` stands for what it is to bring. */
  | { readonly type: "restart"; readonly digest: string }
  /** Our restart of it is under way; `stuck` if it takes too long. */
  | { readonly type: "rolling"; readonly stuck: boolean }
  /** Our restart of it has come to its end; `helped` unless its pods still lack the very thing that it was restarted for. */
  | { readonly type: "finish"; readonly helped: boolean }
  | {
      readonly type: "wait";
      readonly reason: WaitReason;
      readonly untilMs: number | undefined;
      /** More than the reason. */ readonly message?: string;
    }
  | { readonly type: "skip"; readonly reason: SkipReason; /** When that ends by itself, if it does. */ readonly untilMs?: number | undefined }
  | { readonly type: "unknown"; readonly reason: string };

/** One workload and what is decided about it. */
export interface Row {
  readonly id: WorkloadId;
  readonly ref: WorkloadRef;
  /** What is wrong with its pods; undefined if nothing is, or if that is not known. */
  readonly outdated: string | undefined;
  /** The same in words, or why it is not known; empty if nothing is wrong. */
  readonly why: string;
  /** The inspectors that say so, as of the candidate. */
  readonly by: Candidate["by"];
  readonly decision: Decision;
}

/** The plan. */
interface RolloutPlan {
  /** All candidates that there is something to say about, by id. */
  readonly rows: readonly Row[];
  /** Those that nothing of their own keeps from being restarted, in the order in which they are. */
  readonly due: readonly WorkloadId[];
  /** Those of which only is to be written down what their pods were started with. */
  readonly unrecorded: readonly WorkloadId[];
  /** When time alone changes the plan; undefined if only a change of the fleet can. */
  readonly nextAtMs: number | undefined;
}

/** The annotation has whole seconds: a restart may be that much later than it says, and two within one second would be one. */
const restartTimeStepMs = 1000;

/**
 * Plans. Restarts go by health and then by id, so that every leader would choose the same: what works is moved first, and what was broken before holds
 * nobody up.
 */
export function planRollouts(fleet: ObservedFleet, limits: Limits, nowMs: number): RolloutPlan {
  const { memory } = fleet;
  const candidates = fleet.candidates
    .filter(({ inspection, restarting, ...candidate }) => inspection.type !== "current" || restarting || unwritten(candidate))
    .map((candidate) => ({ id: workloadId(candidate.ref), candidate, remembered: rememberedOf(memory, candidate) }))
    .sort((left, right) => (left.id < right.id ? -1 : 1));
  const labelled = new Map(fleet.rolling);
  for (const { id, candidate } of candidates) {
    if (isFinished(candidate)) labelled.delete(id);
    else if (candidate.restarting) labelled.set(id, candidate.restartedAtMs);
  }
  const uids = new Map(candidates.map(({ id, candidate }) => [id, candidate.uid]));
  // Anybody can write the label: only what we remember having restarted counts, and since when.
  const rolling = new Map<WorkloadId, { readonly sinceMs: number | undefined; readonly wasUnhealthy: boolean }>();
  for (const [id, sinceMs] of labelled) {
    const known = memory?.get(id);
    if (!memory) rolling.set(id, { sinceMs, wasUnhealthy: false });
    else if (known && !known.isOver && (uids.get(id) ?? known.uid) === known.uid)
      rolling.set(id, { sinceMs: known.atMs, wasUnhealthy: known.wasUnhealthy });
  }
  // Nor does it make room to take the label off; but what is late no longer holds anybody up without it.
  for (const id of fleet.unlabelled ?? []) {
    const known = memory?.get(id);
    if (known && !isLate(known.atMs, limits, nowMs)) rolling.set(id, { sinceMs: known.atMs, wasUnhealthy: known.wasUnhealthy });
  }
  const late = Array.from(rolling).filter(([, { sinceMs }]) => isLate(sinceMs, limits, nowMs));
  const stuck = new Set(late.flatMap(([id, { wasUnhealthy }]) => (wasUnhealthy ? [] : [id])));
  const stuckNamespaces = new Set(limits.continueWhenStuck ? [] : Array.from(stuck, (id) => workloadRef(id).namespace));
  const restartedFor = (id: WorkloadId): string =>
    memory?.get(id)?.restartedFor ?? candidates.find((each) => each.id === id)?.candidate.restartedFor ?? "";
  /** What it was restarted for does not make it healthy, and by now it needs something else. */
  const isSuperseded = ({ id, candidate, remembered }: (typeof candidates)[number]): boolean =>
    rolling.has(id) &&
    !isFinished(candidate) &&
    restartedFor(id) !== "" &&
    isLate(rolling.get(id)?.sinceMs, limits, nowMs) &&
    ownDecision({ ...candidate, progress: "unhealthy" }, remembered, { limits, nowMs }) === undefined;
  const superseded = new Set(candidates.flatMap((each) => (isSuperseded(each) ? [each.id] : [])));
  const pace = new Pace(fleet, limits, {
    nowMs,
    // What was broken before shows nothing of what it was restarted for.
    tried: new Set(
      Array.from(rolling).flatMap(([id, { wasUnhealthy }]) =>
        wasUnhealthy || superseded.has(id) ? [] : changesOf(workloadRef(id), restartedFor(id)),
      ),
    ),
    // What was broken before gets its time like others, and no more. What is stuck takes one room for each namespace: with all of it, one tenant would stop the fleet.
    rolling: rolling.size - late.length + stuckNamespaces.size,
    stuckNamespaces,
    startingNamespaces: new Set(
      candidates.flatMap(({ id, candidate }) => (rolling.has(id) && !candidate.isStarted ? [candidate.ref.namespace] : [])),
    ),
  });

  const decisions = new Map<WorkloadId, Decision>();
  const due: (typeof candidates)[number][] = [];
  for (const each of candidates) {
    const { id, candidate, remembered } = each;
    const { inspection } = candidate;
    const own = ((): Decision | undefined => {
      if (isFinished(candidate)) {
        // Of what is not known, nobody can say that it helped; nor is it done again for the same.
        const hadFor = [candidate.restartedFor, remembered?.restartedFor];
        const helped = inspection.type === "current" || (inspection.type === "outdated" && !hadFor.some((each) => covers(each, inspection.digest)));
        return { type: "finish", helped };
      }
      if (superseded.has(id)) return undefined;
      if (labelled.has(id)) return { type: "rolling", stuck: stuck.has(id) };
      if (inspection.type === "unknown") return { type: "unknown", reason: inspection.reason };
      const record = unwritten(candidate);
      if (inspection.type === "current" && record) return record;
      return ownDecision(candidate, remembered, { limits, nowMs });
    })();
    if (own) decisions.set(id, own);
    else due.push(each);
  }
  const isUnhealthy = ({ candidate }: (typeof due)[number]): number => Number(candidate.progress === "unhealthy");
  const priority = ({ candidate }: (typeof due)[number]): number => candidate.priority ?? 0;
  const isFirst = ({ id }: (typeof due)[number]): number => Number(superseded.has(id));
  const inOrder = due.toSorted(
    (left, right) => isFirst(right) - isFirst(left) || isUnhealthy(left) - isUnhealthy(right) || priority(right) - priority(left),
  );
  for (const { id, candidate } of inOrder) decisions.set(id, pace.next(candidate, superseded.has(id)));

  const rows = candidates.map(({ id, candidate: { ref, inspection, by } }): Row => {
    const why = inspection.type === "current" ? "" : inspection.message;
    const outdated = inspection.type === "outdated" ? inspection.reason : undefined;
    return { id, ref, outdated, why, by, decision: decisions.get(id) ?? { type: "unknown", reason: "Pending" } };
  });
  const times = [
    ...rows.map(({ decision }) => ("untilMs" in decision ? decision.untilMs : undefined)),
    ...Array.from(rolling.values(), ({ sinceMs }) =>
      sinceMs !== undefined && limits.rolloutTimeoutMs > 0 && sinceMs + limits.rolloutTimeoutMs > nowMs
        ? sinceMs + limits.rolloutTimeoutMs
        : undefined,
    ),
  ];
  const written = new Set(rows.flatMap(({ id, decision }) => (decision.type === "restart" || decision.type === "finish" ? [id] : [])));
  const isUnrecorded = ({ records, paused, ...candidate }: Candidate): boolean =>
    Object.keys(records?.now ?? {}).length > 0 && !unwritten(candidate) && !pauseOf(paused, nowMs);
  const unrecorded = fleet.candidates.flatMap((each) => (isUnrecorded(each) ? [workloadId(each.ref)] : []));
  return { rows, due: inOrder.map(({ id }) => id), unrecorded: unrecorded.filter((id) => !written.has(id)), nextAtMs: earliest(times) };
}

/** What is remembered of this very workload, if its restart took place. That is one change, and taking it back would be another. */
function rememberedOf(memory: RestartMemory | undefined, candidate: Candidate): Remembered | undefined {
  const known = memory?.get(workloadId(candidate.ref));
  if (!known || known.uid !== candidate.uid) return undefined;
  const changes = candidate.generation - known.generation;
  return changes > 1 || (changes === 1 && !isTakenBack(candidate, known)) ? known : undefined;
}

/** What its record waits for; undefined if it may be written. */
function unwritten({ recordRefused, recordHeld }: Pick<Candidate, "recordRefused" | "recordHeld">): Decision | undefined {
  if (recordRefused) return { type: "wait", reason: "RecordFailed", untilMs: recordRefused.untilMs, message: recordRefused.message };
  return recordHeld && { type: "wait", ...recordHeld, untilMs: recordHeld.untilMs };
}

/** A rollout of ours is over once all is replaced and healthy, and it is known what that has brought. Until that can be written down it counts. */
function isFinished({ restarting, progress, replaced, inspection, refused }: Candidate): boolean {
  const isKnown = inspection.type !== "unknown" || isLasting(inspection);
  return restarting && progress === "finished" && replaced && isKnown && !refused;
}

function isLate(sinceMs: number | undefined, { rolloutTimeoutMs }: Limits, nowMs: number): boolean {
  return sinceMs !== undefined && rolloutTimeoutMs > 0 && nowMs >= sinceMs + rolloutTimeoutMs;
}

/** What the workload's own state says, whatever the others do; undefined if it may be restarted as far as it is concerned. */
function ownDecision(
  candidate: Candidate,
  remembered: Remembered | undefined,
  { limits, nowMs }: { readonly limits: Limits; readonly nowMs: number },
): Decision | undefined {
  const { inspection, blocker, paused, restartedFor, progress, refused } = candidate;
  const restartedAtMs = latest(candidate.restartedAtMs, remembered?.atMs);
  // A workload that is current is among the candidates only while it is rolling.
  if (inspection.type !== "outdated") return { type: "rolling", stuck: false };
  const skip = (reason: SkipReason): Decision => ({ type: "skip", reason });
  const pause = pauseOf(paused, nowMs);
  if (pause) return { type: "skip", reason: "Paused", untilMs: pause.untilMs };
  if (blocker !== undefined) return skip(blocker);
  if (covers(restartedFor, inspection.digest)) return skip("RestartWithoutEffect");
  // For the same reason a workload is restarted once, whatever was done to its annotations since.
  if (remembered && covers(remembered.restartedFor, inspection.digest) && progress !== "rolling") {
    return skip(isTakenBack(candidate, remembered) ? "RestartTakenBack" : "RestartWithoutEffect");
  }
  if (progress === "rolling") return { type: "wait", reason: "RolloutInProgress", untilMs: undefined };
  const cooldownMs = limits.cooldownMs + restartTimeStepMs;
  if (restartedAtMs !== undefined && nowMs - restartedAtMs < cooldownMs) {
    return { type: "wait", reason: "CoolingDown", untilMs: restartedAtMs + cooldownMs };
  }
  if (refused) return { type: "wait", reason: "RestartFailed", untilMs: refused.untilMs, message: refused.message };
  return undefined;
}

/** The template no longer has the time of the restart, nor a later one. */
function isTakenBack({ restartedAtMs }: Candidate, { atMs }: Remembered): boolean {
  return restartedAtMs === undefined || restartedAtMs < Math.floor(atMs / restartTimeStepMs) * restartTimeStepMs;
}

function latest(left: number | undefined, right: number | undefined): number | undefined {
  return left === undefined ? right : right === undefined ? left : Math.max(left, right);
}

/** How many more workloads may be restarted in this run. */
class Pace {
  readonly #limits: Limits;
  readonly #nowMs: number;
  readonly #stuckNamespaces: ReadonlySet<string>;
  /** Those in which the first new pod of a restart is not there yet. */
  readonly #startingNamespaces: Set<string>;
  /** Changes that a workload which is rolling, or about to, takes first. */
  readonly #tried: Set<string>;
  #free: number;
  #halt: Decision | undefined;

  constructor(
    { lastRestartMs, sentMs = 0, memory, blocker }: ObservedFleet,
    limits: Limits,
    { nowMs, rolling, stuckNamespaces, startingNamespaces, tried }: PaceState,
  ) {
    this.#limits = limits;
    this.#nowMs = nowMs;
    this.#stuckNamespaces = stuckNamespaces;
    this.#startingNamespaces = new Set(startingNamespaces);
    this.#tried = new Set(tried);
    // What cannot be remembered could not be counted.
    this.#free = Math.min(limits.maxRollouts || Infinity, memory ? maxRemembered : Infinity) - rolling;
    const opensMs = nextOpeningMs(limits.maintenance, nowMs);
    if (blocker) this.#halt = { type: "wait", reason: blocker.reason, untilMs: blocker.untilMs, message: blocker.message };
    else if (opensMs > nowMs) this.#halt = { type: "wait", reason: "OutsideWindow", untilMs: opensMs };
    // What we remember is exact and nobody else's; what is written on workloads has whole seconds.
    else if (memory) for (const atMs of [sentMs, ...Array.from(memory.values(), (each) => each.atMs)]) this.#delayFrom(Math.min(atMs, nowMs));
    else if (lastRestartMs !== undefined) this.#delayFrom(lastRestartMs + restartTimeStepMs);
  }

  /** Decides about the next workload that is due. One that is rolling already needs no room, and it is its own rollout that is stuck. */
  next({ ref, inspection, isUnchecked, untried = [] }: Candidate, isRolling: boolean): Decision {
    const { namespace } = ref;
    const changes = changesOf(ref, joinedDigest(untried));
    // One namespace's trouble stops that namespace; the fleet stops when all of its room is taken.
    if (this.#stuckNamespaces.has(namespace) && !isRolling) return { type: "wait", reason: "RolloutStuck", untilMs: undefined };
    if (this.#halt) return this.#halt;
    if (isUnchecked && this.#startingNamespaces.has(namespace)) return { type: "wait", reason: "FirstPod", untilMs: undefined };
    if (changes.some((change) => this.#tried.has(change))) return { type: "wait", reason: "FirstHealthy", untilMs: undefined };
    if (this.#free <= 0 && !isRolling) return { type: "wait", reason: "RolloutLimit", untilMs: undefined };
    for (const change of changes) this.#tried.add(change);
    if (!isRolling) this.#free--;
    this.#startingNamespaces.add(namespace);
    this.#delayFrom(this.#nowMs);
    return { type: "restart", digest: inspection.type === "outdated" ? inspection.digest : "" };
  }

  #delayFrom(restartMs: number): void {
    const { restartDelayMs } = this.#limits;
    const untilMs = restartMs + restartDelayMs;
    const known = this.#halt && "untilMs" in this.#halt ? (this.#halt.untilMs ?? 0) : 0;
    if (restartDelayMs > 0 && untilMs > Math.max(this.#nowMs, known)) this.#halt = { type: "wait", reason: "RestartDelay", untilMs };
  }
}

/** What is under way. */
interface PaceState {
  readonly nowMs: number;
  readonly rolling: number;
  readonly stuckNamespaces: ReadonlySet<string>;
  readonly startingNamespaces: ReadonlySet<string>;
  readonly tried: ReadonlySet<string>;
}

/** The last of these restarts; one in the future was not written by our clock, and says nothing about when it was. */
export function lastOf(restartTimesMs: readonly (number | undefined)[], nowMs: number): number | undefined {
  const times = restartTimesMs.filter((time) => time !== undefined).filter((time) => time <= nowMs);
  return times.length > 0 ? times.reduce((latest, time) => Math.max(latest, time)) : undefined;
}

/** A fleet, and what has been asked since: who is rolling, how some fare right now, and that nobody could be asked about new pods. */
interface LookedAt {
  readonly fleet: ObservedFleet;
  readonly rolling: ObservedFleet["rolling"] | undefined;
  readonly fresh: ReadonlyMap<WorkloadId, { readonly candidate: Candidate | undefined }>;
  readonly isUnchecked: boolean;
}

/** What was observed, with what was looked at since in place of what caches said, and with what was refused. */
export function lookedAgain({ fleet, rolling, fresh, isUnchecked }: LookedAt, refused: ReadonlyMap<string, Blocker>): ObservedFleet {
  const candidates = fleet.candidates.flatMap((cached) => {
    const id = workloadId(cached.ref);
    const looked = fresh.get(id);
    const candidate = looked ? looked.candidate : cached;
    return candidate
      ? [{ ...candidate, isUnchecked: candidate.isUnchecked || isUnchecked, refused: refused.get(id), recordRefused: refused.get(recordPart(id)) }]
      : [];
  });
  const { memory, unlabelled, sentMs } = fleet;
  const lastMs = Array.from(rolling?.values() ?? []).reduce<number>((last, time) => Math.max(last, time ?? 0), fleet.lastRestartMs ?? 0);
  const lastRestartMs = lastMs > 0 ? lastMs : undefined;
  return { candidates, memory, unlabelled, rolling: rolling ?? fleet.rolling, lastRestartMs, sentMs };
}

// Parts of the fleet's key: each can be refused without the others.

/** The workload of a step, and what the step is made from: a refusal counts for as long as the same would be tried. */
export function partOf({ id, decision }: Row): HeldBack {
  return { part: id, input: decision.type === "restart" ? decision.digest : decision.type };
}

/** What a step is for that writes down what pods were started with: it being refused keeps no restart back. */
export function recordPart(id: WorkloadId): string {
  return `record ${id}`;
}

/** The step that a candidate waits for, whatever holds it back. */
export function wantedRestart({ ref, inspection }: Candidate): readonly HeldBack[] {
  return inspection.type === "outdated" ? [{ part: workloadId(ref), input: inspection.digest }] : [];
}

export function workloadId({ kind, namespace, name }: WorkloadRef): WorkloadId {
  return `${kind}/${namespace}/${name}`;
}

/** The inverse of `workloadId`. */
export function workloadRef(id: WorkloadId): WorkloadRef {
  const [kind = "", namespace = "", name = ""] = id.split("/");
  return { kind, namespace, name };
}
