// Runs a scenario: every contestant once per round, in another order each round, so that slow minutes of the machine hit all alike.
import type { Bed, Contestant, Sample, Scenario } from "../scenario.ts";

/** The samples of one contestant: the n-th is of the n-th round. */
export interface ContestantResult {
  readonly contestant: Contestant;
  readonly samples: readonly Sample[];
}

/** All that was measured of a scenario. */
export interface ScenarioResult {
  readonly scenario: Scenario;
  readonly results: readonly ContestantResult[];
}

/** Prepares the scenario, runs one round that does not count (caches of the machine and of the API server fill), then those that do. */
export async function runScenario(scenario: Scenario, bed: Bed, rounds: number): Promise<ScenarioResult> {
  bed.say(`${scenario.id}: preparing`);
  await scenario.prepare(bed);
  const samples = new Map<Contestant, Sample[]>(scenario.contestants.map((contestant) => [contestant, []]));
  for (let round = 0; round <= rounds; round++) {
    for (const contestant of rotated(scenario.contestants, round)) {
      const sample = await scenario.measure(contestant, bed);
      const figures = scenario.metrics.flatMap(({ id, unit }) => (sample[id] === undefined ? [] : [`${id} ${sample[id].toFixed(1)} ${unit}`]));
      bed.say(`${scenario.id}: ${round === 0 ? "warm-up" : `round ${round} of ${rounds}`}: ${contestant.id}: ${figures.join(", ")}`);
      if (round > 0) samples.get(contestant)?.push(sample);
    }
  }
  return { scenario, results: [...samples].map(([contestant, samples]) => ({ contestant, samples })) };
}

/** The list begun at another place. */
export function rotated<T>(list: readonly T[], by: number): readonly T[] {
  const start = list.length === 0 ? 0 : by % list.length;
  return [...list.slice(start), ...list.slice(0, start)];
}
