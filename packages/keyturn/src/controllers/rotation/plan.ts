// What is to be done for one set: a pure function of what was observed and the time. The rules of the chain are in rules.ts, those of the source in source.ts.
import { earliest } from "@keyturn/runtime";
import { nextOpeningMs } from "../../feature/maintenance-window.ts";
import { logNote, ownersNote, preconditionOf, recordOwners, targetWrites, type Wanted } from "./act.ts";
import { highestVersion } from "./api.ts";
import {
  blockersOf,
  damageOf,
  endOfBlockers,
  lostBlocker,
  pauseEnds,
  type SetBlocker,
  setBlockerOf,
  unknownBlocker,
  usedUpBlocker,
  withoutPastPauses,
} from "./blockers.ts";
import {
  type Commit,
  commitsOfObjects,
  type ContentOrigin,
  headRecord,
  heldBy,
  latestTimeOf,
  lostVersions,
  type Recoverable,
  recoverableVersions,
  repairedLog,
  type RotationLog,
  writtenMs,
} from "./history.ts";
import type { Blocker, RecordObservation, SetObservation, SourceObservation, TargetObservation } from "./observe.ts";
import { publicationTimes, type Unpublished, unpublishedOf, withoutPublication } from "./publish-before.ts";
import {
  type ChainInput,
  heldBackMs,
  isIntact,
  isRetaining,
  pendingOf,
  removalTimes,
  retained,
  sweep,
  trimmed,
  unstableAtMs,
  type Version,
  withDeparture,
  withOwnVersions,
} from "./rules.ts";
import { forgottenShape, gapMsOf, type Rank, ranksOf, settlesAtMs, withShape } from "./shape.ts";
import { firstStep, nextFree, observedSourceOf, type ObservedSource, stepSource } from "./source.ts";

/** Which state of an object a write is meant for; on any other it fails and changes nothing. */
export interface Precondition {
  readonly uid: string;
  readonly resourceVersion: string;
}

/** One change to the cluster. Every write is on its own: a crash may come between any two. */
export type RotationWrite =
  /** Creates the record of a version that the source has just become; fails if its name is taken. */
  | (Version & {
      readonly verb: "createRecord";
      readonly log: RotationLog;
      /** uids of the targets that own it. */
      readonly owners: readonly string[];
    })
  /** Creates the record of a version anew, because it was lost, from what still has its content. */
  | (Version & {
      readonly verb: "rebuildRecord";
      readonly from: ContentOrigin;
      readonly log: RotationLog;
      readonly owners: readonly string[];
    })
  /** Replaces what is noted with a record; `log` absent leaves it. */
  | {
      readonly verb: "noteRecord";
      readonly seq: number;
      /** Absent if the record was made, or noted, earlier in the same plan. */
      readonly precondition: Precondition | undefined;
      readonly log: RotationLog | undefined;
      readonly owners: readonly string[];
    }
  /** Deletes a record. No precondition if it was noted earlier in the same plan. */
  | { readonly verb: "deleteRecord"; readonly seq: number; readonly precondition: Precondition | undefined }
  /** Gives a target's object the content of a version, together with the annotations that say so. Creates it if there is no precondition. */
  | {
      readonly verb: "writeTarget";
      readonly target: string;
      readonly resource: string;
      readonly objectName: string;
      readonly seq: number;
      readonly digest: string;
      readonly atMs: number;
      readonly ownedByTarget: boolean;
      readonly precondition: Precondition | undefined;
    }
  | {
      readonly verb: "deleteTarget";
      readonly target: string;
      readonly resource: string;
      readonly objectName: string;
      readonly precondition: Precondition;
    };

/** A version that a target is to get. */
export interface PendingStep {
  readonly seq: number;
  /** If nothing changes until then. */
  readonly notBeforeMs: number;
  /**
   * Settling: the source must stay as it is until then. Following: the content moves up from the target before. OutsideWindow: no maintenance window is open
   * when it would be due. SetChanged: targets were added, removed or given another order, and that must hold for a while. Retaining: no other target has what
   * this one holds, and it must be kept for the further delays. Publishing: its key has not been published for long enough.
   */
  readonly reason: "Settling" | "Following" | "OutsideWindow" | "SetChanged" | "Retaining" | "Publishing";
}

