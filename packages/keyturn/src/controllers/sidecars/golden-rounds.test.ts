import type { Pod } from "@keyturn/runtime";
import { expect, test } from "vitest";
import { deadPod } from "../../workloads/pods.ts";
import { goldenFacts, podOf } from "./golden-rounds.fixture.ts";
import { invalidImageIn, sidecarOf } from "./injection/sidecar.ts";
import { comparePods, podKeeper } from "./pod-comparison.ts";

/** What is decided about a live pod, when this is what a new one would be. */
function decided(live: Pod, admitted: Pod, { compareHub = false, whole = false } = {}): string {
  const kept = podKeeper({ whole })({ ...live, metadata: { ...live.metadata, name: "web-1", uid: "u", resourceVersion: "1" } });
  if (kept === deadPod) throw new Error("it lives");
  const draft: Pod = { metadata: {}, spec: { containers: [{ name: "app", image: "example.com/app:1" }] } };
  const expectation = {
    type: "known",
    sidecar: sidecarOf(admitted, { whole }),
    invalidImage: invalidImageIn(admitted, draft),
    webhooks: [],
  } as const;
  const inspection = comparePods([kept], expectation, { compareHub });
  if (inspection.type === "unknown") return inspection.reason === "SidecarImageInvalid" ? "invalid" : inspection.reason;
  return inspection.type === "outdated" ? inspection.reason : "none";
}

test.each(goldenFacts)("$round: $decision", ({ live, admitted, decision, withHub = decision, whole = decision }) => {
  const [before, after] = [podOf(live), podOf(admitted)];
  expect(decided(before, after)).toBe(decision);
  expect(decided(before, after, { compareHub: true })).toBe(withHub);
  expect(decided(before, after, { whole: true })).toBe(whole);
});
