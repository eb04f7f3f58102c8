// Is a ratio worse than it was, by more than its own noise?
import { quantile } from "../measure/statistics.ts";

/** How a ratio fares next to its baseline; lower is better. */
export interface Comparison {
  /** Medians of the rounds. */
  readonly before: number;
  readonly now: number;
  /** The most that `now / before` may be. */
  readonly allowed: number;
  readonly worse: boolean;
}

/** So many standard errors: one comparison in some hundred exceeds it by chance, and what does is looked at a second time. */
const errorsAllowed = 3;
/** A median of normal values is that much less certain than their mean: √(π/2). */
const medianPenalty = Math.sqrt(Math.PI / 2);
/** Less than this is never held against anybody: between two runs more changes than the rounds of one can show, such as how the kernel placed the processes. */
const leastAllowed = 0.05;

/**
 * Compares two sets of rounds. The noise is what the rounds themselves show: the standard deviation of their logarithms around each set's own mean, both sets together.
 * What is allowed is three standard errors of the difference of the two medians, and at least 5 %.
 */
export function compareRounds(before: readonly number[], now: readonly number[]): Comparison {
  if (![...before, ...now].every((ratio) => ratio > 0 && Number.isFinite(ratio)) || before.length === 0 || now.length === 0) {
    throw new Error(`comparing ratios: [${before.join(", ")}] and [${now.join(", ")}] must be positive numbers, and some of each`);
  }
  const medians = { before: quantile(before, 0.5), now: quantile(now, 0.5) };
  const error = noiseOf([before, now]) * Math.sqrt(1 / before.length + 1 / now.length) * medianPenalty;
  const allowed = Math.exp(Math.max(errorsAllowed * error, Math.log(1 + leastAllowed)));
  return { ...medians, allowed, worse: medians.now / medians.before > allowed };
}

/** The standard deviation of the logarithms within the sets; zero when no set has two values. */
export function noiseOf(sets: readonly (readonly number[])[]): number {
  let squares = 0;
  let freedom = 0;
  for (const set of sets) {
    const logarithms = set.map(Math.log);
    const mean = logarithms.reduce((sum, value) => sum + value, 0) / logarithms.length;
    for (const value of logarithms) squares += (value - mean) ** 2;
    freedom += Math.max(0, set.length - 1);
  }
  return freedom === 0 ? 0 : Math.sqrt(squares / freedom);
}
