// Who tells how long its event loop was held: a twin of the contestant that is compared, because looking costs what no other contestant has to pay.
import * as z from "zod";
import type { Command } from "../measure/contestant-process.ts";
import type { Contestant, LimitGoal, Metric, Sample } from "../scenario.ts";

/** The figures of a twin; it gives no others. */
export const holdMetrics: readonly Metric[] = [
  { id: "hold", label: "hold", unit: "ms" },
  { id: "holdCpu", label: "hold (CPU)", unit: "ms" },
];

/** What a scenario with a twin says of it. */
export const holdMethod =
  "*Hold* is the longest time in which the event loop served nothing else: on the clock, and in processor time of the main thread, which leaves out the time in which the kernel had given the core to somebody else " +
  "(the API server and etcd run on the same cores). A timer of one millisecond finds it, in a run of its own (*probed*) from which nothing else is taken: the timer costs up to a quarter more processor time, which no other contestant has to pay.";

/** What a probed program reports. */
export const holdReport = z.object({ wallMs: z.number(), cpuMs: z.number() });

/** The twin of a contestant of ours. */
export function probedTwin(contestant: Contestant): Contestant {
  return { ...contestant, id: twinOf(contestant.id), label: `${contestant.label}, probed` };
}

/** Whether a contestant is a twin. */
export function isProbed({ id }: Contestant): boolean {
  return id.endsWith("-probed");
}

/** How a contestant is started: with these arguments and, if it is a twin, the wish to be probed behind them. */
export function probingCommand(contestant: Contestant, args: readonly string[] = []): Command {
  const { file, args: own } = contestant.command;
  return { file, args: [...own, ...args, ...(isProbed(contestant) ? ["probe"] : [])] };
}

/** All that is taken of a twin's run. */
export function holdSample(contestant: Contestant, hold: z.infer<typeof holdReport> | undefined): Sample {
  if (!hold) throw new Error(`measuring ${contestant.id}: it was started to be probed and told of no hold`);
  return { hold: hold.wallMs, holdCpu: hold.cpuMs };
}

/** No round may hold the event loop for longer; `of` is the contestant whose twin is asked. */
export function holdGoal(text: string, of: string): LimitGoal {
  return { text: `${text}: longest hold, ms`, contestant: twinOf(of), metric: "holdCpu", type: "limit", below: 25, over: "worst" };
}

function twinOf(id: string): string {
  return `${id}-probed`;
}
