import { test } from "vitest";
import { writeFileSync } from "node:fs";
import { simulate, SimulationError } from "../../packages/runtime/src/testing/simulation/index.ts";
import { publishing } from "./jwks.sim.test.ts";
test("t", async () => {
  try { await simulate(publishing(Number(process.env.SEED), { "jwks.reconcile-interval": "0", "jwks.reconciles-per-minute": "0", "jwks.configmap-interval": "0" })); }
  catch (e) { if (e instanceof SimulationError) writeFileSync("/tmp/trace.txt", (e as any).trace.join("\n")); throw e; }
});
