// How long does it take until many sources that changed at once have been rotated, next to a bare loop that makes the same writes?
import * as z from "zod";
import type { Contestants } from "../contestants.ts";
import { ContestantProcess } from "../measure/contestant-process.ts";
import { collectServerGarbage } from "../measure/server-garbage.ts";
import type { Scenario } from "../scenario.ts";
import { applyProductCrds } from "../worlds/product-crds.ts";
import { rotationWorlds } from "../worlds/rotation-world.ts";

/** Without delay, so that nothing is waited for. */
export const promptTargets = { live: "0s", fallback: "0s" };
const done = z.object({ type: z.literal("done"), ms: z.number() });

/** The scenario, for these contestants. */
export function rotationSettle(contestants: Contestants): Scenario {
  let runs = 0;
  return {
    id: "rotation-settle",
    title: "Rotating 1,000 sources that changed at once",
    method:
      "1,000 sets of two targets without delay, each holding a version of its own. All sources are changed by 16 writers of the same process; from the first change until the status of every target " +
      "tells of its new version. Each set takes a new version record, two targets, a note of when, the removal of the oldest record, two statuses and two Events. " +
      "The bare loop knows every write beforehand and sends the same, with as many workers as the controller has. (With `--quick`, 100 sets.)",
    contestants: [contestants.ours("rotation-settle", "Keyturn"), contestants.ours("rotation-bare-loop", "bare loop")],
    metrics: [{ id: "settled", label: "settled", unit: "ms" }],
    goals: [
      {
        text: "1,000 sources changed at once: time, of a bare loop's",
        contestant: "rotation-settle",
        metric: "settled",
        type: "ratio",
        of: "rotation-bare-loop",
        atMost: 1.5,
      },
    ],
    prepare: applyProductCrds,
    async measure({ command }, bed) {
      await using world = await rotationWorlds(promptTargets)(bed, { name: String(runs++), size: bed.quick ? 100 : 1000 });
      await collectServerGarbage(bed);
      await using contestant = new ContestantProcess({ ...command, args: [...command.args, ...world.args] }, bed.cluster.adminKubeconfig);
      return { settled: done.parse(await contestant.next(600_000)).ms };
    },
  };
}
