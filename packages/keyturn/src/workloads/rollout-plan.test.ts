import { describe, expect, it } from "vitest";
import { joinedDigest } from "./restart-digest.ts";
import { type Candidate, type Decision, lastOf, type Limits, type ObservedFleet, planRollouts } from "./rollout-plan.ts";
import { limitsFor, outdatedCandidate } from "./rollout-plan.fixture.ts";
import { RestartTimes } from "./annotations.ts";
import type { Remembered, RestartMemory } from "./restart-memory.ts";

const now = Date.parse("2026-03-04T12:00:00Z");
const minute = 60_000;

const limits = limitsFor(2);

function workload(name: string, more: Partial<Candidate> = {}): Candidate {
  return outdatedCandidate({ kind: "Deployment", namespace: "shop", name }, more);
}

const rolling = (name: string, sinceMs: number, more: Partial<Candidate> = {}): Candidate =>
  workload(name, { restarting: true, restartedAtMs: sinceMs, progress: "rolling", replaced: false, ...more });

function plan(candidates: readonly Candidate[], more: Partial<Limits> = {}, fleet: Partial<ObservedFleet> = {}) {
  const { rows, nextAtMs } = planRollouts({ candidates, rolling: new Map(), lastRestartMs: undefined, ...fleet }, { ...limits, ...more }, now);
  const decisions = Object.fromEntries(rows.map(({ ref, decision }) => [ref.name, shortly(decision)]));
  return { decisions, inMinutes: nextAtMs === undefined ? undefined : (nextAtMs - now) / minute };
}

function shortly(decision: Decision): string {
  if (decision.type === "rolling") return decision.stuck ? "stuck" : "rolling";
  if (decision.type === "finish") return decision.helped ? "finish" : "finish without effect";
  return "reason" in decision ? `${decision.type} ${decision.reason}` : decision.type;
}

describe("how many", () => {
  it("as many as may roll at a time, in the order of their names", () => {
    expect(plan([workload("c"), workload("a"), workload("b")]).decisions).toEqual({ a: "restart", b: "restart", c: "wait RolloutLimit" });
  });

  it("0 is no limit", () => {
    expect(plan([workload("a"), workload("b"), workload("c")], { maxRollouts: 0 }).decisions).toEqual({ a: "restart", b: "restart", c: "restart" });
  });

  it("no more than can be remembered, without a limit and with any", () => {
    const many = Array.from({ length: 1000 }, (_, index) => workload(String(index)));
    const restarts = (maxRollouts: number, memory?: RestartMemory): number =>
      Object.values(plan(many, { maxRollouts }, { memory }).decisions).filter((decision) => decision === "restart").length;
    expect([restarts(0), restarts(0, new Map()), restarts(900, new Map()), restarts(7, new Map())]).toEqual([1000, 300, 300, 7]);
  });

  it("those that are rolling count until they are finished", () => {
    const result = plan([rolling("a", now - minute), workload("b"), workload("c")]);
    expect(result.decisions).toEqual({ a: "rolling", b: "restart", c: "wait RolloutLimit" });
    expect(result.inMinutes).toBe(9);
  });

  it("also those that only the API server knows of", () => {
    const elsewhere = new Map([
      ["Deployment/shop/b", now - minute],
      ["StatefulSet/shop/z", now - minute],
    ]);
    expect(plan([workload("a"), workload("b")], {}, { rolling: elsewhere }).decisions).toEqual({ a: "wait RolloutLimit", b: "rolling" });
  });

  it("a delay lets one go at a time", () => {
    const result = plan([workload("a"), workload("b")], { restartDelayMs: minute });
    expect(result.decisions).toEqual({ a: "restart", b: "wait RestartDelay" });
    expect(result.inMinutes).toBe(1);
  });

  it("a delay is at least as long as asked for, whatever whole seconds have cut off", () => {
    const restarted = (agoMs: number) => plan([workload("a")], { restartDelayMs: 5000 }, { lastRestartMs: now - agoMs });
    expect(restarted(5999).decisions).toEqual({ a: "wait RestartDelay" });
    expect(restarted(6000).decisions).toEqual({ a: "restart" });
    expect(restarted(3000).inMinutes).toBe(3000 / minute);
    expect(plan([workload("a")], { restartDelayMs: 0 }, { lastRestartMs: now }).decisions).toEqual({ a: "restart" });
  });

  it("the last restart is the last that has been", () => {
    expect(lastOf([now - minute, undefined, now + minute, now - 2 * minute], now)).toBe(now - minute);
    expect(lastOf([undefined, now + minute], now)).toBeUndefined();
  });
});

