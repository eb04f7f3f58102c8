import { Namespace } from "@keyturn/runtime";
import { VirtualClock } from "@keyturn/runtime/testing";
import { expect, test } from "vitest";
import { ManualCache } from "./manual-cache.fixture.ts";
import { judge, NamespaceStabilization } from "./pod-selection.ts";
import type { LivePod } from "./pods.ts";

function pod(image: string | undefined): LivePod {
  const sidecar = image === undefined ? undefined : { image, revision: undefined, parts: undefined };
  return { name: "web-1", owner: undefined, restartedAt: undefined, createdAtMs: 0, sidecar, outline: undefined };
}

test.each([
  ["istio/proxyv2:1", "auto"],
  ["istio/proxyv2:1", ""],
  ["auto", "auto"],
  [undefined, ""],
])("a pod with the sidecar %j is not judged by the image %j, which cannot be run", (live, image) => {
  const sidecar = { image, revision: undefined, parts: undefined };
  const invalidImage = { container: "istio-proxy", image };
  expect(judge([pod(live)], { type: "known", sidecar, invalidImage, webhooks: [] }, { compareHub: false })).toEqual({
    type: "unknown",
    reason: "SidecarImageInvalid",
    message: expect.stringContaining(`"${image}", which cannot be run`),
  });
});

test("nor by a good sidecar beside another container whose image cannot be run", () => {
  const sidecar = { image: "istio/proxyv2:2", revision: undefined, parts: undefined };
  const invalidImage = { container: "istio-init", image: "auto" };
  expect(judge([pod("istio/proxyv2:1")], { type: "known", sidecar, invalidImage, webhooks: [] }, { compareHub: false })).toMatchObject({
    reason: "SidecarImageInvalid",
    message: expect.stringContaining("the container istio-init of a new pod"),
  });
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
