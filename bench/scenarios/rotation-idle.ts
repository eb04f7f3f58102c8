// What does it cost to have many sets in which nothing happens?
import * as z from "zod";
import type { Contestants } from "../contestants.ts";
import { type Command, ContestantProcess } from "../measure/contestant-process.ts";
import type { Bed, Sample, Scenario } from "../scenario.ts";
import { applyProductCrds } from "../worlds/product-crds.ts";
import { seedSets } from "../worlds/rotation-world.ts";

const filled = z.object({ type: z.literal("filled") });
const idle = z.object({ type: z.literal("idle"), heapBytes: z.number() });
const watched = z.object({ type: z.literal("watched"), requests: z.number(), corePercent: z.number() });
const targets = { live: "1h", fallback: "5m", older: "5m" };
const few = "bench-rotation-few";
/** So many that everything has been used once. */
const fewSets = 50;
const full = "bench-rotation-idle";

/** The scenario, for these contestants. */
export function rotationIdle(contestants: Contestants): Scenario {
  return {
    id: "rotation-idle",
    title: "5,000 rotation sets in which nothing happens",
    method:
      "5,000 sets of three targets that are all filled. Once the operator has gone quiet, and V8 has given back what the work took: the memory of its live JavaScript objects (after a full collection) and resident memory, less those of the same operator with 50 sets, for each further target, with its share of source and history; " +
      "then ten seconds of its requests (watches that run on are none) and processor time. (With `--quick`, 500 sets.)",
    contestants: [contestants.ours("rotation-idle", "Keyturn")],
    metrics: [
      { id: "perTarget", label: "kB per target", unit: "" },
      { id: "residentPerTarget", label: "resident kB per target", unit: "" },
      { id: "requests", label: "requests in 10 s", unit: "" },
      { id: "core", label: "% of a core", unit: "" },
    ],
    goals: [
      { text: "15,000 idle targets: memory of each, kB", contestant: "rotation-idle", metric: "perTarget", type: "limit", below: 2, over: "median" },
      { text: "15,000 idle targets: requests in 10 s", contestant: "rotation-idle", metric: "requests", type: "limit", below: 1, over: "median" },
      { text: "15,000 idle targets: % of a core", contestant: "rotation-idle", metric: "core", type: "limit", below: 1, over: "median" },
    ],
    async prepare(bed) {
      const { client } = bed.cluster;
      await applyProductCrds(bed);
      await seedSets(client, { namespace: few, sets: fewSets, targets });
      await seedSets(client, { namespace: full, sets: setsOf(bed), targets });
      // The first run fills the targets, and is no idleness.
      const { command } = contestants.ours("rotation-idle", "");
      await Promise.all([few, full].map((namespace) => fill(command, bed, namespace)));
    },
    async measure({ command }, bed): Promise<Sample> {
      const count = (setsOf(bed) - fewSets) * Object.keys(targets).length;
      // Side by side: who does nothing disturbs nobody.
      const [baseline, { heapBytes, residentBytes, requests, corePercent }] = await Promise.all([cost(command, bed, few), cost(command, bed, full)]);
      return {
        perTarget: (heapBytes - baseline.heapBytes) / 1000 / count,
        residentPerTarget: (residentBytes - baseline.residentBytes) / 1000 / count,
        requests,
        core: corePercent,
      };
    },
  };
}

function setsOf({ quick }: Bed): number {
  return quick ? 500 : 5000;
}

async function fill(command: Command, { cluster }: Bed, namespace: string): Promise<void> {
  await using contestant = new ContestantProcess({ ...command, args: [...command.args, namespace, "fill"] }, cluster.adminKubeconfig);
  filled.parse(await contestant.next(900_000));
}

async function cost(
  command: Command,
  { cluster }: Bed,
  namespace: string,
): Promise<{ readonly heapBytes: number; readonly residentBytes: number; readonly requests: number; readonly corePercent: number }> {
  await using contestant = new ContestantProcess({ ...command, args: [...command.args, namespace] }, cluster.adminKubeconfig);
  const { heapBytes } = idle.parse(await contestant.next(900_000));
  const { requests, corePercent } = watched.parse(await contestant.next());
  return { heapBytes, residentBytes: contestant.usage().rssBytes, requests, corePercent };
}
