import { expect, test } from "vitest";
import { comparePods } from "./pod-comparison.ts";
import type { SidecarPod } from "./sidecar-pod.ts";

function pod(image: string | undefined): SidecarPod {
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
  expect(comparePods([pod(live)], { type: "known", sidecar, invalidImage, webhooks: [] }, { compareHub: false })).toEqual({
    type: "unknown",
    reason: "SidecarImageInvalid",
    message: expect.stringContaining(`"${image}", which cannot be run`),
  });
});

test("nor by a good sidecar beside another container whose image cannot be run", () => {
  const sidecar = { image: "istio/proxyv2:2", revision: undefined, parts: undefined };
  const invalidImage = { container: "istio-init", image: "auto" };
  expect(comparePods([pod("istio/proxyv2:1")], { type: "known", sidecar, invalidImage, webhooks: [] }, { compareHub: false })).toMatchObject({
    reason: "SidecarImageInvalid",
    message: expect.stringContaining("the container istio-init of a new pod"),
  });
});
