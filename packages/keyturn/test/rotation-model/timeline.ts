// Plays a source and targets through the naive simulator, and prints what the targets held when, as the worked timelines do.
import { type ModelSource, type ModelTarget, runOf } from "./naive-rules.ts";
import { heldVersion, type Log, type LogEntry, sincePurge, versionOf } from "./rotation-log.ts";

/** What the source becomes: a value, or undefined when it is deleted. */
export interface SourceChange {
  readonly at: number;
  readonly value: string | undefined;
}

/** What is played. Times are of any one unit, from 0 to `until`; there is a run at each, except when the controller is down. */
interface Play {
  readonly targets: readonly ModelTarget[];
  readonly source: readonly SourceChange[];
  readonly until: number;
  readonly down?: readonly [from: number, to: number];
  readonly changePolicy?: "Settled" | "Queue";
  /** What the controller's clock shows. Default: the time. */
  readonly clock?: (now: number) => number;
}

/** Targets of these delays, in order; everything else as by default. */
export function targetsOf(delays: readonly number[], each: Partial<ModelTarget> = {}): readonly ModelTarget[] {
  return delays.map((delayMs, index) => ({
    name: `t${index + 1}`,
    order: index + 1,
    delayMs,
    deletionMode: "keep",
    whenUnfilled: "Backfill",
    blocked: false,
    ...each,
  }));
}

/** What each target's object holds: the version's content, `-` for no object. */
export function contentsOf(log: Log, targets: readonly ModelTarget[]): readonly string[] {
  const current = sincePurge(log);
  return targets.map(({ name }) => {
    const held = heldVersion(current, name);
    return typeof held === "number" ? versionOf(current, held).content : held === "absent" ? "-" : "?";
  });
}

/** The log of a play. */
export function play(played: Play, onRun: (now: number, log: Log) => void = () => {}): Log {
  const { targets, source, until, down, changePolicy = "Settled", clock = (now) => now } = played;
  const log: LogEntry[] = [];
  for (let now = 0; now <= until; now += 1) {
    if (down && now >= down[0] && now < down[1]) continue;
    log.push(...runOf(log, { clockMs: clock(now), source: sourceAt(source, now), targets, changePolicy }));
    onRun(now, log);
  }
  return log;
}

function sourceAt(changes: readonly SourceChange[], now: number): ModelSource {
  const last = changes.findLastIndex(({ at }) => at <= now);
  const change = changes[last];
  if (change?.value === undefined) return { found: "none" };
  const deletions = changes.slice(0, last).filter(({ value }) => value === undefined).length;
  return { found: "one", watched: change.value, content: change.value, uid: `u${deletions}`, writtenAt: change.at };
}

/** The moments at which something changed: `160 [v2,v1] · 305 [v2,v2]`. */
export function timelineOf(played: Play): string {
  const lines: string[] = [];
  let before = "";
  play(played, (now, log) => {
    const contents = `[${contentsOf(log, played.targets).join(",")}]`;
    if (contents !== before) lines.push(`${now} ${contents}`);
    before = contents;
  });
  return lines.join(" · ");
}
