// How long does a whole controller of the product take, next to a bare loop that makes the same writes? JWKS, whose run has every part: owned objects, a finalizer, a status, Events.
import type { Contestants } from "../contestants.ts";
import type { Scenario } from "../scenario.ts";
import { applyProductCrds, createJwksWorld } from "../worlds/controller-worlds.ts";
import { measureCost } from "./growth.ts";

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
    contestants: [{ ...contestants.ours("controller", "Keyturn"), id: "jwks-converge" }, contestants.ours("jwks-bare-loop", "bare loop")],
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
    async measure(contestant, bed) {
      await using world = await createJwksWorld(bed, { name: String(runs++), size: bed.quick ? 100 : 1000 });
      const { time } = await measureCost(contestant, bed, { world, feature: "jwks", resources: [] });
      return { converged: time };
    },
  };
}
