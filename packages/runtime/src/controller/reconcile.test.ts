// The engine by itself: what becomes of a plan, of every way in which it can fail, and of what the runtime knows of the past.
import { beforeEach, describe, expect, test } from "vitest";
import type { WholeCache } from "../cache/cache.ts";
import { ConfigMap } from "../client/builtin-kinds.ts";
import { keyOfObject, nameOf, type Stored } from "../client/kind.ts";
import type { TransportRequest } from "../client/transport.ts";
import type { ControllerScope, Reconcile } from "./controller.ts";
import { EngineRig, type Refusal, Widget } from "./engine-rig.fixture.ts";
import { TerminalError } from "./failure.ts";
import { canonicalJson, liveIn } from "./owned-objects.ts";
import type { Moment, Plan, ReasonTable, StatusReport, Write } from "./plan.ts";
import type { Planner, ReconcileOptions } from "./planner.ts";
import { reconcileWith } from "./reconcile.ts";
import { statusDigest } from "./status.ts";

const reasons = {
  Ready: { meaning: "All is well.", health: "healthy" },
  PartRefused: { meaning: "A part is not wanted.", health: "degraded" },
  ClockSkew: { meaning: "Clocks differ.", health: "degraded" },
  Paused: { meaning: "People asked for nothing to be done.", health: "paused" },
  Made: { meaning: "Something was made." },
} as const satisfies ReasonTable;

interface Observed {
  readonly widget: Stored<Widget>;
  readonly maps: WholeCache<ConfigMap>;
}

/** A ConfigMap for the Widget, and one for each of its parts. */
function planWidget({ widget, maps }: Observed, { refused, clockSkew }: Moment): Plan {
  const owner = { kind: Widget, name: nameOf(keyOfObject(widget)) };
  const { name, deletionTimestamp } = widget.metadata;
  if (deletionTimestamp !== undefined)
    return { steps: [{ verb: "delete", kind: ConfigMap, name: { namespace: "default", name }, owner }], status: [], release: true };
  const write = (mapName: string, text: string, options: Pick<Write, "part" | "events">): Write => {
    const object = { metadata: { namespace: "default", name: mapName }, data: { text } };
    return { verb: "apply", kind: ConfigMap, object, owner, live: liveIn(maps, `default/${mapName}`), ...options };
  };
  const parts = Object.entries(widget.spec.parts ?? {});
  const [blocker] = clockSkew ? [clockSkew] : refused.values();
  const ready: StatusReport["conditions"][string] = blocker
    ? { status: "False", reason: clockSkew ? "ClockSkew" : "PartRefused", message: blocker.message }
    : { status: "True", reason: "Ready", message: "made" };
  const main = write(name, widget.spec.text, { events: [{ type: "Normal", reason: "Made", message: widget.spec.text }] });
  const others = parts.filter(([part]) => !refused.has(part)).map(([part, text]) => write(`${name}-${part}`, text, { part }));
  return {
    steps: clockSkew ? [] : [main, ...others],
    status: [{ regarding: { kind: Widget, object: widget }, conditions: { Ready: ready }, fields: { count: parts.length } }],
  };
}

function widgets(options: Partial<ReconcileOptions> = {}, change: Partial<Planner<Observed>> = {}): (scope: ControllerScope) => Reconcile {
  return (scope) => widgetsOf(scope, scope.watch(ConfigMap), { options, change });
}

function widgetsOf(
  scope: ControllerScope,
  maps: WholeCache<ConfigMap>,
  { options = {}, change = {} }: { readonly options?: Partial<ReconcileOptions>; readonly change?: Partial<Planner<Observed>> } = {},
): Reconcile {
  const objects = scope.watch<Widget, Stored<Widget>>(Widget);
  scope.trigger(objects);
  return reconcileWith(
    scope,
    {
      observe({ key }) {
        const widget = objects.get(key);
        return widget && { widget, maps };
      },
      plan: planWidget,
      regarding(key) {
        const object = objects.get(key);
        return object ? [{ kind: Widget, object }] : [];
      },
      ...change,
    },
    { reasons, ...options },
  );
}

let rig: EngineRig;
beforeEach(() => {
  rig = new EngineRig();
});
const isMap = ({ path, method }: TransportRequest): boolean => path.includes("/configmaps") && method !== "GET";
const finalizer = { name: "rig.dev/hold", of: ({ widget }: Observed) => ({ kind: Widget, object: widget }) };
const forbidden: Refusal = { status: 403, reason: "Forbidden" };
const unavailable: Refusal = { status: 503, reason: "ServiceUnavailable" };
const conflict: Refusal = { status: 409, reason: "Conflict" };
/** Refuses what matches, so many times. */
function refusing(
  matches: (request: TransportRequest) => boolean,
  refusal: Refusal,
  times = Infinity,
): (request: TransportRequest) => Refusal | undefined {
  let left = times;
  return (request) => (matches(request) && left-- > 0 ? refusal : undefined);
}

