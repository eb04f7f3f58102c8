import type { Pod } from "@keyturn/runtime";
import { describe, expect, test } from "vitest";
import { sidecarDigest, sidecarOf } from "./sidecar.ts";

const proxy = { name: "istio-proxy", image: "istio/proxyv2:1" };
const app = { name: "app", image: "app:1" };

function podWith(containers: readonly { name: string; image: string }[], metadata: Pod["metadata"] = {}): Pod {
  return { metadata, spec: { containers } };
}

describe("the sidecar of a pod", () => {
  test("is its proxy among the containers, or among the init containers", () => {
    expect(sidecarOf(podWith([app, proxy]), { whole: false })).toEqual({ image: "istio/proxyv2:1", revision: undefined, parts: undefined });
    const native = { metadata: {}, spec: { containers: [app], initContainers: [{ ...proxy, restartPolicy: "Always" }] } };
    expect(sidecarOf(native, { whole: false })).toMatchObject({ image: "istio/proxyv2:1" });
  });

  test("is missing where there is none", () => {
    expect(sidecarOf(podWith([app]), { whole: true })).toBeUndefined();
    expect(sidecarOf({ metadata: {} }, { whole: true })).toBeUndefined();
  });

  test("is one object for equal pods", () => {
    expect(sidecarOf(podWith([app, proxy], { name: "a" }), { whole: true })).toBe(sidecarOf(podWith([app, proxy], { name: "b" }), { whole: true }));
  });
});

describe("the revision is that of", () => {
  const annotations = { "sidecar.istio.io/status": JSON.stringify({ revision: "canary", containers: ["istio-proxy"] }), "istio.io/rev": "stable" };
  test.each<readonly [string, Pod["metadata"], string | undefined]>([
    ["the status, before all", { annotations, labels: { "istio.io/rev": "tag" } }, "canary"],
    [
      "the annotation, if the status is silent",
      { annotations: { ...annotations, "sidecar.istio.io/status": "{}" }, labels: { "istio.io/rev": "tag" } },
      "stable",
    ],
    ["the label, if there is nothing else", { labels: { "istio.io/rev": "tag" } }, "tag"],
    ["nobody, if nothing says so", {}, undefined],
    ["nobody, if the status is no JSON", { annotations: { "sidecar.istio.io/status": "{" } }, undefined],
    ["nobody, if the status is null", { annotations: { "sidecar.istio.io/status": "null" } }, undefined],
    ["nobody, if the status has something else there", { annotations: { "sidecar.istio.io/status": '{"revision":3}' } }, undefined],
  ])("%s", (_name, metadata, revision) => expect(sidecarOf(podWith([proxy], metadata), { whole: false })?.revision).toBe(revision));
});

test("a digest tells sidecars apart, and having none", () => {
  const one = sidecarOf(podWith([proxy]), { whole: true });
  const other = sidecarOf(podWith([{ ...proxy, image: "istio/proxyv2:2" }]), { whole: true });
  expect(new Set([sidecarDigest(one), sidecarDigest(other), sidecarDigest(undefined)]).size).toBe(3);
  expect(sidecarDigest(one && { ...one })).toBe(sidecarDigest(one));
});
