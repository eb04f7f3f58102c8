// Conditions over the life of an object.
import { expect, test } from "vitest";
import { findCondition, isConditionTrue, removeCondition, setCondition } from "./status.ts";

const at = (second: number): number => Date.UTC(2026, 0, 1, 0, 0, second, 500);
const ready = { type: "Ready", status: "False", reason: "NotYet", message: "wait", observedGeneration: 1 } as const;

test("the time of the last transition changes only with the status", () => {
  const first = setCondition([], ready, at(0));
  expect(first).toEqual([{ ...ready, lastTransitionTime: "2026-01-01T00:00:00Z" }]);
  const reworded = setCondition(first, { ...ready, message: "still", observedGeneration: 2 }, at(5));
  expect(reworded[0]).toMatchObject({ message: "still", observedGeneration: 2, lastTransitionTime: "2026-01-01T00:00:00Z" });
  const done = setCondition(reworded, { ...ready, status: "True", reason: "Done" }, at(9));
  expect(done[0]).toMatchObject({ status: "True", lastTransitionTime: "2026-01-01T00:00:09Z" });
});

test("saying the same again returns the same list", () => {
  const first = setCondition([], ready, at(0));
  expect(setCondition(first, ready, at(60))).toBe(first);
});

test("others keep their place", () => {
  const both = setCondition(setCondition([], ready, at(0)), { ...ready, type: "Degraded" }, at(1));
  expect(setCondition(both, { ...ready, status: "True" }, at(2)).map(({ type }) => type)).toEqual(["Ready", "Degraded"]);
  expect(removeCondition(both, "Ready").map(({ type }) => type)).toEqual(["Degraded"]);
  expect(removeCondition(both, "Other")).toBe(both);
});

test("messages are redacted and cut to what the API server takes", () => {
  const [condition] = setCondition([], { ...ready, message: `password=hunter2 ${"x".repeat(40_000)}` }, at(0));
  expect(condition?.message).toMatch(/^password=\[redacted\] x/);
  expect(condition?.message).toHaveLength(32_768);
});

test("can be asked", () => {
  const conditions = setCondition([], { ...ready, status: "True" }, at(0));
  expect(isConditionTrue(conditions, "Ready")).toBe(true);
  expect(isConditionTrue(conditions, "Ready", 1)).toBe(true);
  expect(isConditionTrue(conditions, "Ready", 2)).toBe(false);
  expect(isConditionTrue(undefined, "Ready")).toBe(false);
  expect(findCondition(conditions, "Ready")?.reason).toBe("NotYet");
});