/** How one target stands when the writes are made. */
export interface TargetSchedule {
  readonly rank: number;
  /** The version that it holds; absent if it has none. */
  readonly held: { readonly seq: number; readonly digest: string; readonly atMs: number } | undefined;
  /** The version that it held before, if this very plan gives it another. */
  readonly replaced: number | undefined;
  /** Its object was not as it should be and is written anew, without a new version. */
  readonly restored: boolean;
  /** Holds a version of another rank because there is none of its own. */
  readonly backfilled: boolean;
  readonly pending: PendingStep | undefined;
  /** Why its object cannot be written. */
  readonly blocker: Blocker | undefined;
  /** It is to move on, and cannot before another target has taken what it holds. */
  readonly isRetaining: boolean;
  /** A version that it would have now if its key had been published for long enough. */
  readonly unpublished: Unpublished | undefined;
  /** How long a version is in no target at all on its way here; 0 if never. */
  readonly gapMs: number;
  /** The object is deleted with its source, now or before. */
  readonly removed: boolean;
}

/** The writes in the order in which they are to be made, and how the set then stands. */
export interface RotationPlan {
  readonly writes: readonly RotationWrite[];
  /** By name. */
  readonly targets: ReadonlyMap<string, TargetSchedule>;
  readonly setBlocker: SetBlocker | undefined;
  /** The source, if there is exactly one. */
  readonly source: SourceObservation | undefined;
  /** The set's policies contradict each other, and Settled is used. */
  readonly policyConflict: boolean;
  /** Since when the source has been another than what is live without ever staying long enough. */
  readonly unstableSinceMs: number | undefined;
  /** The set has been changed, and that counts from then on; until then nothing moves. */
  readonly settlesAtMs: number | undefined;
  /** Time of the API server at which time alone changes the plan. */
  readonly nextAtMs: number | undefined;
}

/**
 * The plan for a set. Carried out in order, and begun anew after any of its writes, it comes to the same end.
 * The time is the API server's. `outerBlocker` is what holds the set up beside all that is observed: a clock that is not believed, a history that cannot
 * be written.
 */
export function planRotation(observed: SetObservation, nowMs: number, outerBlocker?: SetBlocker): RotationPlan {
  const observation = withoutPastPauses(observed, nowMs);
  const { targets, sources } = observation;
  const policies = new Set(targets.map(({ changePolicy }) => changePolicy));
  const world: World = {
    observation,
    records: observation.records.toSorted((a, b) => a.seq - b.seq),
    ranks: ranksOf(targets),
    observedSource: observedSourceOf(observation),
    blockers: blockersOf(targets, sources),
    policy: policies.size === 1 && policies.has("Queue") ? "Queue" : "Settled",
    policyConflict: policies.size > 1,
  };
  const setBlocker = setBlockerOf(observation, nowMs, outerBlocker);
  if (setBlocker) {
    const plan = blockedPlan(world, setBlocker);
    // What targets hold may be known only from what cannot be read, so nothing is put back either.
    return setBlocker.reason === "KindNotWatched" || damageOf(observation, nowMs) !== undefined ? { ...plan, writes: [] } : plan;
  }
  const noted = noteSource(world, nowMs);
  if (!noted) return blockedPlan(world, sourceBlocker(world.observedSource));
  // A record beyond the last number would not be known as one, and be made again in every run.
  if ((noted.versions.at(-1)?.seq ?? 0) > highestVersion) return blockedPlan(world, usedUpBlocker(observation));
  const staying = world.ranks.flatMap((rank) => rank.members.filter((target) => !isRemoved(target, rank, noted)));
  const lost = lostVersions(noted.log.commits, { ...observation, targets: staying });
  const stopped = lost.length > 0 ? lostBlocker(observation, lost) : unknownBlocker(observation, noted.log.commits);
  if (stopped) return { ...blockedPlan(world, stopped), writes: [] };
  return advance(world, noted, nowMs);
}