describe("a rollout", () => {
  it("is finished when all is replaced, healthy, and compared", () => {
    const done = { progress: "finished", replaced: true } as const;
    const current = { type: "current" } as const;
    expect(plan([rolling("a", now - minute, { ...done, inspection: current }), workload("b")], { maxRollouts: 1 }).decisions).toEqual({
      a: "finish",
      b: "restart",
    });
    expect(plan([rolling("a", now, { ...done, progress: "unhealthy", inspection: current })]).decisions).toEqual({ a: "rolling" });
    expect(plan([rolling("a", now, { ...done, replaced: false, inspection: current })]).decisions).toEqual({ a: "rolling" });
    expect(plan([rolling("a", now, { ...done, inspection: { type: "unknown", reason: "WebhookFailed", message: "" } })]).decisions).toEqual({
      a: "rolling",
    });
  });

  it("that did not help is not repeated for the same sidecar", () => {
    const done = { progress: "finished", replaced: true } as const;
    expect(plan([rolling("a", now - minute, { ...done, restartedFor: "d1" })]).decisions).toEqual({ a: "finish without effect" });
    expect(plan([workload("a", { restartedFor: "d1" })]).decisions).toEqual({ a: "skip RestartWithoutEffect" });
    expect(plan([workload("a", { restartedFor: "d0" })]).decisions).toEqual({ a: "restart" });
    // A restart for two reasons was one for each of them.
    expect(plan([workload("a", { restartedFor: joinedDigest(["d1", "d2"]) })]).decisions).toEqual({ a: "skip RestartWithoutEffect" });
    // The sidecar that is expected has changed during the rollout.
    expect(plan([rolling("a", now - minute, { ...done, restartedFor: "d0" })]).decisions).toEqual({ a: "finish" });
  });

  it("that does not get healthy in time stops further ones of its namespace, by default", () => {
    const stuck = rolling("a", now - 10 * minute, { progress: "unhealthy" });
    expect(plan([stuck, workload("b")])).toEqual({ decisions: { a: "stuck", b: "wait RolloutStuck" }, inMinutes: undefined });
    expect(plan([stuck, workload("b"), workload("c")], { continueWhenStuck: true }).decisions).toEqual({ a: "stuck", b: "restart", c: "restart" });
    expect(plan([stuck, workload("b")], { rolloutTimeoutMs: 0 }).decisions).toEqual({ a: "rolling", b: "restart" });
  });

  it("of somebody else's is waited for", () => {
    expect(plan([workload("a", { progress: "rolling" })]).decisions).toEqual({ a: "wait RolloutInProgress" });
    expect(plan([workload("a", { progress: "unhealthy" })]).decisions).toEqual({ a: "restart" });
  });
});

