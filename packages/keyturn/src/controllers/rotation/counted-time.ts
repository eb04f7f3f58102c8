// Time that counts: it stands still while the source is gone or unreadable.
import type { FrozenStretch } from "./rotation-log.ts";

/** More stretches than this are joined, oldest first: the time between two of them then does not count either, so that things happen later, never earlier. */
const mostStretches = 32;

/** When `delayMs` of counted time have passed since `fromMs`, given that time counts from the last stretch on. */
export function dueAfter(fromMs: number, delayMs: number, frozen: readonly FrozenStretch[]): number {
  let dueMs = fromMs + delayMs;
  for (const stretch of frozen) {
    if (stretch.toMs <= fromMs) continue;
    const beginsMs = Math.max(stretch.fromMs, fromMs);
    // What was due before the stretch began stays due then.
    if (dueMs <= beginsMs) break;
    dueMs += stretch.toMs - beginsMs;
  }
  return dueMs;
}

/** The stretches with one more at their end. */
export function withStretch(frozen: readonly FrozenStretch[], added: FrozenStretch): readonly FrozenStretch[] {
  const last = frozen.at(-1);
  const joined = last && last.toMs >= added.fromMs ? [...frozen.slice(0, -1), { fromMs: last.fromMs, toMs: added.toMs }] : [...frozen, added];
  const [first, second, ...rest] = joined;
  if (joined.length <= mostStretches || !first || !second) return joined;
  return [{ fromMs: first.fromMs, toMs: second.toMs }, ...rest];
}
