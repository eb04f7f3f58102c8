import { type Condition, defineKind } from "@keyturn/runtime";
import { describe, expect, it } from "vitest";
import type { Flag } from "./flag.ts";
import { leavesUnserved, pausedAnnotation, pauseInWords, pauseOf, selectionOf, type Selects, selectsAll, servingFor } from "./pause-and-selection.ts";

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

describe("an object of a controller whose keys stand for one object each", () => {
  const kind = defineKind({ group: "toys.example", version: "v1", kind: "Toy", plural: "toys", namespaced: true });
  const leaves = (
    annotations: Readonly<Record<string, string>>,
    { status, selects = selectsAll }: { readonly status?: object; readonly selects?: Selects },
  ) => {
    const metadata = { namespace: "shop", name: "bear", uid: "1", resourceVersion: "1", annotations };
    return leavesUnserved({ objects: { get: () => ({ metadata, ...status }) } as never, kind, selects })("shop/bear", now);
  };
  const ready: Condition = { type: "Ready", status: "True", reason: "Published", message: "2 keys", lastTransitionTime: "2026-03-01T00:00:00Z" };
  const paused = { [pausedAnnotation]: "2026-03-04T12:00:01Z" };

  it("is ready or not as it was while it is paused, with another reason, and looked at again when that ends", () => {
    const message = "left as it is while it has the annotation keyturn.io/paused, until 2026-03-04T12:00:01.000Z";
    expect(leaves(paused, { status: { status: { conditions: [ready] } } })).toMatchObject({
      type: "paused",
      status: [{ conditions: { Ready: { status: "True", reason: "Paused", message } } }],
      untilMs: now + 1000,
    });
  });

  it("is unknown if nobody has looked at it yet", () => {
    expect(leaves(paused, {})).toMatchObject({ status: [{ conditions: { Ready: { status: "Unknown", reason: "Paused" } } }] });
  });

  it("is none of ours if it is not selected, paused or not, and served otherwise", () => {
    expect(leaves(paused, { selects: () => false })).toEqual({ type: "notSelected" });
    expect(leaves({}, {})).toBeUndefined();
  });
});

it("says until when, and who has the annotation", () => {
  expect(pauseInWords({ untilMs: now, by: "its namespace" })).toBe(
    "left as it is while its namespace has the annotation keyturn.io/paused, until 2026-03-04T12:00:00.000Z",
  );
});