describe("a plan that succeeds", () => {
  test("is written, reported and told, and a second time nothing is sent", async () => {
    rig.put("a", { text: "one" });
    rig.start(widgets());
    expect(await rig.during(1_000)).toEqual(["PATCH configmaps/a", "PATCH widgets/a/status"]);
    expect(rig.condition("a")).toBe("True Ready");
    expect(rig.status("a")?.["count"]).toBe(0);
    expect(rig.reasons).toEqual(["Made"]);
    rig.put("a", { text: "one", parts: {} });
    expect(await rig.during(1_000)).toEqual(["PATCH widgets/a/status"]);
    expect(rig.results.at(-1)).toBe("success");
  });

  test("is looked at again after the resync period, which is no date that anything waits for", async () => {
    rig.put("a", { text: "one" });
    rig.start(widgets(), { resyncMs: 100_000 });
    await rig.during(1_000);
    const runs = rig.results.length;
    await rig.during(98_000);
    expect(rig.results).toHaveLength(runs);
    expect(await rig.during(12_000)).toEqual([]);
    expect(rig.results.slice(runs)).toEqual(["success"]);
    await rig.during(100_000);
    expect(rig.results).toHaveLength(runs + 2);
  });

  test("is looked at again every ten hours unless something else is said, spread over one more, without a request where nothing has changed", async () => {
    for (let index = 0; index < 200; index++) rig.put(`w${index}`, { text: "one" });
    rig.start(widgets());
    await rig.during(60_000);
    const runs = rig.results.length;
    expect([await rig.during(10 * 3_600_000 - 120_000), rig.results.length]).toEqual([[], runs]);
    const perTenth: number[] = [];
    for (let tenth = 0; tenth < 10; tenth++) {
      const before = rig.results.length;
      expect(await rig.during(370_000)).toEqual([]);
      perTenth.push(rig.results.length - before);
    }
    expect(rig.results.length - runs).toBe(200);
    // Twenty on average, and never a crowd.
    expect(Math.max(...perTenth)).toBeLessThan(45);
  });

  test("is counted once for each change that was made, and remembered when it is complete", async () => {
    const done: string[] = [];
    rig.put("a", { text: "one", parts: { b: "1" } });
    const completed = ({ widget }: Observed): void => void done.push(`completed ${widget.spec.text}`);
    rig.start(widgets({}, { completed, done: (step) => void done.push(`${step.verb} ${step.part ?? "all"}`) }));
    await rig.during(1_000);
    rig.refuse = refusing(({ path }) => path.includes("/status"), unavailable, 1);
    rig.put("a", { text: "two", parts: { b: "1" } });
    await rig.during(500);
    // Once more each, for the run that our own status brought.
    expect(done).toEqual(["apply all", "apply b", "completed one", "completed one", "apply all"]);
    await rig.during(1_000);
    expect(done.slice(5)).toEqual(["completed two", "completed two"]);
  });
});

