// `Ready`, as the runtime writes it for controllers that do not: set for a failure that lasts, taken back by a success, and never the controller's own.
import { beforeEach, expect, test } from "vitest";
import type { Stored } from "../client/kind.ts";
import type { ControllerScope, Reconcile, Run } from "./controller.ts";
import { EngineRig, Widget } from "./engine-rig.fixture.ts";
import { TerminalError, TransientError } from "./failure.ts";
import { reconcileWith } from "./reconcile.ts";
import { writeStatus } from "./status.ts";

let rig: EngineRig;
/** What is wrong with every run. */
let trouble: Error | undefined;
beforeEach(() => {
  rig = new EngineRig();
  trouble = undefined;
});

/** A controller that says nothing about `Ready`. */
function silent(work: (run: Run) => Promise<void> = async () => {}): (scope: ControllerScope) => Reconcile {
  return (scope) => {
    scope.trigger(scope.watch(Widget, { keep: ({ spec }) => spec }));
    return async (run) => {
      if (trouble) throw trouble;
      await work(run);
    };
  };
}
const primary = { primary: Widget, backoff: { firstMs: 1_000, maxMs: 1_000, spread: 0 } };
const refused = new TerminalError("no", { reason: "Wrong" });

test("a hiccup is not shown; a failure that lasts is, and the next success takes it back", async () => {
  rig.put("a", { text: "one" });
  trouble = new TransientError("busy", { reason: "Busy" });
  rig.start(silent(), primary);
  await rig.during(4_000);
  expect(rig.condition("a")).toBeUndefined();
  await rig.during(4_000);
  expect(rig.condition("a")).toBe("False Busy");
  trouble = undefined;
  await rig.during(2_000);
  expect(rig.condition("a")).toBe("True Reconciled");
  expect(await rig.during(60_000)).toEqual([]);
});

test("a conflict is nobody's business, unless it lasts", async () => {
  rig.put("a", { text: "one" });
  trouble = new TransientError("somebody else writes it too", { reason: "Conflict" });
  rig.start(silent(), primary);
  await rig.during(25_000);
  expect(rig.condition("a")).toBeUndefined();
  await rig.during(10_000);
  expect(rig.condition("a")).toBe("False Conflict");
});

test("what an earlier process wrote is taken back too, and costs nothing for objects that are well", async () => {
  rig.put("a", { text: "one" });
  rig.put("b", { text: "one" });
  trouble = refused;
  rig.start(silent(), primary);
  await rig.during(1_000);
  expect(rig.condition("a")).toBe("False Wrong");
  rig.stop();
  trouble = undefined;
  rig.start(silent(), primary);
  await rig.during(5_000);
  expect([rig.condition("a"), rig.condition("b")]).toEqual(["True Reconciled", "True Reconciled"]);
  rig.stop();
  rig.start(silent(), primary);
  expect(await rig.during(60_000)).toEqual([]);
});

test("what the controller wrote itself stays, whatever it says", async () => {
  rig.put("a", { text: "one" });
  trouble = refused;
  const writes = async ({ key, client, signal }: Run): Promise<void> => {
    const object = await client.get(Widget, { namespace: "default", name: key.slice(8) }, signal);
    const conditions = [{ type: "Ready", status: "False", reason: "Own", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" }] as const;
    if (object) await writeStatus({ client, signal }, { kind: Widget, object, status: { conditions }, fieldManager: "own" });
  };
  rig.start(silent(writes), primary);
  await rig.during(1_000);
  expect(rig.condition("a")).toBe("False Wrong");
  trouble = undefined;
  await rig.during(10_000);
  expect(rig.condition("a")).toBe("False Own");
});

test("on the engine, a failure that the plan never speaks of goes with it, also after a restart", async () => {
  const engine = (scope: ControllerScope): Reconcile => {
    const objects = scope.watch<Widget, Stored<Widget>>(Widget);
    scope.trigger(objects);
    return reconcileWith(
      scope,
      {
        observe({ key }) {
          if (trouble) throw trouble;
          return objects.get(key);
        },
        plan: () => ({ steps: [], status: [] }),
        regarding(key) {
          const object = objects.get(key);
          return object ? [{ kind: Widget, object }] : [];
        },
      },
      { reasons: {} },
    );
  };
  rig.put("a", { text: "one" });
  trouble = refused;
  rig.start(engine);
  await rig.during(1_000);
  expect(rig.condition("a")).toBe("False Wrong");
  rig.stop();
  trouble = undefined;
  rig.start(engine);
  await rig.during(1_000);
  expect(rig.condition("a")).toBeUndefined();
});
