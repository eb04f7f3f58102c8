// Runs a scenario: contestants once per round, in one direction and then in the other, so that slow minutes of the machine hit all alike.
import { type Bed, type Contestant, contendersIn, type Sample, type Scenario } from "../scenario.ts";

/** The samples of one contestant: the n-th is of the n-th round. There is one sample of those whom no goal speaks of. */
interface ContestantResult {
  readonly contestant: Contestant;
  readonly samples: readonly Sample[];
}

/** What of a scenario belongs to its results. */
type ScenarioFacts = Omit<Scenario, "prepare" | "measure" | "finish">;

/** All that was measured of a scenario. */
export interface ScenarioResult {
  readonly scenario: ScenarioFacts;
  readonly results: readonly ContestantResult[];
  readonly rounds: number;
  /** With its preparation. */
  readonly tookMs: number;
  /** When and where it was measured, if not with the others. */
  readonly measured?: string;
}

/** How long a scenario goes on. */
interface Effort {
  /** No round is begun that would end after this, by the time of those before. */
  readonly budgetMs: number;
  /** So many rounds are run whatever they take. */
  readonly atLeast: number;
  readonly atMost: number;
  /** Whether a round that does not count is run before. */
  readonly warmUp: boolean;
  /** Milliseconds on any clock. */
  readonly now: () => number;
}

/**
 * Prepares the scenario, runs one round that does not count (caches of the machine and of the API server fill), then those that do. Whom no goal speaks of, or only one that is decided beforehand, is in the
 * first round alone: the time is better spent on more rounds of those who are close.
 */
export async function runScenario(scenario: Scenario, bed: Bed, effort: Effort): Promise<ScenarioResult> {
  const startedMs = effort.now();
  bed.say(`${scenario.id}: preparing; its time is ${(effort.budgetMs / 1000).toFixed(0)} s`);
  const samples = new Map<Contestant, Sample[]>(scenario.contestants.map((contestant) => [contestant, []]));
  const contenders = contendersIn(scenario.goals);
  const took = new Map<Contestant, number>();
  let rounds = 0;
  {
    await using end = new AsyncDisposableStack();
    end.defer(async () => scenario.finish?.(bed));
    await scenario.prepare(bed);
    const first = effort.warmUp ? (scenario.warmUp ?? scenario.contestants) : [];
    for (const contestant of first) await measureOne(scenario, { contestant, bed, round: "warm-up" });
    let next = inOrder(scenario.contestants, 1);
    while (wantsMore(rounds, { ...effort, startedMs, roundMs: sumOf(next, took) })) {
      rounds += 1;
      for (const contestant of next) {
        const beganMs = effort.now();
        samples.get(contestant)?.push(await measureOne(scenario, { contestant, bed, round: `round ${rounds}` }));
        took.set(contestant, effort.now() - beganMs);
      }
      next = inOrder(scenario.contestants, rounds + 1).filter(({ id }) => contenders.has(id));
    }
  }
  const tookMs = effort.now() - startedMs;
  bed.say(`${scenario.id}: ${rounds} rounds in ${(tookMs / 1000).toFixed(0)} s`);
  return { scenario, results: [...samples].map(([contestant, samples]) => ({ contestant, samples })), rounds, tookMs };
}

/** Whether another round is to be run, which will take `roundMs`. */
function wantsMore(rounds: number, effort: Effort & { readonly startedMs: number; readonly roundMs: number }): boolean {
  if (rounds < effort.atLeast) return true;
  return rounds < effort.atMost && effort.now() + effort.roundMs <= effort.startedMs + effort.budgetMs;
}

/** What these took when they last ran. */
function sumOf(contestants: readonly Contestant[], took: ReadonlyMap<Contestant, number>): number {
  return contestants.reduce((sum, contestant) => sum + (took.get(contestant) ?? 0), 0);
}

async function measureOne(
  scenario: Scenario,
  { contestant, bed, round }: { readonly contestant: Contestant; readonly bed: Bed; readonly round: string },
): Promise<Sample> {
  const sample = await scenario.measure(contestant, bed);
  const figures = scenario.metrics.flatMap(({ id, unit }) => (sample[id] === undefined ? [] : [`${id} ${sample[id].toFixed(1)} ${unit}`.trimEnd()]));
  bed.say(`${scenario.id}: ${round}: ${contestant.id}: ${figures.join(", ")}`);
  return sample;
}

/** One direction and the other by turns: who stand side by side run one after the other in every round, and neither is always the first. */
export function inOrder<T>(list: readonly T[], round: number): readonly T[] {
  return round % 2 === 0 ? list : list.toReversed();
}
