// Randomness as a parameter: jitter and tie-breaking take a Random, so that a simulated run replays exactly.

/** Returns a number in [0, 1). */
export type Random = () => number;

/** The machine's own randomness. Not for key material. */
export const systemRandom: Random = () => Math.random();

/** A reproducible sequence: the same seed gives the same numbers (mulberry32). */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

// Draws from a seeded Random, by what is wanted rather than by arithmetic.

/** A range of numbers, both ends included. */
export type Range = readonly [least: number, most: number];

/** True with the given probability. */
export function chance(random: Random, probability: number): boolean {
  return random() < probability;
}

/** A whole number of the range. */
export function drawInt(random: Random, [least, most]: Range): number {
  return least + Math.floor(random() * (most - least + 1));
}

/** One of the items; undefined only if there are none. */
export function drawOne<T>(random: Random, items: readonly T[]): T | undefined {
  return items[Math.floor(random() * items.length)];
}

/** One of the weighted alternatives; undefined if all weights are zero. */
export function drawWeighted<T>(random: Random, alternatives: readonly (readonly [weight: number, item: T])[]): T | undefined {
  let rest = random() * alternatives.reduce((sum, [weight]) => sum + weight, 0);
  for (const [weight, item] of alternatives) {
    rest -= weight;
    if (rest < 0) return item;
  }
  return undefined;
}

/** A sequence of its own, so that one part's draws do not shift another's. */
export function forkRandom(random: Random): Random {
  return seededRandom(Math.floor(random() * 2 ** 32));
}
