import { describe, expect, test } from "vitest";
import { compareSidecar, type OutdatedReason } from "./comparison.ts";
import type { Sidecar } from "./sidecar.ts";

const parts = { resources: "r", env: "e", volumes: "v", "init containers": "i", settings: "s" };
const sidecar: Sidecar = { image: "docker.io/istio/proxyv2:1.27.0", revision: "canary", parts };

describe("a sidecar is outdated", () => {
  test.each<readonly [OutdatedReason, Sidecar | undefined, Sidecar | undefined, string]>([
    ["SidecarMissing", undefined, sidecar, "has no sidecar; a new pod would get docker.io/istio/proxyv2:1.27.0"],
    ["SidecarUnwanted", sidecar, undefined, "has the sidecar docker.io/istio/proxyv2:1.27.0; a new pod would get none"],
    [
      "ImageDiffers",
      { ...sidecar, image: "istio/proxyv2:1.26.0" },
      sidecar,
      "has the sidecar istio/proxyv2:1.26.0; a new pod would get docker.io/istio/proxyv2:1.27.0",
    ],
    ["RevisionDiffers", { ...sidecar, revision: "default" }, sidecar, "was injected by revision default; a new pod would be by canary"],
    [
      "SidecarDiffers",
      { ...sidecar, parts: { ...parts, env: "x", volumes: "y" } },
      sidecar,
      "has a sidecar that differs from a new pod's in env, volumes",
    ],
  ])("%s", (reason, live, expected, message) => {
    expect(compareSidecar(live, expected, { compareHub: false })).toEqual({ type: "outdated", reason, message });
  });

  test("by its registry only if that is compared", () => {
    const mirrored = { ...sidecar, image: "mirror.example:5000/istio/proxyv2:1.27.0" };
    expect(compareSidecar(mirrored, sidecar, { compareHub: false })).toEqual({ type: "current" });
    expect(compareSidecar(mirrored, sidecar, { compareHub: true })).toMatchObject({ reason: "ImageDiffers" });
  });
});

describe("a sidecar is current", () => {
  test.each<readonly [string, Sidecar | undefined, Sidecar | undefined]>([
    ["when both have none", undefined, undefined],
    ["when all is the same", sidecar, { ...sidecar }],
    ["when one of them does not say its revision", { ...sidecar, revision: undefined }, sidecar],
    ["when only one was taken whole", { ...sidecar, parts: undefined }, sidecar],
    ["when Docker Hub is written in short", { ...sidecar, image: "istio/proxyv2:1.27.0" }, sidecar],
  ])("%s", (_name, live, expected) => expect(compareSidecar(live, expected, { compareHub: true })).toEqual({ type: "current" }));
});