describe("what is remembered", () => {
  const restarted = (name: string, more: Partial<Remembered> = {}): RestartMemory =>
    new Map([
      [
        `Deployment/shop/${name}`,
        { uid: "u", atMs: now - 20 * minute, generation: 1, restartedFor: "d1", wasUnhealthy: false, isOver: false, ...more },
      ],
    ]);

  it("keeps a workload from being restarted twice for the same, whatever was done to its annotations", () => {
    const memory = restarted("a");
    const takenBack = (more: Partial<Candidate> = {}) => plan([workload("a", { generation: 3, ...more })], {}, { memory }).decisions;
    expect(takenBack()).toEqual({ a: "skip RestartTakenBack" });
    expect(takenBack({ restartedAtMs: now - 30 * minute })).toEqual({ a: "skip RestartTakenBack" });
    // The time is there and only what it was for is gone.
    expect(takenBack({ restartedAtMs: now - 20 * minute })).toEqual({ a: "skip RestartWithoutEffect" });
    const another = { type: "outdated", reason: "ImageDiffers", message: "", digest: "d2" } as const;
    expect(takenBack({ inspection: another })).toEqual({ a: "restart" });
    expect(plan([workload("a")], {}, { memory: restarted("a", { restartedFor: undefined }) }).decisions).toEqual({ a: "restart" });
  });

  it("says what a restart was for, also when everything but the label was taken off", () => {
    const back = rolling("a", now - minute, {
      generation: 3,
      progress: "finished",
      replaced: true,
      restartedFor: undefined,
      restartedAtMs: undefined,
    });
    const outdated = { ...back, inspection: workload("a").inspection };
    expect(plan([outdated], {}, { memory: restarted("a") }).decisions).toEqual({ a: "finish without effect" });
    expect(plan([outdated], {}, { memory: restarted("a", { restartedFor: "d0" }) }).decisions).toEqual({ a: "finish" });
  });

  it("holds the cooldown without the annotation", () => {
    const memory = restarted("a", { atMs: now - minute, restartedFor: undefined });
    expect(plan([workload("a", { generation: 3 })], {}, { memory }).decisions).toEqual({ a: "wait CoolingDown" });
  });

  it("says when the last restart was, whatever others write on their workloads", () => {
    const memory = restarted("z", { atMs: now - 2000 });
    const delayed = (nextMs: number | undefined) => plan([workload("a")], { restartDelayMs: 5000 }, { memory, lastRestartMs: nextMs });
    expect(delayed(now)).toEqual({ decisions: { a: "wait RestartDelay" }, inMinutes: 3000 / minute });
    expect(delayed(undefined)).toEqual(delayed(now));
    expect(plan([workload("a")], { restartDelayMs: 2000 }, { memory, lastRestartMs: now }).decisions).toEqual({ a: "restart" });
  });

  it("is written down before a restart is sent, and the delay begins when that is", () => {
    const memory = restarted("z", { atMs: now - 5000 });
    const delayed = plan([workload("a")], { restartDelayMs: 5000 }, { memory, sentMs: now - 1000 });
    expect(delayed).toEqual({ decisions: { a: "wait RestartDelay" }, inMinutes: 4000 / minute });
    expect(plan([workload("a")], { restartDelayMs: 5000 }, { memory, sentMs: now - 5000 }).decisions).toEqual({ a: "restart" });
  });

  it("counts for that very workload, and only if the restart took place", () => {
    expect(plan([workload("a", { uid: "another" })], {}, { memory: restarted("a") }).decisions).toEqual({ a: "restart" });
    expect(plan([workload("a", { generation: 1 })], {}, { memory: restarted("a") }).decisions).toEqual({ a: "restart" });
    // One change, such as an autoscaler's, and no restart in the template: the restart would have been one by itself.
    expect(plan([workload("a", { generation: 2 })], {}, { memory: restarted("a") }).decisions).toEqual({ a: "restart" });
    const since = { generation: 2, restartedAtMs: now - 20 * minute };
    expect(plan([workload("a", since)], {}, { memory: restarted("a") }).decisions).toEqual({ a: "skip RestartWithoutEffect" });
  });

  it("says whose a label is: one that somebody else wrote holds nobody up and takes no room", () => {
    const forged = rolling("a", now - 60 * minute);
    const elsewhere = new Map([["Deployment/other/z", now - 60 * minute]]);
    const fleet = { memory: new Map(), rolling: elsewhere };
    expect(plan([forged, workload("b")], { maxRollouts: 1 }, fleet)).toEqual({ decisions: { a: "rolling", b: "restart" }, inMinutes: undefined });
    // Its own time is not believed either.
    const ours = rolling("a", now - 60 * minute);
    expect(plan([ours], {}, { memory: restarted("a", { atMs: now - minute }) })).toEqual({ decisions: { a: "rolling" }, inMinutes: 9 });
  });
});

describe("a budget that nothing written on a workload changes", () => {
  const known: Remembered = { uid: "u", atMs: now - minute, generation: 1, restartedFor: "d1", wasUnhealthy: false, isOver: false };
  const of = (more: Partial<Remembered>): RestartMemory => new Map([["Deployment/shop/a", { ...known, ...more }]]);

  it("a label that is put back on what was rolled out long ago takes no room and is not stuck", () => {
    const memory = of({ atMs: now - 60 * minute, isOver: true });
    const again = rolling("a", now - 60 * minute, { progress: "unhealthy" });
    expect(plan([again, workload("b")], { maxRollouts: 1 }, { memory }).decisions).toEqual({ a: "rolling", b: "restart" });
    const elsewhere = { memory, rolling: new Map([["Deployment/shop/a", now - 60 * minute]]) };
    expect(plan([workload("b")], { maxRollouts: 1 }, elsewhere).decisions).toEqual({ b: "restart" });
  });

  it("nor is it that of a workload made anew under the same name", () => {
    const anew = rolling("a", now - 60 * minute, { uid: "another" });
    expect(plan([anew, workload("b")], { maxRollouts: 1 }, { memory: of({}) }).decisions).toEqual({ a: "rolling", b: "restart" });
  });

  it("a rollout whose label somebody took off takes room until it is late", () => {
    const unlabelled = ["Deployment/shop/a"];
    expect(plan([workload("b")], { maxRollouts: 1 }, { memory: of({}), unlabelled })).toEqual({
      decisions: { b: "wait RolloutLimit" },
      inMinutes: 9,
    });
    const late = of({ atMs: now - 60 * minute });
    expect(plan([workload("b")], { maxRollouts: 1 }, { memory: late, unlabelled }).decisions).toEqual({ b: "restart" });
  });
});

