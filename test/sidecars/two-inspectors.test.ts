// What a second reason for restarts can count on: a workload that both want is restarted once, for all of it, and there is one budget.
import { describe, expect, test } from "vitest";
import { sidecarsFleet, type SidecarsOptions } from "../../packages/keyturn/src/controllers/sidecars/controller.ts";
import { sidecarsReasons } from "../../packages/keyturn/src/controllers/sidecars/reasons.ts";
import type { Finding, InspectorDefinition } from "../../packages/keyturn/src/workloads/inspector.ts";
import { type Inspection, type WorkloadId, workloadId } from "../../packages/keyturn/src/workloads/rollout-plan.ts";
import { rolloutsController } from "../../packages/keyturn/src/workloads/rollouts.ts";
import type { Workload } from "../../packages/keyturn/src/workloads/workload.ts";
import { namespace, SweptWorld } from "./swept-world.ts";

const idOf = (name: string): WorkloadId => workloadId({ kind: "Deployment", namespace, name });

/** Wants workloads restarted that were not since something changed, and counts what it hears. */
class Toy {
  /** What it says of a workload, instead. */
  readonly says = new Map<WorkloadId, Inspection>();
  readonly wants: ReadonlySet<WorkloadId>;
  readonly restarted: string[] = [];
  shown: readonly string[] = [];

  constructor(names: readonly string[]) {
    this.wants = new Set(names.map(idOf));
  }

  get definition(): InspectorDefinition {
    return {
      name: "toy",
      access: [],
      events: { restarted: "ToyRestart", finished: { reason: "ToyFinished", message: "it is new" }, stuck: "it is not healthy in time" },
      setUp: () => ({
        inspect: (_id, workload) => workload && this.#finding(workload),
        lookAgain: (workload) => Promise.resolve(this.#finding(workload)),
        ids: () => [],
        uidOf: () => undefined,
        caches: [],
        answered: () => Promise.resolve(),
      }),
      metrics: () => ({
        show: (rows) => void (this.shown = [...new Set([...this.shown, ...rows.flatMap(({ outdated }) => outdated ?? [])])]),
        hide() {},
        restarted: (reason) => void this.restarted.push(reason),
        restartFailed() {},
      }),
    };
  }

  #finding({ ref, restartedAt }: Pick<Workload, "ref" | "restartedAt">): Finding {
    const isOld = this.wants.has(workloadId(ref)) && restartedAt === undefined;
    const inspection: Inspection = isOld
      ? { type: "outdated", reason: "ToyDiffers", message: "has an old toy", digest: "toy:1" }
      : { type: "current" };
    return { inspection: this.says.get(workloadId(ref)) ?? inspection, replaced: true, blocker: undefined, againInMs: undefined };
  }
}

const both =
  (toy: Toy) =>
  (options: SidecarsOptions): ReturnType<typeof rolloutsController> => {
    const fleet = sidecarsFleet(options);
    return rolloutsController({
      ...fleet,
      inspectors: [...fleet.inspectors, toy.definition],
      limits: options.limits,
      dryRun: false,
      reasons: { ...sidecarsReasons, ToyRestart: { meaning: "" }, ToyFinished: { meaning: "" } },
    });
  };

const workloads = { sidecar: true, sidecar2: true, both: true, both2: true, toy: false, toy2: false, none: false };
const wanted = ["both", "both2", "toy", "toy2"];
const once = { sidecar: 1, sidecar2: 1, both: 1, both2: 1, toy: 1, toy2: 1, none: 0 };

describe("of two inspectors", () => {
  test("a workload that both want is restarted once, for what either says, within one budget", async () => {
    const toy = new Toy(wanted);
    const world = new SweptWorld({ workloads, controller: both(toy) });
    await world.pass(300);
    expect([world.restartCounts, world.labelled, world.mostRolling]).toEqual([once, [], 2]);
    // Each counts its own part, in its own words, and is told of no other's.
    expect(toy.restarted).toEqual(["ToyDiffers", "ToyDiffers", "ToyDiffers", "ToyDiffers"]);
    expect(toy.shown).toEqual(["ToyDiffers"]);
    expect(world.eventsAbout("toy")).toEqual(["ToyRestart", "ToyFinished"]);
    expect(world.eventsAbout("both")).toEqual(["SidecarRestart", "SidecarRolloutFinished"]);
    expect(world.eventsAbout("sidecar")).toEqual(["SidecarRestart", "SidecarRolloutFinished"]);
    expect(world.eventsAbout("none")).toEqual([]);
  });

  test("a new pod that the API server refuses keeps a workload from being restarted for either", async () => {
    const toy = new Toy(wanted);
    const world = new SweptWorld({ workloads, controller: both(toy) });
    world.refusal = 'pods "x" is forbidden: violates PodSecurity "restricted:latest"';
    await world.pass(60);
    expect([world.restartCounts, toy.restarted]).toEqual([Object.fromEntries(Object.keys(once).map((name) => [name, 0])), []]);
    expect(world.eventsAbout("toy")).toContain("PodRefused");
    // Six workloads, asked about after 5, 10, 20 and 40 s at most.
    expect(world.counted.question).toBeLessThanOrEqual(6 * 5);
    world.refusal = undefined;
    await world.pass(600);
    expect([world.restartCounts, world.labelled]).toEqual([once, []]);
  });

  test("while the one does not know what a new pod would be, the other restarts nothing", async () => {
    const toy = new Toy(wanted);
    const world = new SweptWorld({ workloads, controller: both(toy) });
    toy.says.set(idOf("sidecar"), { type: "unknown", reason: "ToyUnknown", message: "nobody knows" });
    toy.says.set(idOf("sidecar2"), { type: "unknown", reason: "ToyUndecidable", message: "nobody ever knows", lasts: true });
    await world.pass(300);
    expect([world.restartCounts, world.labelled]).toEqual([{ ...once, sidecar: 0 }, []]);
    expect(world.eventsAbout("sidecar")).toEqual(["ToyUnknown"]);
  });

  test.each([
    ["killed before", "write"],
    ["killed after", "write"],
    ["unanswered", "question"],
    ["unanswered", "call"],
  ] as const)("%s at any %s, each is restarted once", async (what, sort) => {
    for (const at of [1, 2, 3, 5, 8]) {
      const world = new SweptWorld({ workloads, controller: both(new Toy(wanted)), fault: { sort, at, what } });
      await world.pass(600);
      expect([at, world.restartCounts, world.labelled]).toEqual([at, once, []]);
    }
  });
});
