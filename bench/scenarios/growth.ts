// How does what a controller costs grow with the number of its objects?
import type { Contestants } from "../contestants.ts";
import { costMetrics, measureCost } from "../measure/controller-cost.ts";
import type { Bed, Contestant, Goal, Scenario } from "../scenario.ts";
import type { ControllerWorld } from "../worlds/controller-world.ts";

/** A controller whose growth is looked at. */
export interface GrowthSubject {
  readonly controller: string;
  /** What N counts. */
  readonly axis: string;
  readonly sizes: readonly number[];
  readonly program: Parameters<Contestants["ours"]>[0];
  /** What is done with N objects, after "Done: ". */
  readonly job: string;
  /** Whose requests are counted. */
  readonly resources: readonly string[];
  /** For worlds of these sizes. */
  prepare(bed: Bed, sizes: readonly number[]): Promise<void>;
  /** `run` is another one each time. */
  world(bed: Bed, size: number, run: number): Promise<ControllerWorld>;
}

/** Over three doublings, N to the power of 1.2 cannot be told from N log N; above this it can. */
const tolerated = 1.1;

/** Ten milliseconds are the kernel's unit of processor time; the rest is what another process on the machine can cause. */
const resolutions: Readonly<Record<string, number>> = { ms: 10, MB: 1, "": 10 };

/** The scenario of one controller: each size is a contestant, so that sizes too are interleaved. */
export function growth(contestants: Contestants, subject: GrowthSubject): Scenario {
  let runs = 0;
  const { controller, axis, sizes } = subject;
  const sized = sizes.map((size) => {
    const { id: program, ...contestant } = contestants.ours(subject.program, `${size.toLocaleString("en")} ${axis}`);
    return { size, contestant: { ...contestant, id: `${program}-${size}` } satisfies Contestant };
  });
  const sizesById = Object.fromEntries(sized.map(({ size, contestant }) => [contestant.id, size]));
  const sizeOf = ({ id }: Contestant): number => sizesById[id] ?? Number.NaN;
  return {
    id: `growth-${controller}`,
    title: `Growth of ${controller}: cost against the number of ${axis}`,
    method:
      `${subject.job} Time is the program's own word, processor time and memory the kernel's, requests the API server's count, without watches. ` +
      "The curve is a fixed cost and a part that grows as N log N, fitted to all sizes but the largest; the goal holds the largest against it.",
    contestants: sized.map(({ contestant }) => contestant),
    metrics: costMetrics,
    goals: costMetrics.map(({ id, label, unit }): Goal => ({
      type: "growth",
      text: `${controller}: ${label} against ${axis}`,
      metric: id,
      sizes: sizesById,
      resolution: resolutions[unit] ?? 1,
      atMost: tolerated,
    })),
    plots: [
      {
        type: "growth",
        title: `${controller}: cost against the number of ${axis}`,
        axis,
        metrics: costMetrics.map(({ id }) => id),
        sizes: sizesById,
      },
    ],
    prepare: (bed) => subject.prepare(bed, sizes),
    async measure(contestant, bed) {
      await using world = await subject.world(bed, sizeOf(contestant), runs++);
      return await measureCost(contestant.command, bed, { world, resources: subject.resources });
    },
  };
}