describe("a write that fails", () => {
  test.each([
    [403, "Forbidden"],
    [422, "Invalid"],
    [400, "BadRequest"],
    [405, "MethodNotAllowed"],
  ])(
    "for a reason that somebody can do something about (%i): Ready is False at once, with one Event, and it is tried again",
    async (status, reason) => {
      rig.put("a", { text: "one" });
      rig.refuse = refusing(isMap, { status, reason });
      rig.start(widgets());
      await rig.during(100);
      const shown = status === 405 ? "UnexpectedAnswer" : reason;
      expect(rig.condition("a")).toBe(`False ${shown}`);
      expect(rig.warnings).toEqual([shown]);
      // Our own condition is a change of the object, and brings one more try.
      expect(rig.refused).toBe(2);
      await rig.during(16_000);
      // The same failure again is no news.
      expect(rig.warnings).toEqual([shown]);
      expect(rig.refused).toBeGreaterThan(2);
      rig.refuse = () => undefined;
      await rig.during(60_000);
      expect(rig.condition("a")).toBe("True Ready");
    },
  );

  test("does not double its backoff because of our own report of it", async () => {
    rig.put("a", { text: "one" });
    rig.refuse = refusing(isMap, forbidden);
    rig.start(widgets(), { backoff: { firstMs: 10_000, maxMs: 600_000, spread: 0 } });
    const tries: number[] = [];
    for (let second = 0; second < 75; second++) if ((await rig.during(1_000)).some((request) => request.includes("configmaps"))) tries.push(second);
    // At 0 twice, with the run that our own condition brought; then after 10, 20 and 40 s.
    expect(tries).toEqual([0, 10, 30, 70]);
  });

  test("in passing is tolerated for five seconds, however often it was tried", async () => {
    rig.put("a", { text: "one" });
    rig.start(widgets());
    await rig.during(1_000);
    rig.refuse = refusing(isMap, unavailable);
    rig.put("a", { text: "two" });
    // It fails at 0, 1, 3 and 7 s.
    await rig.during(6_900);
    expect(rig.condition("a")).toBe("True Ready");
    await rig.during(200);
    expect(rig.condition("a")).toBe("False ServerError");
    expect(rig.warnings).toEqual(["ServerError"]);
    // Nothing else of the status is lost.
    expect(rig.status("a")?.["count"]).toBe(0);
    rig.refuse = () => undefined;
    await rig.during(20_000);
    expect(rig.condition("a")).toBe("True Ready");
    expect(rig.text("a")).toBe("two");
  });

  test("in passing is told at once if the server asks for a long wait", async () => {
    rig.put("a", { text: "one" });
    rig.refuse = refusing(isMap, { ...unavailable, retryAfterSeconds: 3_600 });
    rig.start(widgets());
    await rig.during(1_000);
    expect(rig.condition("a")).toBe("False ServerError");
    expect(rig.warnings).toEqual(["ServerError"]);
  });

  test("right after our own finalizer, so that the cache is behind, is told all the same", async () => {
    rig.put("a", { text: "one" });
    rig.refuse = refusing(isMap, forbidden);
    rig.network.faults = { ...rig.network.faults, latencyMs: [20, 20] };
    rig.start(widgets({}, { finalizer }));
    await rig.during(400);
    expect(rig.condition("a")).toBe("False Forbidden");
  });

  test("leaves conditions to be removed by whoever reports next", async () => {
    rig.put("a", { text: "one" });
    const plan = (observed: Observed, moment: Moment): Plan => {
      const planned = planWidget(observed, moment);
      const Extra = observed.widget.spec.text === "two" ? null : { status: "True" as const, reason: "Ready", message: "extra" };
      const regarding = { kind: Widget, object: observed.widget };
      const Ready = { status: "True", reason: "Ready", message: "made" } as const;
      return { ...planned, status: [{ regarding, conditions: { Ready, Extra }, fields: {} }] };
    };
    rig.start(widgets({}, { plan }));
    await rig.during(1_000);
    expect(rig.condition("a", "Extra")).toBe("True Ready");
    rig.refuse = refusing(isMap, forbidden, 1);
    rig.put("a", { text: "two" });
    await rig.during(10);
    await rig.during(60_000);
    expect([rig.condition("a"), rig.condition("a", "Extra")]).toEqual(["True Ready", undefined]);
    rig.put("a", { text: "two", parts: {} });
    expect(await rig.during(1_000)).toEqual(["PATCH widgets/a/status"]);
  });

  test("of the status itself is a failure like any other, and its Event does not wait for a status that can be written", async () => {
    rig.put("a", { text: "one" });
    rig.refuse = refusing(({ path }) => path.includes("/status"), forbidden);
    rig.start(widgets());
    await rig.during(30_000);
    expect(rig.results.slice(0, 2)).toEqual(["error", "error"]);
    expect(rig.reasons).toEqual(["Made", "Forbidden"]);
    rig.refuse = () => undefined;
    await rig.during(60_000);
    expect(rig.condition("a")).toBe("True Ready");
    expect(rig.reasons).toEqual(["Made", "Forbidden"]);
  });

  test("of one status of several is told of that object alone: what is said of the others is no change that brings the next run", async () => {
    rig.put("a", { text: "one" });
    rig.put("b", { text: "one" });
    rig.refuse = refusing(({ path }) => path.includes("/widgets/a/status"), unavailable);
    rig.start((scope) => {
      const objects = scope.watch<Widget, Stored<Widget>>(Widget);
      scope.trigger(objects, () => ["all"]);
      const all = () => Array.from(objects.entries(), ([, object]) => ({ kind: Widget, object }));
      const Ready = { status: "True", reason: "Ready", message: "made" } as const;
      const status = () => all().map((regarding) => ({ regarding, conditions: { Ready } }));
      return reconcileWith(scope, { observe: all, plan: () => ({ steps: [], status: status() }), regarding: all }, { reasons });
    });
    expect((await rig.during(60_000)).length).toBeLessThan(25);
    expect([rig.condition("a"), rig.condition("b")]).toEqual([undefined, "True Ready"]);
    expect(rig.events.map(({ reason, object }) => `${reason} ${object.name}`)).toEqual(["ServerError a"]);
    rig.refuse = () => undefined;
    await rig.during(60_000);
    expect([rig.condition("a"), rig.condition("b")]).toEqual(["True Ready", "True Ready"]);
  });

  test("that is worded otherwise each time floods nobody, and another spec is answered at once", async () => {
    rig.put("a", { text: "one" });
    let tries = 0;
    rig.start(
      widgets(
        {},
        {
          look: () => Promise.reject(new TerminalError(`refused for the ${++tries}. time`, { reason: "PartRefused" })),
          plan: () => ({ steps: [{ verb: "look", at: undefined as never }], status: [] }),
        },
      ),
    );
    await rig.during(60_000);
    expect(tries).toBeLessThan(12);
    const before = tries;
    rig.put("a", { text: "two" });
    await rig.during(1_000);
    expect(JSON.stringify(rig.status("a"))).toContain(`refused for the ${before + 1}. time`);
  });

  test.each([
    ["passing", unavailable],
    ["refused", forbidden],
    ["a conflict", conflict],
  ])("of an object whose name is another at every try is told once, in words without the name (%s)", async (_, refusal) => {
    rig.put("a", { text: "one" });
    rig.refuse = refusing(isMap, refusal);
    let tries = 0;
    const plan = (): Plan => {
      const object = { metadata: { namespace: "default", name: `map-${++tries}` }, data: {} };
      const owner = { kind: Widget, name: { namespace: "default", name: "a" } };
      return { steps: [{ verb: "apply", kind: ConfigMap, object, owner, live: { seen: "absent" }, nameInWords: "map-…" }], status: [] };
    };
    rig.start(widgets({}, { plan }));
    const requests = await rig.during(300_000);
    expect(tries).toBeGreaterThan(5);
    expect(rig.events.map(({ message }) => message)).toEqual([expect.stringContaining("configmaps default/map-…")]);
    expect(requests.filter((request) => request.endsWith("/status"))).toEqual(["PATCH widgets/a/status"]);
  });

  test("because the name is taken is told, and goes on by itself within five minutes of when the other goes, although no watch shows that", async () => {
    rig.put("a", { text: "one" });
    rig.putForeign("a");
    rig.start((scope) => widgetsOf(scope, scope.watch(ConfigMap, { labels: "app.kubernetes.io/managed-by=rig" })));
    await rig.during(3_600_000);
    expect(rig.condition("a")).toBe("False Conflict");
    expect(rig.text("a")).toBeUndefined();
    rig.deleteForeign("a");
    await rig.during(300_000);
    expect(rig.text("a")).toBe("one");
    expect(rig.condition("a")).toBe("True Ready");
  });

  test("of a key without conditions is told by an Event", async () => {
    rig.put("a", { text: "one" });
    rig.refuse = refusing(isMap, forbidden);
    const object = { metadata: { name: "default", uid: "u", resourceVersion: "1" } };
    rig.start(widgets({}, { regarding: () => [{ kind: Widget, object, eventsOnly: true }] }));
    await rig.during(60_000);
    expect(rig.events).toMatchObject([{ type: "Warning", reason: "Forbidden", object: { name: "default" } }]);
  });

  test.each([
    { deadlineMs: 5_000, toleratedMs: 0 },
    // Half a minute was passing enough.
    { deadlineMs: 40_000, toleratedMs: 5_000 },
  ])("by its deadline of $deadlineMs ms is told, although the run can write no more", async ({ deadlineMs, toleratedMs }) => {
    rig.put("a", { text: "one" });
    const hang: Planner<Observed>["observe"] = ({ signal }) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
    rig.start(widgets({ toleratedMs }, { observe: hang }), { deadlineMs });
    await rig.during(deadlineMs + 100);
    expect(rig.condition("a")).toBe("False DeadlineExceeded");
  });

  test("is said in the controller's own words if it has some", async () => {
    rig.put("a", { text: "one" });
    rig.refuse = refusing(isMap, forbidden);
    const failed: Planner<Observed>["failed"] = (failure, regarding) =>
      regarding.map((each) => ({ regarding: each, conditions: { Made: { status: "False", reason: failure.reason, message: "not made" } } }));
    rig.start(widgets({}, { failed }));
    await rig.during(1_000);
    expect([rig.condition("a", "Made"), rig.condition("a")]).toEqual(["False Forbidden", undefined]);
  });
});

