// How much of a set may go within an hour, or change at once, before somebody has to say that it is meant. The same rule for control plane and agents.
import { type Flag, textFlagWithDefault } from "../../feature/flag.ts";
import { differenceOf, numberOfId, versionOfId } from "./ids.ts";

/** More than so many, or more than this part of all of them. */
type ChangeLimit = { readonly type: "count"; readonly most: number } | { readonly type: "percent"; readonly most: number };

/** What may happen to a set at once without being announced. */
export interface ChangeLimits {
  /** How many certificates may vanish, or go back to a lower version. */
  readonly vanishing: ChangeLimit;
  /** How many may be replaced by another one, as a renewal does. */
  readonly changing: ChangeLimit;
}

/** Of a few certificates any change is a large part; so many may always vanish or change. */
const fewObjects = 2;

const form = /^(\d{1,9})(%?)$/;

/** `20%` or `50`. Throws an Error whose message completes "--flag: …". */
function parseChangeLimit(text: string): ChangeLimit {
  const [, digits, sign] = form.exec(text) ?? [];
  const most = Number(digits);
  if (digits === undefined || (sign === "%" && most > 100)) throw new Error(`"${text}" is neither a number such as 50 nor a part such as 20%`);
  return { type: sign === "%" ? "percent" : "count", most };
}

function limitFlag(flag: { readonly name: string; readonly default: string; readonly help: string }): Flag<ChangeLimit> {
  return { ...textFlagWithDefault({ placeholder: "N|P%", ...flag }), parse: (text = flag.default) => parseChangeLimit(text) };
}

/** For operator and agents. */
export const limitFlags = {
  maxVanishing: limitFlag({
    name: "checksum.max-vanishing",
    default: "20%",
    help: "hold what nobody announced if more certificates than this vanish or go back to a lower version at once, or there are by more than this fewer than in the last hour; two always may",
  }),
  maxChanging: limitFlag({
    name: "checksum.max-changing",
    default: "100%",
    help: "hold what nobody announced if more certificates than this are replaced at once; two always may. The default never holds a wave of renewals",
  }),
};

/** What holds unless flags say otherwise. */
export const defaultLimits: ChangeLimits = { vanishing: limitFlags.maxVanishing.parse(undefined), changing: limitFlags.maxChanging.parse(undefined) };

/** What becomes of a set's ids. */
interface ChangeCounts {
  /** How many there were. */
  readonly total: number;
  /** That are gone, or went back to a lower version. */
  readonly vanished: number;
  readonly changed: number;
}

/** Counts what happened to `before`. An id with the same number that comes in the place of one that goes is a change of it. */
export function countChanges(before: readonly string[], after: readonly string[]): ChangeCounts {
  const { notPublished: came, notLive: went } = differenceOf(after, before);
  const successors = Map.groupBy(came, numberOfId);
  let [vanished, changed] = [0, 0];
  for (const id of went) {
    const successor = successors.get(numberOfId(id))?.shift();
    if (successor === undefined || versionOfId(successor) < versionOfId(id)) vanished++;
    else changed++;
  }
  return { total: before.length, vanished, changed };
}

/** The same where names are known: a certificate that comes under another name takes nobody's place, although its number is the same. */
export function countNamedChanges(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): ChangeCounts {
  let [vanished, changed] = [0, 0];
  for (const [name, id] of before) {
    const successor = after.get(name);
    if (successor === undefined || versionOfId(successor) < versionOfId(id)) vanished++;
    else if (successor !== id) changed++;
  }
  return { total: before.size, vanished, changed };
}

/** How many certificates a set had, and when it last had so many. */
export interface Peak {
  readonly count: number;
  readonly atMs: number;
}

/** Ever fewer, ever later: for any moment of the last hour, what a set has had since. */
export type Peaks = readonly Peak[];

/** For so long a certificate that went counts as gone just now: two at a time, again and again, empty no set. */
const peakCountsMs = 3_600_000;

/** More steps down are not told apart: each then counts from the one before it. */
const maxPeaks = 20;

/** The peaks that count now, for a set that has had `count` certificates until now. */
export function peaksOf(count: number, earlier: Peaks, nowMs: number): readonly [Peak, ...Peak[]] {
  const counting = earlier.filter((peak) => peak.count > count && nowMs - peak.atMs < peakCountsMs);
  const merged = counting.slice(Math.max(0, counting.length - maxPeaks + 1));
  const [first = { count, atMs: nowMs }, ...rest] = merged;
  // Those that are left out were higher: the first that stays takes the place of all of them, with its own time.
  const highest = { ...first, count: Math.max(count, ...counting.map((peak) => peak.count)) };
  return merged.length === 0 ? [highest] : [highest, ...rest, { count, atMs: nowMs }];
}

/** The peaks as if what somebody announced since, so many more or fewer, had been so all the time. */
export function withMeant(peaks: Peaks, more: number): Peaks {
  return peaks.map(({ count, atMs }) => ({ count: count + more, atMs }));
}

/** The counts with what went earlier, since the highest peak. */
export function sincePeak({ total, vanished, changed }: ChangeCounts, [{ count }]: readonly [Peak, ...Peak[]], afterCount: number): ChangeCounts {
  return { total: Math.max(total, count), vanished: Math.max(vanished, count - afterCount), changed };
}

/** Why so much must not happen unannounced, in words; undefined if it may. */
export function excessOf({ total, vanished, changed }: ChangeCounts, { vanishing, changing }: ChangeLimits): string | undefined {
  if (exceeds(vanished, total, vanishing)) return `${vanished} of ${total} certificates would vanish within an hour or go back to a lower version`;
  if (exceeds(changed, total, changing)) return `${changed} of ${total} certificates would be replaced at once`;
  return undefined;
}

function exceeds(count: number, total: number, limit: ChangeLimit): boolean {
  if (limit.type === "count") return count > limit.most;
  return count > fewObjects && count * 100 > limit.most * total;
}
