import { Namespace } from "@keyturn/runtime";
import { VirtualClock } from "@keyturn/runtime/testing";
import { expect, test } from "vitest";
import { ManualCache } from "../../workloads/manual-cache.fixture.ts";
import { consentLabel, NamespaceStabilization, withoutConsent } from "./labels.ts";

const saying = (said: string | undefined) => (said === undefined ? {} : { [consentLabel]: said });

test.each([
  [undefined, undefined, undefined, "NotOptedIn"],
  [undefined, "enabled", undefined, undefined],
  [undefined, "disabled", "OptedOut", "OptedOut"],
  // The workload's own label decides.
  ["enabled", "disabled", undefined, undefined],
  ["disabled", "enabled", "OptedOut", "OptedOut"],
  ["perhaps", "enabled", undefined, "NotOptedIn"],
])("a workload that says %s in a namespace that says %s: %s, with opt-in %s", (own, namespace, byDefault, withOptIn) => {
  expect(withoutConsent(saying(own), saying(namespace), { optIn: false })).toBe(byDefault);
  expect(withoutConsent(saying(own), saying(namespace), { optIn: true })).toBe(withOptIn);
});

test("each namespace stabilizes by itself, and only after a change of a label that matters", async () => {
  const clock = new VirtualClock();
  const namespaces = new ManualCache<Readonly<Record<string, string>>>(Namespace);
  const stabilization = new NamespaceStabilization(namespaces, { clock, stabilizeMs: 10_000, matters: (label) => label === "istio.io/rev" });
  for (const name of ["a", "b", "c"]) namespaces.put(name, { "istio.io/rev": "one" });
  expect(stabilization.stabilizesInMs("a")).toBe(0);
  namespaces.put("a", { "istio.io/rev": "two" });
  namespaces.put("c", { "istio.io/rev": "one", team: "shop" });
  await clock.advance(4000);
  namespaces.put("b", {});
  expect(["a", "b", "c"].map((name) => stabilization.stabilizesInMs(name))).toEqual([6000, 10_000, 0]);
  await clock.advance(6000);
  expect(["a", "b", "c"].map((name) => stabilization.stabilizesInMs(name))).toEqual([0, 4000, 0]);
  namespaces.drop("b");
  expect(stabilization.stabilizesInMs("b")).toBe(0);
});
