import { expect, test } from "vitest";
import { judge } from "./judgement.ts";
import type { LivePod } from "./live-pod.ts";

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
  expect(judge([pod(live)], { type: "known", sidecar, webhooks: [] }, { compareHub: false })).toEqual({
    type: "unknown",
    reason: "SidecarImageInvalid",
    message: expect.stringContaining(`"${image}", which cannot be run`),
  });
});