/** What one plan is made from. */
interface World {
  readonly observation: SetObservation;
  /** Oldest first. */
  readonly records: readonly RecordObservation[];
  readonly ranks: readonly Rank[];
  readonly observedSource: ObservedSource;
  readonly blockers: ReadonlyMap<string, Blocker>;
  readonly policy: "Settled" | "Queue";
  readonly policyConflict: boolean;
}

/** The log with the source as it is seen now. */
interface Noted {
  readonly log: RotationLog;
  /** Those recorded, and the one that is to be. */
  readonly versions: readonly Version[];
  /** What makes the log lasting, before anything is done about it. */
  readonly write: RotationWrite | undefined;
  /** Never behind the log. */
  readonly nowMs: number;
  /** The source was gone until now. */
  readonly isReturn?: boolean;
}

/** The log and the record that has it. */
function headOf({ records, observation }: World): { readonly head: RecordObservation; readonly log: RotationLog } | undefined {
  const head = headRecord(records);
  return head?.log && { head, log: repairedLog(head.log, { ...observation, records }, head.seq) };
}

function noteSource(world: World, clockMs: number): Noted | undefined {
  const { observation, records, ranks, observedSource, policy } = world;
  const { targets } = observation;
  const known = headOf(world);
  if (targets.length === 0 || (!known && observedSource.type !== "present")) return undefined;
  const nowMs = known ? Math.max(clockMs, latestTimeOf(known.log)) : clockMs;
  const recorded = known ? records.filter(({ seq }) => seq <= known.head.seq) : [];
  const step = known
    ? stepSource(known.log, known.head, { observedSource, nowMs })
    : observedSource.type === "present" && firstStep(observedSource, commitsOfObjects(targets), nowMs);
  if (!step) return undefined;
  const isForgotten = !known && step.log.commits.length > 0;
  const shaped = (log: RotationLog): RotationLog => withShape(isForgotten ? { ...log, shape: forgottenShape } : log, ranks, nowMs);

  const owners = recordOwners(targets);
  if (!step.isNewVersion || observedSource.type !== "present") {
    const log = shaped(withDeparture(step.log, { policy, versions: recorded }));
    return { log, versions: recorded, write: known && logNote(known.head, log, owners), nowMs };
  }
  const given = [records.at(-1)?.seq, step.log.commits.at(-1)?.seq, observation.formerSeq, ...targets.map(({ reportedSeq }) => reportedSeq)];
  const lastSeq = Math.max(...given.map((each = 0) => each));
  const { source, watchDigest, digest } = observedSource;
  const seq = nextFree(lastSeq + 1, observation.takenSeqs);
  const version: Version = { seq, resource: source.resource, watchDigest, digest, seenAtMs: step.log.source.sinceMs };
  const versions = [...recorded, version];
  const log = shaped(withDeparture(step.log, { policy, versions }));
  const write = { verb: "createRecord", ...version, log, owners } as const;
  return { log, versions, write, nowMs: Math.max(nowMs, latestTimeOf(log)), isReturn: known?.log.source.state === "gone" };
}

