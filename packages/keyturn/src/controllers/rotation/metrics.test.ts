// The numbers of rotation, for alerts.
import { createMetrics } from "@keyturn/runtime";
import { expect, it } from "vitest";
import { setMetrics } from "./metrics.ts";
import type { RotationPlan } from "./rotation-plan.ts";

const quiet: RotationPlan = {
  writes: [],
  targets: new Map(),
  standstill: undefined,
  source: undefined,
  policyConflict: false,
  unstableSinceMs: undefined,
  nextAtMs: undefined,
};

it("tells when the next step of any set is due, and 0 when none is", async () => {
  const metrics = createMetrics();
  const numbers = setMetrics(metrics);
  const due = async (): Promise<string | undefined> => /^keyturn_rotation_next_due_timestamp_seconds (.*)$/m.exec(await metrics.text())?.[1];
  const [first, second] = [
    { namespace: "shop", set: "signing" },
    { namespace: "shop", set: "tls" },
  ];
  expect(await due()).toBe("0");
  numbers.planned(first, { ...quiet, nextAtMs: 50_000 });
  numbers.planned(second, { ...quiet, nextAtMs: 20_000 });
  expect(await due()).toBe("20");
  numbers.planned(second, { ...quiet, nextAtMs: 70_000 });
  expect(await due()).toBe("50");
  numbers.gone(first);
  expect(await due()).toBe("70");
  numbers.planned(second, quiet);
  expect(await due()).toBe("0");
});

it("shows a set that stands still by its reason, and not one in which all is well", async () => {
  const metrics = createMetrics();
  const numbers = setMetrics(metrics);
  const place = { namespace: "shop", set: "signing" };
  numbers.planned(place, { ...quiet, standstill: { reason: "NoSource" } });
  expect(await metrics.text()).toContain('keyturn_rotation_standstill{namespace="shop",set="signing",reason="NoSource"} 1');
  numbers.planned(place, quiet);
  expect(await metrics.text()).not.toContain("keyturn_rotation_standstill{");
});