describe("a part that is refused", () => {
  const parts = { good: "1", bad: "2", last: "3" };
  const refuseBad = ({ path, method, body = "" }: TransportRequest): Refusal | undefined =>
    path.includes("configmaps/a-bad") && method === "PATCH" && body.includes('"2"') ? { status: 422, reason: "Invalid" } : undefined;

  test("is set aside while the rest goes on, is told, and comes back by itself", async () => {
    rig.put("a", { text: "one", parts });
    rig.refuse = refuseBad;
    rig.start(widgets({ rateLimit: { minIntervalMs: 5_000, maxPerMinute: 12 } }));
    const applied = ["a", "a-good", "a-bad", "a-last"].map((name) => `PATCH configmaps/${name}`);
    expect(await rig.during(1_000)).toEqual([...applied, "PATCH widgets/a/status"]);
    expect(rig.condition("a")).toBe("False PartRefused");
    // What was done before it is told all the same.
    expect(rig.reasons).toEqual(["Made", "PartRefused"]);
    expect(rig.refused).toBe(1);
    // Nothing for a while, and then one write for each try.
    expect(await rig.during(13_000)).toEqual([]);
    expect(await rig.during(16_000)).toEqual(["PATCH configmaps/a-bad"]);
    rig.refuse = () => undefined;
    await rig.during(60_000);
    expect(rig.text("a-bad")).toBe("2");
    expect(rig.condition("a")).toBe("True Ready");
  });

  test("is tried at once when it is another than what was refused, and forgotten when it is not wanted", async () => {
    rig.put("a", { text: "one", parts });
    rig.refuse = refuseBad;
    rig.start(widgets());
    await rig.during(1_000);
    rig.put("a", { text: "two", parts });
    expect(await rig.during(100)).toEqual(["PATCH configmaps/a", "PATCH widgets/a/status"]);
    rig.put("a", { text: "two", parts: { ...parts, bad: "4" } });
    expect(await rig.during(100)).toEqual(["PATCH configmaps/a-bad", "PATCH widgets/a/status"]);
    expect(rig.condition("a")).toBe("True Ready");
    rig.put("a", { text: "two", parts });
    await rig.during(100);
    expect(rig.condition("a")).toBe("False PartRefused");
    rig.put("a", { text: "two" });
    await rig.during(100);
    expect(rig.condition("a")).toBe("True Ready");
  });

  test("is tried ever less often, and what somebody else puts right is noticed", async () => {
    rig.put("a", { text: "one", parts: { bad: "2" } });
    rig.refuse = refuseBad;
    rig.start(widgets());
    const requests = await rig.during(3_600_000);
    expect(requests.filter((request) => request.endsWith("a-bad")).length).toBeLessThan(20);
    rig.refuse = () => undefined;
    await rig.during(300_000);
    expect(rig.condition("a")).toBe("True Ready");
    const runs = rig.results.length;
    await rig.during(600_000);
    expect(rig.results).toHaveLength(runs);
  });

  test("keeps its backoff while a limit of the controller holds it back", async () => {
    // Without room, the parts of the plan are only named.
    let room = true;
    const plan = (observed: Observed, moment: Moment): Plan => {
      const full = planWidget(observed, moment);
      const { name } = observed.widget.metadata;
      const wanted = planWidget(observed, { ...moment, refused: new Map() }).steps.flatMap((step) =>
        step.verb === "apply" && step.part ? [step] : [],
      );
      const heldBack = wanted.map(({ part = "", object }) => ({ part, input: canonicalJson(object) }));
      return room
        ? { ...full, heldBack }
        : { ...full, heldBack, steps: full.steps.filter((step) => step.verb !== "apply" || step.object.metadata.name === name) };
    };
    const tries = (requests: readonly string[]): number => requests.filter((request) => request.endsWith("a-bad")).length;
    rig.put("a", { text: "one", parts: { bad: "2" } });
    rig.refuse = refuseBad;
    rig.start(widgets({ refusedPartBackoff: { firstMs: 10_000, maxMs: 600_000, spread: 0 } }, { plan }));
    expect(tries(await rig.during(1_000))).toBe(1);
    room = false;
    rig.put("a", { text: "two", parts: { bad: "2" } });
    expect(tries(await rig.during(1_000))).toBe(0);
    room = true;
    rig.put("a", { text: "three", parts: { bad: "2" } });
    // Not before its time, which room alone does not shorten.
    expect(tries(await rig.during(5_000))).toBe(0);
    expect(tries(await rig.during(5_000))).toBe(1);
    // Held back past its time, it goes on where it was: the third time comes 40 s after the second.
    room = false;
    rig.put("a", { text: "four", parts: { bad: "2" } });
    await rig.during(60_000);
    room = true;
    rig.put("a", { text: "five", parts: { bad: "2" } });
    expect(tries(await rig.during(1_000))).toBe(1);
    expect(tries(await rig.during(38_000))).toBe(0);
    expect(tries(await rig.during(3_000))).toBe(1);
  });

  test("is not what a passing failure makes of it", async () => {
    rig.put("a", { text: "one", parts });
    rig.refuse = refusing(({ path, method }) => method === "PATCH" && path.includes("a-bad"), unavailable, 1);
    rig.start(widgets());
    await rig.during(2_000);
    expect(rig.condition("a")).toBe("True Ready");
    expect(rig.refused).toBe(0);
  });
});

