// Runs a test body once for each of many seeds, or for the one seed that is to be replayed.

/** The first seed; the others follow. Fixed, so that a run in CI and one at a desk are the same. */
const firstSeed = 1;

/**
 * Calls `run` with `count` seeds, one after the other. With `SEED` in the environment only that one; with `SEEDS` that many instead of `count`.
 * What `run` throws is thrown on; a simulation's error names its seed itself, any other gets it here.
 */
export async function forEachSeed(count: number, run: (seed: number) => Promise<void> | void): Promise<void> {
  for (const seed of seedsFor(count, process.env)) {
    try {
      await run(seed);
    } catch (error) {
      if (error instanceof Error && error.message.startsWith(`seed ${seed}:`)) throw error;
      throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}\nreplay it with: SEED=${seed} npx vitest run`, {
        cause: error,
      });
    }
  }
}

/** The seeds to run. */
export function seedsFor(count: number, environment: Readonly<Record<string, string | undefined>>): readonly number[] {
  const only = environment["SEED"];
  if (only !== undefined && only !== "") return [wholeNumber("SEED", only)];
  const many = environment["SEEDS"];
  const length = many === undefined || many === "" ? count : wholeNumber("SEEDS", many);
  return Array.from({ length }, (_, index) => firstSeed + index);
}

function wholeNumber(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0) throw new Error(`${name} must be a whole number that is not negative, but is "${text}"`);
  return value;
}