/** Moves every content that is due, and says what comes next. */
function advance(world: World, { log: noted, versions: recorded, write, nowMs, isReturn = false }: Noted, clockMs: number): RotationPlan {
  const { observation, records, ranks, blockers, policy } = world;
  const { targets } = observation;
  const recovered = recoverableVersions(noted.commits, observation, isReturn ? recorded : []);
  const versions = [...recorded, ...recovered].sort((a, b) => a.seq - b.seq);
  const opensFrom = (timeMs: number): number => (observation.maintenance ? nextOpeningMs(observation.maintenance, timeMs) : timeMs);
  const intact = new Set(targets.filter((target) => isIntact(target, noted.commits)).map(({ name }) => name));
  const input: ChainInput = { ranks, blocked: new Set(blockers.keys()), policy, versions, intact, nowMs, opensFrom };
  const moved = sweep(noted, input);
  const log = trimmed(withOwnVersions(moved, ranks), targets, { versions, policy });
  const unstableMs = unstableAtMs(log, input);
  // What is to come is judged by what this plan leaves.
  const after: ChainInput = {
    ...input,
    intact: new Set(targets.filter(({ name }) => intact.has(name) || !blockers.has(name)).map(({ name }) => name)),
  };
  const free = withoutPublication(ranks);
  const unheld = free ? sweep(noted, { ...input, ranks: free }) : moved;
  const view = lookAtTargets(world, {
    before: noted.commits,
    after: moved.commits,
    backfilled: log.backfilled,
    versions,
    pending: (target, rank) => pendingOf(target.name, log, rank, after),
    isRetaining: ({ name }) => isRetaining(name, log, after),
    unpublished: (target) => unpublishedOf(target, { commits: moved.commits, free: unheld.commits, versions, nowMs }),
    isRemoved: (target, rank) => isRemoved(target, rank, { log, nowMs }),
  });

  // With neither a source nor an object the history has served its purpose.
  const isOver = log.source.state === "gone" && [...view.targets.values()].every(({ held, removed }) => removed || !held);
  const stays = new Set(isOver ? [] : retained(versions, log, policy).map(({ seq }) => seq));
  const owners = recordOwners(targets);
  const head = recorded.at(-1);
  const isNews = log !== noted && !isOver;
  // With nothing between them, two notes are one.
  const isOneNote = isNews && write?.verb === "noteRecord" && view.writes.length === 0 && recovered.length === 0;
  const nextTimeOf = (): number | undefined => {
    // What this plan makes due is for the next one.
    if (sweep(moved, after) !== moved) return clockMs;
    const steps = [...view.targets.values()].map(({ pending }) => pending?.notBeforeMs);
    const times = [
      ...steps,
      ...publicationTimes(targets, versions),
      heldBackMs(moved, after),
      settlesAtMs(log),
      ...removalTimes(log, ranks),
      ...pauseEnds(blockers),
      unstableMs,
    ];
    return earliest(times.filter((timeMs) => timeMs === undefined || timeMs > nowMs));
  };
  return {
    ...planOf(world, view, sourceBlocker(world.observedSource)),
    writes: [
      ...(write && !isOneNote ? [write] : []),
      ...(isOver ? [] : recovered.map((version): RotationWrite => rebuilt(version, noted, owners))),
      ...view.writes,
      ...(isOneNote ? [{ ...write, log }] : isNews && head ? [lastNote(head.seq, log, { owners, write, records })] : []),
      // The newest goes last: an older log must never be taken for the state of things.
      ...records
        .filter(({ seq }) => !stays.has(seq))
        .map((record): RotationWrite => ({
          verb: "deleteRecord",
          seq: record.seq,
          precondition: isNoted(record, write) ? undefined : preconditionOf(record),
        })),
      ...records.filter(({ seq }) => stays.has(seq) && seq !== head?.seq).flatMap((record) => ownersNote(record, owners)),
    ],
    unstableSinceMs: unstableMs !== undefined && unstableMs <= nowMs ? log.commits.at(-1)?.departedMs : undefined,
    settlesAtMs: settlesAtMs(log),
    nextAtMs: nextTimeOf(),
  };
}

/** Nothing moves; what targets hold is kept as it is. */
function blockedPlan(world: World, setBlocker: SetBlocker | undefined): RotationPlan {
  const log = headOf(world)?.log;
  const commits = log?.commits ?? commitsOfObjects(world.observation.targets);
  const view = lookAtTargets(world, {
    before: commits,
    after: commits,
    backfilled: log?.backfilled ?? [],
    versions: world.records,
    pending: () => undefined,
    isRetaining: () => false,
    unpublished: () => undefined,
    isRemoved: () => false,
  });
  const cascading =
    log?.source.state === "gone"
      ? new Set(world.observation.targets.filter(({ deletionMode }) => deletionMode === "cascade").map(({ name }) => name))
      : undefined;
  return {
    ...planOf(world, view, setBlocker),
    // Whether there should be an object at all may depend on the time. Half a set is nobody's to write.
    writes: setBlocker?.reason === "NotSelected" ? [] : view.writes.filter((write) => !("target" in write && cascading?.has(write.target))),
    nextAtMs: endOfBlockers(setBlocker, world.blockers),
  };
}

