// How long does it take to publish 1,000 JWKSConfigs from nothing, next to a bare loop that makes the same writes?
import * as z from "zod";
import type { Contestants } from "../contestants.ts";
import { ContestantProcess } from "../measure/contestant-process.ts";
import { collectServerGarbage } from "../measure/server-garbage.ts";
import type { Scenario } from "../scenario.ts";
import { createJwksWorld } from "../worlds/jwks-world.ts";
import { applyProductCrds } from "../worlds/product-crds.ts";

const done = z.object({ type: z.literal("done"), ms: z.number() });

/** The scenario, for these contestants. */
export function jwksConverge(contestants: Contestants): Scenario {
  let runs = 0;
  return {
    id: "jwks-converge",
    title: "Publishing 1,000 JWKSConfigs from nothing",
    method:
      "A new namespace with 1,000 Secrets and 1,000 JWKSConfigs that want nginx: four managed objects, a finalizer and a status each. " +
      "Keyturn is timed from its start, caches included, until the status of every object says Published; its rate limits are off. " +
      "The bare loop knows every write beforehand and sends them with as many workers as the controller has; only its writes are timed. No controller makes pods, which would take longer than either. " +
      "(With `--quick`, 100 objects.)",
    contestants: [contestants.ours("jwks-converge", "Keyturn"), contestants.ours("jwks-bare-loop", "bare loop")],
    metrics: [{ id: "converged", label: "converged", unit: "ms" }],
    goals: [
      {
        text: "1,000 JWKSConfigs: time, of a bare loop's",
        contestant: "jwks-converge",
        metric: "converged",
        type: "ratio",
        of: "jwks-bare-loop",
        atMost: 1.5,
      },
    ],
    prepare: applyProductCrds,
    async measure({ command }, bed) {
      await using world = await createJwksWorld(bed, { name: String(runs++), size: bed.quick ? 100 : 1000 });
      await collectServerGarbage(bed);
      await using contestant = new ContestantProcess({ ...command, args: [...command.args, ...world.args] }, bed.cluster.adminKubeconfig);
      return { converged: done.parse(await contestant.next(300_000)).ms };
    },
  };
}
