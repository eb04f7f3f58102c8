// The engine for controllers whose work is mostly outside of the API server: step by step, each remembered in the object before the next.
import { beforeEach, expect, test } from "vitest";
import type { Stored } from "../client/kind.ts";
import { sleep } from "../clock.ts";
import type { ControllerScope, Reconcile } from "./controller.ts";
import { EngineRig, Widget } from "./engine-rig.fixture.ts";
import { TerminalError, TransientError } from "./failure.ts";
import { isBeingDeleted } from "./finalizer.ts";
import type { ConditionReport, Plan, ReasonTable, StatusReport } from "./plan.ts";
import type { Planner, ReconcileOptions } from "./planner.ts";
import { reconcileWith } from "./reconcile.ts";

const reasons = {
  Ready: { meaning: "All is well.", health: "healthy" },
  Left: { meaning: "Something was left behind." },
} as const satisfies ReasonTable;

interface Seen {
  readonly widget: Stored<Widget>;
  readonly isMade: boolean;
}
type Make = "make";

const ready: ConditionReport = { status: "True", reason: "Ready", message: "made" };
const reportOn = (object: Stored<Widget>, change: Partial<StatusReport> = {}): StatusReport => ({
  regarding: { kind: Widget, object },
  conditions: { Ready: ready },
  fields: { count: 1 },
  ...change,
});

let rig: EngineRig;
beforeEach(() => {
  rig = new EngineRig();
  rig.put("a", { text: "one" });
});

/** Makes something outside, which takes two seconds, and reports. */
function making(change: Partial<Planner<Seen, never, Make>> = {}, options: Partial<ReconcileOptions> = {}): (scope: ControllerScope) => Reconcile {
  return (scope) => {
    const objects = scope.watch<Widget, Stored<Widget>>(Widget);
    scope.trigger(objects);
    const planner: Planner<Seen, never, Make> = {
      observe({ key }) {
        const widget = objects.get(key);
        return widget && { widget, isMade: false };
      },
      plan: ({ widget, isMade }) =>
        isMade ? { steps: [], status: [reportOn(widget)] } : { steps: [{ verb: "do", action: "make" }], more: true, status: [] },
      async act(_make, seen) {
        await sleep(scope.clock, 2_000);
        return { ...seen, isMade: true };
      },
      regarding(key) {
        const object = objects.get(key);
        return object ? [{ kind: Widget, object }] : [];
      },
      ...change,
    };
    return reconcileWith(scope, planner, { reasons, ...options });
  };
}

test("time goes on between rounds, by the API server's clock, and a date is counted from then", async () => {
  rig.aheadMs = 5_000;
  const startMs = rig.clock.now() + 5_000;
  const acted: number[] = [];
  const planned: number[] = [];
  const act: Planner<Seen, never, Make>["act"] = async (_make, seen, _run, nowMs) => {
    acted.push(nowMs - startMs);
    await sleep(rig.clock, 2_000);
    return { ...seen, isMade: true };
  };
  const plan = ({ isMade }: Seen, { nowMs }: { readonly nowMs: number }): Plan<never, Make> => {
    planned.push(nowMs - startMs);
    return isMade ? { steps: [], status: [], nextAtMs: nowMs + 1_000 } : { steps: [{ verb: "do", action: "make" }], more: true, status: [] };
  };
  rig.start(making({ act, plan }));
  await rig.during(5_900);
  const [firstMs = 0] = planned;
  expect(planned.map((ms) => Math.round((ms - firstMs) / 1_000))).toEqual([0, 2, 3, 5]);
  expect(acted.map((ms) => Math.round((ms - firstMs) / 1_000))).toEqual([0, 3]);
});

