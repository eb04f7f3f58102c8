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