describe("a conflict", () => {
  test.each([
    [409, "Conflict"],
    [409, "AlreadyExists"],
    [404, "NotFound"],
  ])("(%i %s) is planned again at once from what is then there, without a failure and in its turn", async (status, reason) => {
    rig.put("a", { text: "one" });
    rig.start(widgets({ rateLimit: { minIntervalMs: 5_000, maxPerMinute: 12 } }));
    await rig.during(10_000);
    rig.refuse = refusing(isMap, { status, reason }, 2);
    rig.put("a", { text: "two" });
    expect(await rig.during(200)).toEqual(["PATCH configmaps/a", "PATCH configmaps/a", "PATCH configmaps/a"].concat("PATCH widgets/a/status"));
    expect(rig.results).not.toContain("error");
    expect(rig.reasons).toEqual(["Made", "Made"]);
    // It was one turn, and the next waits for its own.
    rig.put("a", { text: "three" });
    expect(await rig.during(4_000)).toEqual([]);
    expect(await rig.during(1_000)).toContain("PATCH configmaps/a");
  });

  test("that does not pass becomes a failure with its backoff, and floods nobody", async () => {
    rig.put("a", { text: "one" });
    rig.refuse = refusing(isMap, conflict);
    rig.start(widgets());
    const requests = await rig.during(60_000);
    expect(requests.length).toBeLessThan(30);
    expect(rig.condition("a")).toBe("False Conflict");
  });

  test("over a finalizer, which the server calls invalid, is one too", async () => {
    rig.put("a", { text: "one" });
    let left = 1;
    // Somebody writes between our cache and our patch.
    rig.before = ({ method, path }) => {
      if (method === "PATCH" && path.includes("/widgets/a") && left-- > 0) rig.put("a", { text: "two" });
    };
    rig.start(widgets({}, { finalizer }));
    await rig.during(500);
    expect(rig.results).not.toContain("error");
    expect(rig.condition("a")).toBe("True Ready");
    expect(rig.text("a")).toBe("two");
  });

  test("of one part that stays is a refusal of that part", async () => {
    rig.put("a", { text: "one", parts: { bad: "2", good: "3" } });
    rig.refuse = refusing(({ path, method }) => method === "PATCH" && path.includes("a-bad"), { status: 404, reason: "NotFound" });
    rig.start(widgets());
    await rig.during(2_000);
    expect(rig.condition("a")).toBe("False PartRefused");
    expect(rig.text("a-good")).toBe("3");
    expect(rig.results.filter((result) => result === "error")).toHaveLength(1);
  });
});

