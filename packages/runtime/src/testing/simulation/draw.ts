// Draws from a seeded Random, by what is wanted rather than by arithmetic.
import { seededRandom } from "../../random.ts";
import type { Random } from "../../random.ts";

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
