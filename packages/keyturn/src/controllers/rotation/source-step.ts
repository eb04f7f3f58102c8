// What the log says after a look at the source: one step of the source's state machine.
import { withStretch } from "./counted-time.ts";
import type { RecordObservation, SetObservation, SourceObservation } from "./observation.ts";
import { type Commit, latestTimeOf, type RotationLog, type SourceState } from "./rotation-log.ts";
import type { Standstill } from "./rotation-plan.ts";

/** The source as it is seen now: one object that says something, or a reason why there is no such one. */
export type SourceSight =
  | { readonly type: "present"; readonly source: SourceObservation; readonly watchDigest: string; readonly digest: string }
  | { readonly type: "gone" }
  | { readonly type: "unreadable"; readonly standstill: Standstill };

/** The log after the step, and whether the source has become something that no record is about. */
export interface SourceStep {
  readonly log: RotationLog;
  readonly isNewVersion: boolean;
}

/** What is seen. Of two sources neither is guessed to be the one, and what is written to by rotation cannot be its source. */
export function sightOf({ sources, targets }: Pick<SetObservation, "sources" | "targets">): SourceSight {
  const [source, ...others] = sources;
  if (!source) return { type: "gone" };
  const conflict = (message: string): SourceSight => ({ type: "unreadable", standstill: { reason: "SourceConflict", message } });
  if (others.length > 0) {
    const names = sources.map(({ resource, name }) => `${resource}/${name}`).toSorted();
    return conflict(`${names.join(" and ")} are all marked as the source of this set; leave the mark on one of them`);
  }
  const self = targets.find(({ objects }) => objects.some(({ uid }) => uid === source.uid));
  if (self) return conflict(`${source.resource}/${source.name} is marked as the source and is the object of target ${self.name}`);
  const { content } = source;
  if (!content.ok) return { type: "unreadable", standstill: { reason: content.reason, message: content.message } };
  return { type: "present", source, watchDigest: content.watchDigest, digest: content.digest };
}

/** The first step: there is no log yet. `commits` are what targets of an earlier life of the set still hold. */
export function firstStep(sight: SourceSight & { readonly type: "present" }, commits: readonly Commit[], nowMs: number): SourceStep {
  const sinceMs = timeOfWrite(sight.source, { notedMs: 0, nowMs });
  return { log: { source: presentSince(sight, sinceMs), commits, frozen: [], backfilled: [] }, isNewVersion: true };
}

/** One step. `head` is the record of the version that the source was last seen as. */
export function stepSource(
  log: RotationLog,
  head: Pick<RecordObservation, "watchDigest">,
  { sight, nowMs }: { readonly sight: SourceSight; readonly nowMs: number },
): SourceStep {
  const before = log.source;
  if (sight.type !== "present") {
    if (before.state === sight.type) return { log, isNewVersion: false };
    const source: SourceState = { state: sight.type, sinceMs: nowMs };
    return { log: { ...log, source, frozen: thawed(log, nowMs), commits: returned(log.commits) }, isNewVersion: false };
  }
  const isNewVersion = sight.watchDigest !== head.watchDigest;
  const isSameObject = before.state === "present" && before.uid === sight.source.uid;
  if (isSameObject && !isNewVersion) return { log, isNewVersion };
  const sinceMs = timeOfWrite(sight.source, { notedMs: latestTimeOf(log), nowMs });
  const source = presentSince(sight, sinceMs);
  if (isSameObject) return { log: { ...log, source }, isNewVersion };
  // Back, or another object under the same mark: whatever was uninterrupted no longer is.
  return { log: { ...log, source, frozen: thawed(log, sinceMs), commits: returned(log.commits) }, isNewVersion };
}

/** When the source was written, if the server says so. A write that is not newer than what was last noted cannot be what changed, and one to come is none. */
function timeOfWrite({ writtenAtMs }: SourceObservation, { notedMs, nowMs }: { readonly notedMs: number; readonly nowMs: number }): number {
  return writtenAtMs !== undefined && writtenAtMs > notedMs && writtenAtMs <= nowMs ? writtenAtMs : nowMs;
}

function presentSince({ source }: SourceSight & { readonly type: "present" }, sinceMs: number): SourceState {
  return { state: "present", uid: source.uid, sinceMs };
}

/** The stretches that do not count, when one of them ends. */
function thawed({ source, frozen }: RotationLog, nowMs: number): RotationLog["frozen"] {
  return source.state === "present" ? frozen : withStretch(frozen, { fromMs: source.sinceMs, toMs: nowMs });
}

/** A departure that nothing has sealed yet is interrupted with the source. */
function returned(commits: readonly Commit[]): readonly Commit[] {
  const last = commits.at(-1);
  return last?.departedMs === undefined ? commits : [...commits.slice(0, -1), { seq: last.seq, digest: last.digest, at: last.at }];
}