describe("the rate limit", () => {
  test("spaces runs that write, not those that do not, and an urgent plan does not wait", async () => {
    rig.put("a", { text: "one" });
    const urgent = (observed: Observed, moment: Moment): Plan => ({ ...planWidget(observed, moment), urgent: observed.widget.spec.text === "now" });
    rig.start(widgets({ rateLimit: { minIntervalMs: 5_000, maxPerMinute: 0 } }, { plan: urgent }));
    await rig.during(1_000);
    rig.put("a", { text: "two" });
    expect(await rig.during(3_000)).toEqual([]);
    expect(await rig.during(2_000)).toEqual(["PATCH configmaps/a", "PATCH widgets/a/status"]);
    rig.put("a", { text: "now" });
    expect(await rig.during(100)).toEqual(["PATCH configmaps/a", "PATCH widgets/a/status"]);
  });

  test("does not forget the backoff, and counts as neither success nor failure", async () => {
    rig.put("a", { text: "one" });
    rig.refuse = refusing(isMap, unavailable);
    rig.start(widgets({ rateLimit: { minIntervalMs: 3_000, maxPerMinute: 0 }, toleratedMs: 60_000 }));
    // Fails at 0; the retry at 1 s waits for its turn at 3 s; then 2 s of backoff, and its turn at 6 s; then 4 s: at 10 s.
    const tries: number[] = [];
    for (let second = 0; second < 12; second++) if ((await rig.during(1_000)).some((request) => request.includes("configmaps"))) tries.push(second);
    expect(tries).toEqual([0, 3, 6, 10]);
    expect(rig.results).not.toContain("success");
  });
});

describe("a plan that waits for a limit of its own", () => {
  /** Nothing is decided within a second of a change, as while a burst goes on. */
  function debounced(status = false): (scope: ControllerScope) => Reconcile {
    return widgets(
      {},
      {
        plan(observed, moment) {
          const changedMs = Number(observed.widget.spec.parts?.["at"] ?? 0);
          const { nowMs } = moment;
          const untilMs = changedMs + 1_000;
          const { steps: _, ...plan } = planWidget(observed, moment);
          return untilMs > nowMs ? { steps: [], status: status ? plan.status : [], deferred: true, nextAtMs: untilMs } : planWidget(observed, moment);
        },
      },
    );
  }
  const touch = (): void => rig.put("a", { text: "one", parts: { at: String(rig.clock.now()) } });

  test("is no success: a failure is told for all the changes that go on, and its backoff grows", async () => {
    rig.refuse = refusing(isMap, unavailable);
    touch();
    rig.start(debounced());
    const tries: number[] = [];
    for (let seconds = 0; seconds < 60; seconds += 2) {
      touch();
      tries.push((await rig.during(2_000)).filter((request) => request.includes("configmaps")).length);
    }
    expect(rig.condition("a")).toBe("False ServerError");
    expect(rig.warnings).toEqual(["ServerError"]);
    rig.refuse = () => undefined;
    expect(await rig.during(70_000)).toContain("PATCH widgets/a/status");
    expect(rig.condition("a")).toBe("True Ready");
  });

  test("says why, unless there is a failure to tell of", async () => {
    touch();
    rig.start(debounced(true));
    await rig.during(500);
    expect([rig.condition("a"), rig.text("a")]).toEqual(["True Ready", undefined]);
    await rig.during(1_000);
    expect(rig.text("a")).toBe("one");
    rig.refuse = refusing(isMap, forbidden);
    rig.put("a", { text: "two" });
    await rig.during(1_000);
    touch();
    await rig.during(500);
    expect(rig.condition("a")).toBe("False Forbidden");
  });
});

