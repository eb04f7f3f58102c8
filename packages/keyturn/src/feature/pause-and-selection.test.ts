import type { Condition } from "@keyturn/runtime";
import { describe, expect, it } from "vitest";
import type { Flag } from "./flag.ts";
import { servingFor, pausedAnnotation, pausedConditions, pauseInWords, pauseOf, selectionOf, selectsAll } from "./pause-and-selection.ts";

const now = Date.parse("2026-03-04T12:00:00Z");

describe("the annotation", () => {
  it.each([undefined, "", "  ", "false"])("%j does not pause", (text) => {
    expect(pauseOf(text, now)).toBeUndefined();
  });

  it.each(["true", "yes", "until monday", "2026-03-05", "2026-03-05T00:00:00", "2026-13-45T00:00:00Z"])("%j pauses until it goes", (text) => {
    expect(pauseOf(text, now)).toEqual({ untilMs: undefined });
  });

  it.each(["2026-03-04T12:00:01Z", "2026-03-04T13:00:01+01:00", " 2026-03-04t12:00:01.000z "])("%j pauses until then", (text) => {
    expect(pauseOf(text, now)).toEqual({ untilMs: now + 1000 });
    expect(pauseOf(text, now + 999)).toEqual({ untilMs: now + 1000 });
    expect(pauseOf(text, now + 1000)).toBeUndefined();
  });
});

describe("the selection", () => {
  const reading =
    (texts: Readonly<Record<string, string>>) =>
    <T>(flag: Flag<T>): T =>
      flag.parse(texts[flag.name]);

  it("is everything by default", () => {
    const selects = selectionOf(reading({}));
    expect(selects({ namespace: "shop" })).toBe(true);
    expect(selects({ namespace: "shop", labels: { team: "a" } })).toBe(true);
  });

  it("goes by labels and leaves namespaces out", () => {
    const selects = selectionOf(reading({ selector: "team in (a,b),!legacy", "skip-namespaces": "kube-system, old" }));
    expect(selects({ namespace: "shop", labels: { team: "a" } })).toBe(true);
    expect(selects({ namespace: "shop", labels: { team: "c" } })).toBe(false);
    expect(selects({ namespace: "shop", labels: { team: "a", legacy: "" } })).toBe(false);
    expect(selects({ namespace: "old", labels: { team: "a" } })).toBe(false);
  });

  it("comes before a pause: what is not ours is not reported either", () => {
    const annotations = { [pausedAnnotation]: "true" };
    expect(servingFor({ annotations }, () => false, now)).toEqual({ type: "notSelected" });
    expect(servingFor({ annotations }, selectsAll, now)).toEqual({ type: "paused", untilMs: undefined });
    expect(servingFor({}, selectsAll, now)).toEqual({ type: "served" });
  });
});

describe("the condition of a paused object", () => {
  const ready: Condition = { type: "Ready", status: "True", reason: "Published", message: "2 keys", lastTransitionTime: "2026-03-01T00:00:00Z" };

  it("is ready or not as it was, with another reason", () => {
    expect(pausedConditions([ready], { untilMs: undefined }, { generation: 3, nowMs: now })).toEqual([
      {
        type: "Ready",
        status: "True",
        reason: "Paused",
        message: "left as it is while it has the annotation keyturn.io/paused",
        observedGeneration: 3,
        lastTransitionTime: "2026-03-01T00:00:00Z",
      },
    ]);
  });

  it("is unknown for an object that nobody has looked at yet", () => {
    expect(pausedConditions([], { untilMs: undefined }, { generation: 1, nowMs: now })).toMatchObject([{ status: "Unknown", reason: "Paused" }]);
  });

  it("is the very same list when it is said already", () => {
    const paused = pausedConditions([ready], { untilMs: now + 1 }, { generation: 3, nowMs: now });
    expect(pausedConditions(paused, { untilMs: now + 1 }, { generation: 3, nowMs: now + 5 })).toBe(paused);
  });
});

it("says until when, and who has the annotation", () => {
  expect(pauseInWords({ untilMs: now, by: "its namespace" })).toBe(
    "left as it is while its namespace has the annotation keyturn.io/paused, until 2026-03-04T12:00:00.000Z",
  );
});