/** How a look at all targets is made. */
interface TargetsLook {
  readonly before: readonly Commit[];
  readonly after: readonly Commit[];
  readonly backfilled: readonly string[];
  readonly versions: readonly Version[];
  pending(target: TargetObservation, rank: Rank): TargetSchedule["pending"];
  isRetaining(target: TargetObservation): boolean;
  unpublished(target: TargetObservation): Unpublished | undefined;
  isRemoved(target: TargetObservation, rank: Rank): boolean;
}

/** What each target should have, and the writes that give it to them: the highest rank first. */
function lookAtTargets({ ranks, blockers }: World, look: TargetsLook): Pick<RotationPlan, "targets" | "writes"> {
  const targets = new Map<string, TargetSchedule>();
  const writes: RotationWrite[] = [];
  for (const rank of ranks.toReversed()) {
    for (const target of rank.members) {
      const held = heldBy(target.name, look.after);
      const atMs = (held && writtenMs(held, target.name)) ?? 0;
      const before = heldBy(target.name, look.before);
      const blocker = blockers.get(target.name);
      // A deletion that is refused keeps the object, and the history with it.
      const removed = blocker?.reason !== "Paused" && blocker?.reason !== "WriteRefused" && look.isRemoved(target, rank);
      const version = held && look.versions.find(({ seq }) => seq === held.seq);
      const wanted: Wanted | undefined = removed ? { type: "none" } : version && { type: "version", version, atMs };
      const own = wanted && (removed || !blocker) ? targetWrites(target, wanted) : [];
      writes.push(...own);
      const isSame = held?.seq === before?.seq;
      targets.set(target.name, {
        rank: rank.rank,
        held: held && { seq: held.seq, digest: held.digest, atMs },
        replaced: isSame ? undefined : before?.seq,
        restored: isSame && own.some(({ verb }) => verb === "writeTarget"),
        backfilled: look.backfilled.includes(target.name),
        pending: look.pending(target, rank),
        blocker,
        isRetaining: look.isRetaining(target),
        unpublished: blocker ? undefined : look.unpublished(target),
        gapMs: gapMsOf(rank, ranks),
        removed,
      });
    }
  }
  return { targets, writes };
}

function planOf(
  { observedSource, policyConflict }: World,
  { targets, writes }: Pick<RotationPlan, "targets" | "writes">,
  setBlocker: SetBlocker | undefined,
): RotationPlan {
  const source = observedSource.type === "present" ? observedSource.source : undefined;
  return { writes, targets, setBlocker, source, policyConflict, unstableSinceMs: undefined, settlesAtMs: undefined, nextAtMs: undefined };
}

/** True if the target's object goes, or is gone, because its source has been gone for the target's delay. */
function isRemoved(
  { deletionMode }: TargetObservation,
  { delayMs }: Rank,
  { log: { source }, nowMs }: { readonly log: RotationLog; readonly nowMs: number },
): boolean {
  return deletionMode === "cascade" && source.state === "gone" && source.sinceMs + delayMs <= nowMs;
}

function lastNote(
  seq: number,
  log: RotationLog,
  {
    owners,
    write,
    records,
  }: { readonly owners: readonly string[]; readonly write: RotationWrite | undefined; readonly records: readonly RecordObservation[] },
): RotationWrite {
  const record = write ? undefined : records.find((other) => other.seq === seq);
  return { verb: "noteRecord", seq, precondition: record && preconditionOf(record), log, owners };
}

/** True if an earlier write of the same plan changes the record, so that its state is no longer the observed one. */
function isNoted({ seq }: RecordObservation, write: RotationWrite | undefined): boolean {
  return write?.verb === "noteRecord" && write.seq === seq;
}

function rebuilt(version: Recoverable, log: RotationLog, owners: readonly string[]): RotationWrite {
  return { verb: "rebuildRecord", ...version, log, owners };
}

/** What holds up the set because of its source. */
function sourceBlocker(observedSource: ObservedSource): SetBlocker | undefined {
  if (observedSource.type === "present") return undefined;
  return observedSource.type === "gone" ? { reason: "NoSource" } : observedSource.setBlocker;
}
