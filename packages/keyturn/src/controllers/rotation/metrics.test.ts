// The numbers of rotation, for alerts.
import { createMetrics } from "@keyturn/runtime";
import { expect, it } from "vitest";
import { numbersOf, type SetNumbers, setMetrics } from "./metrics.ts";
import type { RotationPlan } from "./plan.ts";

const quiet: RotationPlan = {
  writes: [],
  targets: new Map(),
  setBlocker: undefined,
  source: undefined,
  policyConflict: false,
  unstableSinceMs: undefined,
  settlesAtMs: undefined,
  nextAtMs: undefined,
};

const dueAt = (dueMs: number): SetNumbers => ({ reason: undefined, dueMs });

it("has nothing to show of a set in which all is well and nothing is due", () => {
  expect(numbersOf(quiet)).toBeUndefined();
  expect(numbersOf({ ...quiet, nextAtMs: 50_000 })).toEqual(dueAt(50_000));
  expect(numbersOf({ ...quiet, setBlocker: { reason: "NoSource" } })).toEqual({ reason: "NoSource", dueMs: undefined });
});

it("shows when the next step of any set is due, and 0 when none is", async () => {
  const metrics = createMetrics();
  const numbers = setMetrics(metrics);
  const due = async (): Promise<string | undefined> => /^keyturn_rotation_next_due_timestamp_seconds (.*)$/m.exec(await metrics.text())?.[1];
  const [first, second] = ["shop/signing", "shop/tls"];
  expect(await due()).toBe("0");
  numbers.show(first, dueAt(50_000));
  numbers.show(second, dueAt(20_000));
  expect(await due()).toBe("20");
  numbers.show(second, dueAt(70_000));
  expect(await due()).toBe("50");
  numbers.hide(first);
  expect(await due()).toBe("70");
  numbers.hide(second);
  expect(await due()).toBe("0");
});

it("shows a set that stands still by its reason, and not one in which all is well", async () => {
  const metrics = createMetrics();
  const numbers = setMetrics(metrics);
  numbers.show("shop/signing", { reason: "NoSource", dueMs: undefined });
  expect(await metrics.text()).toContain('keyturn_rotation_standstill{namespace="shop",set="signing",reason="NoSource"} 1');
  numbers.show("shop/signing", { reason: undefined, dueMs: 20_000 });
  expect(await metrics.text()).not.toContain("keyturn_rotation_standstill{");
});
