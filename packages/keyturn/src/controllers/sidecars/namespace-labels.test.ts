import { Namespace } from "@keyturn/runtime";
import { VirtualClock } from "@keyturn/runtime/testing";
import { expect, test } from "vitest";
import { ManualCache } from "../../workloads/manual-cache.fixture.ts";
import { NamespaceStabilization } from "./namespace-labels.ts";

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
