// The whole manager in a seeded simulation: two or three replicas with leader election, crashes between any two writes, and everything else that goes wrong.
import { describe, expect, test } from "vitest";
import { modelOperator, type ModelOperatorOptions, oneWriter } from "@keyturn/runtime/testing";
import type { Transport } from "../../src/client/transport.ts";
import type { Manager } from "../../src/manager/manager.ts";
import { forEachSeed, simulate, SimulationError } from "../../src/testing/simulation/index.ts";
import type { SimulationOptions } from "../../src/testing/simulation/index.ts";
import { mirrorController, operator } from "./mirror-controller.ts";
import { lostUpdate, mirrorActions, mirrorUnsettled, secretNames } from "./mirror-world.ts";

/** Renewing a Lease every 2 s makes 30 requests a minute, standing by for it up to 83: so soon is one that was given back taken. */
const maxWhenSettled = 90;
/** Even under all faults at once nobody floods the server. */
const maxInAnyMinute = 400;

function mirrorSimulation(seed: number, change: Partial<ModelOperatorOptions> = {}): SimulationOptions {
  const managers = new Map<string, Manager>();
  const names = seed % 2 === 0 ? ["one", "two"] : ["one", "two", "three"];
  const waiting = (): number => {
    const activities = [...managers.values()].flatMap((manager) => manager.statuses().map(({ activity }) => activity));
    return Math.max(0, ...activities.map(({ ready, delayed, held }) => ready + delayed + held));
  };
  return {
    seed,
    processes: names.map((name) =>
      modelOperator(name, { controllers: [mirrorController], operator, onStart: (manager) => void managers.set(name, manager), ...change }),
    ),
    actions: mirrorActions,
    unsettled: mirrorUnsettled,
    maxRequestsPerMinute: maxWhenSettled,
    invariants: {
      "one writer": oneWriter("kube-system/mirror", ["configmaps", "secrets"]),
      "no lost update": lostUpdate,
      "bounded queues": () => (waiting() > secretNames.length ? `${waiting()} keys wait, but there are only ${secretNames.length}` : undefined),
    },
  };
}

describe("a manager with leader election, under all faults", () => {
  test("converges, with one writer at a time, no lost update and no hot loop", async () => {
    await forEachSeed(200, async (seed) => {
      const report = await simulate(mirrorSimulation(seed));
      expect(report.busiestMinute).toBeLessThan(maxInAnyMinute);
    });
  });

  test("replays a seed to the byte", async () => {
    const [first, again] = [await simulate(mirrorSimulation(11)), await simulate(mirrorSimulation(11))];
    expect(again.trace.join("\n")).toBe(first.trace.join("\n"));
  });
});

describe("the simulation notices", () => {
  /** The problem of the first seed that has one. */
  async function firstProblem(change: Partial<ModelOperatorOptions>): Promise<string> {
    for (let seed = 1; seed <= 20; seed += 1) {
      const problem = await simulate(mirrorSimulation(seed, change)).then(
        () => undefined,
        (error: unknown) => (error instanceof SimulationError ? error.message : Promise.reject(error)),
      );
      if (problem !== undefined) return problem;
    }
    return "none";
  }

  test("two that write at once", async () => {
    expect(await firstProblem({ elects: false })).toContain("one writer is violated");
  });

  test("events that are lost when a watch is resumed", async () => {
    const skip = (path: string): string => path.replace(/\bresourceVersion=(\d+)/, (_whole, version) => `resourceVersion=${Number(version) + 40}`);
    const wrap = (wire: Transport): Transport => ({
      send: (request, signal) => wire.send({ ...request, path: request.path.includes("watch=true") ? skip(request.path) : request.path }, signal),
      close: () => wire.close(),
    });
    expect(await firstProblem({ wrap })).toMatch(/not settled|settled, and then no longer/);
  });
});