describe("a finalizer", () => {
  test("is added before anything is made, and dropped when the plan releases, at once", async () => {
    rig.put("a", { text: "one" });
    rig.start(widgets({ rateLimit: { minIntervalMs: 5_000, maxPerMinute: 12 } }, { finalizer }));
    expect(await rig.during(1_000)).toEqual(["PATCH widgets/a", "PATCH configmaps/a", "PATCH widgets/a/status"]);
    rig.delete("a");
    expect(await rig.during(1_000)).toEqual(["GET configmaps/a", "DELETE configmaps/a", "PATCH widgets/a"]);
    expect(rig.stored("widgets.test.dev", "a")).toBeUndefined();
  });

  test("stays while a deletion fails, and the object says so", async () => {
    rig.put("a", { text: "one" });
    rig.start(widgets({}, { finalizer }));
    await rig.during(1_000);
    rig.refuse = refusing(isMap, forbidden);
    rig.delete("a");
    await rig.during(1_000);
    expect(rig.condition("a")).toBe("False Forbidden");
    rig.refuse = () => undefined;
    await rig.during(20_000);
    expect(rig.stored("widgets.test.dev", "a")).toBeUndefined();
  });
});

describe("an object that is left alone", () => {
  const shown: string[] = [];
  const planner: Partial<Planner<Observed>> = { show: (key, value) => void shown.push(`${key} ${value ? "shown" : "hidden"}`) };
  beforeEach(() => shown.splice(0));

  test("because it is not selected is neither written nor shown", async () => {
    rig.put("a", { text: "one" });
    rig.start(widgets({ leaves: () => ({ type: "notSelected" }) }, planner));
    expect(await rig.during(1_000)).toEqual([]);
    expect(shown).toEqual([]);
  });

  test("because it is paused has only its status written, and goes on by itself", async () => {
    rig.put("a", { text: "one" });
    const resumesMs = rig.clock.now() + 60_000;
    const leaves = (scope: ControllerScope): ReconcileOptions["leaves"] => {
      const objects = scope.watch<Widget, Stored<Widget>>(Widget);
      return (key, nowMs) => {
        const object = objects.get(key);
        const Ready = { status: "Unknown", reason: "Paused", message: "later" } as const;
        if (!object || nowMs >= resumesMs) return undefined;
        return { type: "paused", status: [{ regarding: { kind: Widget, object }, conditions: { Ready } }], untilMs: resumesMs };
      };
    };
    rig.start((scope) => widgets({ leaves: leaves(scope) ?? (() => undefined) }, planner)(scope));
    expect(await rig.during(30_000)).toEqual(["PATCH widgets/a/status"]);
    expect(rig.condition("a")).toBe("Unknown Paused");
    expect(rig.events).toMatchObject([{ type: "Normal", reason: "Paused" }]);
    await rig.during(31_000);
    expect(rig.condition("a")).toBe("True Ready");
    expect(rig.text("a")).toBe("one");
  });
});

describe("rounds", () => {
  interface Seen {
    readonly widget: Stored<Widget>;
    readonly looked?: string;
    readonly acted: readonly string[];
  }
  interface Press {
    readonly type: "press";
    readonly button: string;
  }

  function pressing(done: string[], change: Partial<Planner<Seen, "outside", Press>> = {}): (scope: ControllerScope) => Reconcile {
    return (scope) => {
      const objects = scope.watch<Widget, Stored<Widget>>(Widget);
      scope.trigger(objects);
      const planner: Planner<Seen, "outside", Press> = {
        observe({ key }) {
          const widget = objects.get(key);
          return widget && { widget, acted: [] };
        },
        plan({ looked, acted, widget }) {
          if (looked === undefined) return { steps: [{ verb: "look", at: "outside" }], more: true, status: [] };
          if (acted.length < 2)
            return { steps: [{ verb: "do", action: { type: "press", button: `${acted.length}` }, part: "panel" }], more: true, status: [] };
          const Ready = { status: "True", reason: "Ready", message: looked } as const;
          return { steps: [], status: [{ regarding: { kind: Widget, object: widget }, conditions: { Ready }, fields: {} }] };
        },
        look: async (at, seen) => (done.push(at), { ...seen, looked: at }),
        act: async ({ button }, seen) => (done.push(button), { ...seen, acted: [...seen.acted, button] }),
        ...change,
      };
      return reconcileWith(scope, planner, { reasons });
    };
  }

  test("look, act, plan again, until there is nothing more to do", async () => {
    const done: string[] = [];
    rig.put("a", { text: "one" });
    rig.start(pressing(done));
    expect(await rig.during(10)).toEqual(["PATCH widgets/a/status"]);
    expect(done.slice(0, 3)).toEqual(["outside", "0", "1"]);
  });

  test("an action that does not show is not done twice in a run", async () => {
    const done: string[] = [];
    rig.put("a", { text: "one" });
    rig.start(pressing(done, { act: async ({ button }, seen) => (done.push(button), seen) }));
    await rig.during(10);
    expect(done).toEqual(["outside", "0"]);
    expect(rig.results).toEqual(["error"]);
  });

  test("a plan without an end is a failure", async () => {
    rig.put("a", { text: "one" });
    rig.start(pressing([], { plan: () => ({ steps: [], more: true, status: [] }) }));
    await rig.during(10);
    expect(rig.results).toEqual(["error"]);
  });

  test("a dry run looks, does nothing else, and says what it would do", async () => {
    const done: string[] = [];
    const counted: string[] = [];
    rig.put("a", { text: "one" });
    rig.start(pressing(done, { done: ({ verb }) => void counted.push(verb) }), { dryRun: true });
    expect(await rig.during(1_000)).toEqual([]);
    expect([done, counted]).toEqual([["outside"], []]);
    expect(rig.logs).toContain("would have done press for panel; withheld by dry run");
    expect(rig.results).toEqual(["success"]);
  });
});