describe("in which order", () => {
  it("what works goes first, and what was broken before is never stuck", () => {
    const broken = workload("a", { progress: "unhealthy" });
    expect(plan([broken, workload("b")], { maxRollouts: 1 }).decisions).toEqual({ a: "wait RolloutLimit", b: "restart" });
    const since = { uid: "u", atMs: now - 20 * minute, generation: 1, restartedFor: "d1" };
    const memory = new Map([["Deployment/shop/a", { ...since, wasUnhealthy: true, isOver: false }]]);
    const late = rolling("a", now - 20 * minute, { progress: "unhealthy" });
    expect(plan([late, workload("b")], { maxRollouts: 1 }, { memory }).decisions).toEqual({ a: "rolling", b: "restart" });
  });

  it("one namespace's trouble stops that namespace, and the fleet only when it has taken all room", () => {
    const stuck = rolling("a", now - 10 * minute, { progress: "unhealthy" });
    const other = workload("c", { ref: { kind: "Deployment", namespace: "other", name: "c" } });
    expect(plan([stuck, workload("b"), other]).decisions).toEqual({ a: "stuck", b: "wait RolloutStuck", c: "restart" });
    expect(plan([stuck, workload("b"), other], { maxRollouts: 1 }).decisions).toEqual({ a: "stuck", b: "wait RolloutStuck", c: "wait RolloutLimit" });
  });

  it("however many are stuck in one namespace, they take the room of one", () => {
    const stuck = ["a", "b", "c"].map((name) => rolling(name, now - 10 * minute, { progress: "unhealthy" }));
    const others = ["x", "y"].map((name) => workload(name, { ref: { kind: "Deployment", namespace: `of-${name}`, name } }));
    const late = { a: "stuck", b: "stuck", c: "stuck" };
    expect(plan([...stuck, ...others], { maxRollouts: 3 }).decisions).toEqual({ ...late, x: "restart", y: "restart" });
    expect(plan([...stuck, ...others], { maxRollouts: 2 }).decisions).toEqual({ ...late, x: "restart", y: "wait RolloutLimit" });
    // As many namespaces in trouble as there is room stop the fleet: it may be the new sidecar's.
    const everywhere = ["a", "b"].map((name) =>
      rolling(name, now - 10 * minute, { progress: "unhealthy", ref: { kind: "Deployment", namespace: `stuck-${name}`, name } }),
    );
    expect(plan([...everywhere, ...others]).decisions).toEqual({ a: "stuck", b: "stuck", x: "wait RolloutLimit", y: "wait RolloutLimit" });
  });

  it("where nobody can be asked about admission, one of a namespace at a time until its first new pod is there", () => {
    const unchecked = { isUnchecked: true };
    const other = workload("c", { ...unchecked, ref: { kind: "Deployment", namespace: "other", name: "c" } });
    const both = [workload("a", unchecked), workload("b", unchecked), other];
    expect(plan(both, { maxRollouts: 0 }).decisions).toEqual({ a: "restart", b: "wait FirstPod", c: "restart" });
    const starting = rolling("a", now, { isStarted: false });
    expect(plan([starting, workload("b", unchecked)]).decisions).toEqual({ a: "rolling", b: "wait FirstPod" });
    expect(plan([starting, workload("b")]).decisions).toEqual({ a: "rolling", b: "restart" });
    expect(plan([rolling("a", now), workload("b", unchecked)]).decisions).toEqual({ a: "rolling", b: "restart" });
  });
});

