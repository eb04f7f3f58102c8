// What it costs a controller's program to do all there is to do in its world: time, processor time, requests, memory.
import * as z from "zod";
import type { Bed, Metric, Sample } from "../scenario.ts";
import type { ControllerWorld } from "../worlds/controller-world.ts";
import { type Command, ContestantProcess } from "./contestant-process.ts";
import { requestsIn } from "./request-count.ts";
import { collectServerGarbage } from "./server-garbage.ts";

/** A program's first line: it has done it, and the time that it took by its own clock. */
const doneLine = z.looseObject({ ms: z.number() });

/** The figures of `measureCost`. */
export const costMetrics: readonly Metric[] = [
  { id: "time", label: "time", unit: "ms" },
  { id: "cpu", label: "CPU", unit: "ms" },
  { id: "requests", label: "requests", unit: "" },
  { id: "peak", label: "peak memory", unit: "MB" },
];

/** Runs the program in its world until it says that it is done. Requests are the API server's own count of those for `resources`, and those to others. */
export async function measureCost(
  command: Command,
  { cluster }: Bed,
  { world, resources }: { readonly world: ControllerWorld; readonly resources: readonly string[] },
): Promise<Sample> {
  const requests = async (): Promise<number> => requestsIn(await cluster.kubectl("get", "--raw", "/metrics"), resources) + (world.asked?.() ?? 0);
  await collectServerGarbage({ cluster });
  const before = await requests();
  await using contestant = new ContestantProcess({ ...command, args: [...command.args, ...world.args] }, cluster.adminKubeconfig);
  const { ms } = doneLine.parse(await contestant.next(600_000));
  const { cpuMs, peakRssBytes } = contestant.usage();
  return { time: ms, cpu: cpuMs, requests: (await requests()) - before, peak: peakRssBytes / 2 ** 20 };
}