test("a dry run of writes changes nothing, tells nobody, ends, and does not spin", async () => {
  rig.put("a", { text: "one", parts: { b: "1" } });
  const planner: Partial<Planner<Observed>> = { finalizer, plan: (observed, moment) => ({ ...planWidget(observed, moment), more: true }) };
  rig.start(widgets({ rateLimit: { minIntervalMs: 5_000, maxPerMinute: 12 } }, planner), { dryRun: true });
  await rig.during(60_000);
  expect([rig.text("a"), rig.condition("a"), rig.events]).toEqual([undefined, undefined, []]);
  expect(rig.logs).toContain("withheld: apply configmaps default/a");
  expect(rig.results).toEqual(["success"]);
});

test("while clocks differ nothing dated is planned, and time is the API server's", async () => {
  const times: number[] = [];
  rig.put("a", { text: "one" });
  rig.aheadMs = 300_000;
  rig.start(widgets({}, { plan: (observed, moment) => (times.push(moment.nowMs), planWidget(observed, moment)) }));
  expect(await rig.during(1_000)).toEqual(["PATCH widgets/a/status"]);
  expect(rig.condition("a")).toBe("False ClockSkew");
  expect((times[0] ?? 0) - rig.clock.now()).toBeGreaterThan(290_000);
  rig.aheadMs = 5_000;
  await rig.during(31_000);
  expect(rig.condition("a")).toBe("True Ready");
});

test("what is shown of a key goes with it", async () => {
  const shown: string[] = [];
  rig.put("a", { text: "one" });
  rig.start(widgets({}, { show: (key, value) => void shown.push(`${key} ${value ? value.plan.steps.length : "gone"}`) }));
  await rig.during(100);
  rig.delete("a");
  await rig.during(100);
  expect(shown[0]).toBe("default/a 1");
  expect(shown.at(-1)).toBe("default/a gone");
});

test("a cache that keeps only digests of statuses costs no request while nothing is new, and none for what we wrote last", async () => {
  rig.put("a", { text: "one" });
  rig.start((scope) => {
    const kept = scope.watch(Widget, {
      keep: ({ metadata, spec, status }: Stored<Widget>) => ({ widget: { metadata, spec }, statusDigest: statusDigest(status) }),
    });
    scope.trigger(kept);
    return reconcileWith(
      scope,
      {
        observe: ({ key }) => kept.get(key),
        plan({ widget, statusDigest: digest }) {
          const { text } = widget.spec;
          const Ready =
            text === "bad"
              ? ({ status: "False", reason: "PartRefused", message: text } as const)
              : { status: "True" as const, reason: "Ready", message: text };
          return { steps: [], status: [{ regarding: { kind: Widget, object: widget, statusDigest: digest }, conditions: { Ready }, fields: {} }] };
        },
      },
      { reasons },
    );
  });
  expect(await rig.during(1_000)).toEqual(["PATCH widgets/a/status"]);
  rig.put("a", { text: "bad" });
  expect(await rig.during(1_000)).toEqual(["PATCH widgets/a/status"]);
  expect(rig.warnings).toEqual(["PartRefused"]);
  expect(rig.condition("a")).toBe("False PartRefused");
});

test("two processes that see something else replace each other's reports ever more seldom, and not at all when it is over", async () => {
  const seen = { first: "one", second: "two" };
  for (const process of ["first", "second"] as const) {
    rig.start((scope) => {
      const widgets = scope.watch<Widget, Stored<Widget>>(Widget);
      scope.trigger(widgets);
      return reconcileWith(
        scope,
        {
          observe: ({ key }) => widgets.get(key),
          plan: (object) => ({
            steps: [],
            status: [
              { regarding: { kind: Widget, object }, conditions: { Ready: { status: "True", reason: "Ready", message: seen[process] } }, fields: {} },
            ],
          }),
        },
        { reasons },
      );
    });
  }
  rig.put("a", { text: "one" });
  // Each has its say once more at once, since nobody knows who replaced it, and then waits for 1, 2, 4 … 30 s, or half of that.
  expect((await rig.during(60_000)).length).toBeLessThanOrEqual(28);
  expect((await rig.during(600_000)).length).toBeLessThanOrEqual(90);
  seen.second = "one";
  await rig.during(31_000);
  expect(rig.status("a")).toMatchObject({ conditions: [{ message: "one" }] });
  expect(await rig.during(600_000)).toEqual([]);
  // What was disputed long ago no longer waits.
  rig.ask("PATCH", "/apis/test.dev/v1/namespaces/default/widgets/a/status", { status: { conditions: [] } });
  await rig.during(1_000);
  expect(rig.condition("a")).toBe("True Ready");
});
