// The JWKS controller in a seeded simulation: crashes between any two writes, lost answers, stale caches, two replicas. Nothing is lost, early or late.
import { Deployment, Service } from "@keyturn/runtime";
import { expect, test } from "vitest";
import { forEachSeed, modelOperator, oneWriter, simulate } from "@keyturn/runtime/testing";
import { JWKS, JWKSConfig } from "../../packages/keyturn/src/controllers/jwks/api.ts";
import { jwksFeature } from "../../packages/keyturn/src/controllers/jwks/feature.ts";
import { keyturn } from "../../packages/keyturn/src/feature/feature.ts";
import { publishedRight, publishingActions, publishingUnsettled } from "./simulated-publishing.ts";

/** Renewing two Leases every 2 s makes 60 requests a minute, standing by for them up to 166. */
const maxWhenSettled = 180;

function publishing(seed: number, flags: Readonly<Record<string, string>>): Parameters<typeof simulate>[0] {
  const controllers = () => jwksFeature.controllers((flag) => flag.parse(flags[flag.name]));
  return {
    seed,
    processes: ["one", "two"].map((name) => modelOperator(name, { controllers: controllers(), operator: keyturn })),
    setup: ({ server }) => [JWKSConfig, JWKS, Deployment, Service].forEach((kind) => server.serve(kind)),
    actions: publishingActions,
    unsettled: publishingUnsettled(),
    maxRequestsPerMinute: maxWhenSettled,
    // Steps of the clock are the property tests' business: here every date is checked to the second. A restored store has forgotten what was published.
    worldFaults: { clockJump: 0, restore: 0 },
    invariants: { "one writer": oneWriter("kube-system/jwks", ["configmaps"]), "published right": publishedRight() },
  };
}

test.each([
  ["with the limits off", { "jwks.reconcile-interval": "0", "jwks.reconciles-per-minute": "0", "jwks.configmap-interval": "0" }],
  ["with the default limits", {}],
])("%s: every document is right at every moment, and the last one is complete", async (_which, flags) => {
  await forEachSeed(40, async (seed) => {
    const report = await simulate(publishing(seed, flags));
    expect(report.writes).toBeGreaterThan(0);
  });
});
