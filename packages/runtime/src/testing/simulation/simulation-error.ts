// A simulation that failed: what went wrong, with which seed, how to see it again, and what happened last.

/** How many lines of the trace an error shows. */
const shownLines = 40;

/** What failed. */
export interface SimulationFailure {
  readonly seed: number;
  readonly problem: string;
  readonly trace: readonly string[];
  readonly cause?: unknown;
}

/** A failed run; `seed` replays it exactly. */
export class SimulationError extends Error {
  readonly code = "Simulation";
  readonly seed: number;
  /** The whole run, line by line. */
  readonly trace: readonly string[];

  constructor({ seed, problem, trace, cause }: SimulationFailure) {
    const last = trace
      .slice(-shownLines)
      .map((line) => `  ${line}`)
      .join("\n");
    super(
      `seed ${seed}: ${problem}\nreplay it with: SEED=${seed} npx vitest run ${testFile()}\nthe last of ${trace.length} lines of its trace:\n${last}`,
      { cause },
    );
    this.name = "SimulationError";
    this.seed = seed;
    this.trace = trace;
  }
}

/** The test file under way, as vitest tells its workers; the command is right without it too, only slower. */
function testFile(): string {
  const state: unknown = Reflect.get(globalThis, "__vitest_worker__");
  const path: unknown = typeof state === "object" && state !== null ? Reflect.get(state, "filepath") : undefined;
  return typeof path === "string" ? path.replace(`${process.cwd()}/`, "") : "";
}
