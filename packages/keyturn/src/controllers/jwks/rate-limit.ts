// The document's limits: how often one object may be worked on, and how often its ConfigMap may change.

/** Limits on the passes of one object; 0 switches a limit off. */
export interface RateLimits {
  /** From one pass to the next. */
  readonly intervalMs: number;
  /** In any 60 seconds. */
  readonly perMinute: number;
}

const minuteMs = 60_000;

/**
 * When the next pass may be. `passes` are the times of earlier ones, oldest first, on a clock that never runs backwards.
 * At or before `nowMs` means now; the first pass never waits.
 */
export function nextWriteAt(passes: readonly number[], limits: RateLimits, nowMs: number): number {
  const last = passes.at(-1);
  const spaced = last === undefined ? nowMs : last + limits.intervalMs;
  // With a full minute behind us, the pass that fills it has to leave the window first.
  const filling = limits.perMinute > 0 ? passes.at(-limits.perMinute) : undefined;
  return filling === undefined ? spaced : Math.max(spaced, filling + minuteMs);
}

/** The passes worth remembering after one at `nowMs`. */
export function rememberWrite(passes: readonly number[], nowMs: number): readonly number[] {
  return [...passes.filter((at) => at > nowMs - minuteMs), nowMs];
}

/**
 * When the ConfigMap may change next, by the wall clock, because the last change is remembered across restarts.
 * A last change that lies in the future was dated by a clock that has been set back since: it holds up nothing.
 */
export function nextUpdateAt(lastUpdateMs: number | undefined, intervalMs: number, nowMs: number): number {
  return lastUpdateMs === undefined || lastUpdateMs > nowMs ? nowMs : lastUpdateMs + intervalMs;
}