describe("when", () => {
  it("not within the cooldown and the second that the annotation may have cut off, and then by itself", () => {
    const since = (agoMs: number) => plan([workload("a", { restartedAtMs: now - agoMs })]);
    expect(since(2 * minute)).toEqual({ decisions: { a: "wait CoolingDown" }, inMinutes: 3 + 1000 / minute });
    expect(since(5 * minute + 999).decisions).toEqual({ a: "wait CoolingDown" });
    expect(since(5 * minute + 1000).decisions).toEqual({ a: "restart" });
  });

  it.each(["2099-01-01T00:00:00Z", "9999-99-99", "", "yesterday"])(
    "a restart at %j, which no clock has said, counts from when it was first seen",
    (text) => {
      const times = new RestartTimes();
      const seenAgo = (agoMs: number) => plan([workload("a", { restartedAtMs: times.timeOf("a", text, now - agoMs) })]).decisions;
      expect(seenAgo(5 * minute + 1000)).toEqual({ a: "restart" });
      expect(new RestartTimes().timeOf("a", text, now)).toBe(now);
      expect(plan([workload("a", { restartedAtMs: new RestartTimes().timeOf("a", text, now) })])).toEqual({
        decisions: { a: "wait CoolingDown" },
        inMinutes: 5 + 1000 / minute,
      });
      expect(times.timeOf("a", text, now)).toBe(now - 5 * minute - 1000);
      expect(plan([workload("a", { restartedAtMs: now + 1 })]).decisions).toEqual({ a: "wait CoolingDown" });
    },
  );

  it("a restart in the future counts once, also when its time has come", () => {
    const times = new RestartTimes();
    const text = new Date(now + minute).toISOString();
    expect(times.timeOf("a", text, now)).toBe(now);
    expect(times.timeOf("a", text, now + 2 * minute)).toBe(now);
    expect(times.timeOf("b", text, now + 2 * minute)).toBe(now + minute);
    expect(times.timeOf("a", "soon", now + 3 * minute)).toBe(now + 3 * minute);
    expect(times.timeOf("a", undefined, now)).toBeUndefined();
    times.timeOf("a", text, now);
    times.forget("a");
    expect(times.timeOf("a", text, now + 10)).toBe(now + 10);
  });

  it("not twice within the second that the annotation can distinguish", () => {
    expect(plan([workload("a", { restartedAtMs: now - 500 })], { cooldownMs: 0 }).decisions).toEqual({ a: "wait CoolingDown" });
  });

  it("within a maintenance window", () => {
    const maintenance = { windows: [{ startMinute: 2 * 24 * 60 + 13 * 60, endMinute: 2 * 24 * 60 + 14 * 60 }], timeZone: "UTC" };
    expect(plan([workload("a")], { maintenance })).toEqual({ decisions: { a: "wait OutsideWindow" }, inMinutes: 60 });
  });

  it("after a failure at its date", () => {
    const refused = { reason: "Forbidden", message: "no", untilMs: now + minute };
    expect(plan([workload("a", { refused }), workload("b")])).toEqual({ decisions: { a: "wait RestartFailed", b: "restart" }, inMinutes: 1 });
    // Nothing else takes the room of a rollout whose end could not be written down.
    const done = rolling("a", now, { progress: "finished", replaced: true, inspection: { type: "current" }, refused });
    expect(plan([done, workload("b")], { maxRollouts: 1 }).decisions).toEqual({ a: "rolling", b: "wait RolloutLimit" });
  });

  it("not while the clocks differ", () => {
    const blocker = { reason: "ClockSkew", message: "behind", untilMs: now + minute } as const;
    expect(plan([workload("a")], {}, { blocker })).toEqual({ decisions: { a: "wait ClockSkew" }, inMinutes: 1 });
  });
});

describe("who", () => {
  it.each(["Paused", "OnDelete", "Partitioned", "BarePod", "Job", "UnsupportedOwner", "OptedOut", "NotOptedIn"] as const)(
    "%s: reported, not restarted",
    (blocker) => {
      expect(plan([workload("a", { blocker }), workload("b")], { maxRollouts: 1 }).decisions).toEqual({ a: `skip ${blocker}`, b: "restart" });
    },
  );

  it("not who is paused by annotation, until that is over", () => {
    const paused = workload("a", { paused: "true" });
    const until = workload("b", { paused: new Date(now + 7 * minute).toISOString() });
    const over = workload("c", { paused: new Date(now).toISOString() });
    expect(plan([paused, until, over])).toEqual({ decisions: { a: "skip Paused", b: "skip Paused", c: "restart" }, inMinutes: 7 });
    expect(
      plan([rolling("a", now - minute, { paused: "true", progress: "finished", replaced: true, inspection: { type: "current" } })]).decisions,
    ).toEqual({
      a: "finish",
    });
  });

  it("nobody of whom it is not known", () => {
    expect(plan([workload("a", { inspection: { type: "unknown", reason: "WebhookRefused", message: "no" } })]).decisions).toEqual({
      a: "unknown WebhookRefused",
    });
  });

  it("a Deployment and a StatefulSet of one name are two", () => {
    const { rows } = planRollouts(
      {
        candidates: [workload("a"), workload("a", { ref: { kind: "StatefulSet", namespace: "shop", name: "a" } })],
        rolling: new Map(),
        lastRestartMs: undefined,
      },
      limits,
      now,
    );
    expect(rows.map(({ id, decision }) => `${id} ${decision.type}`)).toEqual(["Deployment/shop/a restart", "StatefulSet/shop/a restart"]);
  });
});