test("a finalizer that was added is known to whoever writes to the very version that was observed", async () => {
  const finalizer: NonNullable<Planner<Seen, never, Make>["finalizer"]> = {
    name: "rig.dev/hold",
    of: ({ widget }) => ({ kind: Widget, object: widget }),
    added: (seen, metadata) => ({ ...seen, widget: { ...seen.widget, metadata } }),
  };
  const plan = ({ widget }: Seen): Plan<never, Make> => ({ steps: [], status: [reportOn(widget, { onlyIfUnchanged: true })] });
  rig.start(making({ finalizer, plan }));
  expect(await rig.during(1_000)).toEqual(["PATCH widgets/a", "PATCH widgets/a/status"]);
  expect([rig.condition("a"), rig.results[0]]).toEqual(["True Ready", "success"]);
});

test("a status that is only for what was observed does not replace what somebody wrote meanwhile", async () => {
  let left = 1;
  rig.before = ({ path }) => {
    if (path.includes("/status") && left-- > 0) rig.put("a", { text: "two" });
  };
  const plan = ({ widget }: Seen): Plan<never, Make> => ({
    steps: [],
    status: [reportOn(widget, { onlyIfUnchanged: true, fields: { text: widget.spec.text } })],
  });
  rig.start(making({ plan }));
  expect(await rig.during(1_000)).toEqual(["PATCH widgets/a/status", "PATCH widgets/a/status"]);
  expect([rig.status("a")?.["text"], rig.events]).toEqual(["two", []]);
});

test("conditions stand in the order that the report wants, whenever they first appeared", async () => {
  const plan = ({ widget }: Seen): Plan<never, Make> => {
    const conditions = widget.spec.text === "one" ? { Ready: ready } : { Reached: ready, Ready: ready, Made: ready };
    return { steps: [], status: [reportOn(widget, { conditions, order: ["Made", "Reached", "Ready"] })] };
  };
  rig.start(making({ plan }));
  await rig.during(1_000);
  rig.put("a", { text: "two" });
  await rig.during(1_000);
  expect(rig.status("a")?.["conditions"]).toMatchObject([{ type: "Made" }, { type: "Reached" }, { type: "Ready" }]);
  expect(await rig.during(60_000)).toEqual([]);
});

test("how long a failure goes untold may depend on how the object fares", async () => {
  const act = (): Promise<Seen> => Promise.reject(new TransientError("not now", { reason: "Outside" }));
  rig.start(making({ act }, { toleratedMs: ([widget]) => (widget?.object.status ? 5_000 : 0) }));
  await rig.during(100);
  expect([rig.condition("a"), rig.warnings]).toEqual(["False Outside", ["Outside"]]);
});

test("a refusal may say how long it lasts at least: it is told at once and tried again then", async () => {
  let tries = 0;
  const act = (): Promise<Seen> => {
    tries++;
    return Promise.reject(new TerminalError("no right", { reason: "Outside", retryAfterMs: 300_000 }));
  };
  rig.start(making({ act }));
  await rig.during(100);
  expect(rig.condition("a")).toBe("False Outside");
  // Our own report brings a run of its own.
  const before = tries;
  await rig.during(290_000);
  expect(tries).toBe(before);
  await rig.during(100_000);
  expect(tries).toBe(before + 1);
});

test("what was left behind is told and counted once the object is let go, and not before", async () => {
  const finalizer = { name: "rig.dev/hold", of: ({ widget }: Seen) => ({ kind: Widget, object: widget }) };
  const released: string[] = [];
  const plan = ({ widget }: Seen): Plan<never, Make> => {
    if (!isBeingDeleted(widget)) return { steps: [], status: [] };
    const regarding = { kind: Widget, object: widget };
    return { steps: [], status: [], release: true, events: [{ regarding, type: "Warning", reason: "Left", message: "a thing" }] };
  };
  rig.start(making({ finalizer, plan, released: (_plan, { key }) => void released.push(key) }));
  await rig.during(1_000);
  rig.refuse = ({ method, path }) => (method === "PATCH" && path.includes("/widgets/a") ? { status: 503, reason: "ServiceUnavailable" } : undefined);
  rig.delete("a");
  await rig.during(3_000);
  expect([rig.reasons, released]).toEqual([[], []]);
  rig.refuse = () => undefined;
  await rig.during(60_000);
  expect([rig.reasons.filter((reason) => reason === "Left"), released]).toEqual([["Left"], ["default/a"]]);
});
