// The whole manager in a seeded simulation: two or three replicas with leader election, crashes between any two writes, and everything else that goes wrong.
import { describe, expect, test } from "vitest";
import type { Manager } from "../../packages/runtime/src/manager/manager.ts";
import { forEachSeed, simulate } from "../../packages/runtime/src/testing/simulation/index.ts";
import type { SimulationOptions } from "../../packages/runtime/src/testing/simulation/index.ts";
import { mirrorController } from "./mirror-controller.ts";
import { lostUpdate, mirrorActions, mirrorUnsettled, secretNames } from "./mirror-world.ts";
import { modelOperator } from "./model-operator.ts";
import { oneWriter } from "./one-writer.ts";

/** Renewing a lease every 2 s makes 30 requests a minute, standing by for it as many. */
const mostWhenSettled = 80;
/** Even under all faults at once nobody floods the server. */
const mostInAnyMinute = 400;

function mirrorSimulation(seed: number): SimulationOptions {
  const managers = new Map<string, Manager>();
  const names = seed % 2 === 0 ? ["one", "two"] : ["one", "two", "three"];
  return {
    seed,
    processes: names.map((name) => modelOperator(name, { controllers: [mirrorController], onStart: (manager) => void managers.set(name, manager) })),
    actions: mirrorActions,
    unsettled: mirrorUnsettled,
    mostRequestsPerMinute: mostWhenSettled,
    invariants: {
      "one writer": oneWriter("kube-system/mirror", ["configmaps", "secrets"]),
      "no lost update": lostUpdate,
      "bounded queues": () => {
        const longest = Math.max(
          0,
          ...[...managers.values()].flatMap((manager) => manager.statuses().map(({ activity }) => activity.ready + activity.delayed + activity.held)),
        );
        return longest > secretNames.length ? `${longest} keys wait, but there are only ${secretNames.length}` : undefined;
      },
    },
  };
}

describe("a manager with leader election, under all faults", () => {
  test("converges, with one writer at a time, no lost update and no hot loop", async () => {
    await forEachSeed(200, async (seed) => {
      const report = await simulate(mirrorSimulation(seed));
      expect(report.busiestMinute).toBeLessThan(mostInAnyMinute);
    });
  });

  test("replays a seed to the byte", async () => {
    const [first, again] = [await simulate(mirrorSimulation(11)), await simulate(mirrorSimulation(11))];
    expect(again.trace.join("\n")).toBe(first.trace.join("\n"));
  });
});
