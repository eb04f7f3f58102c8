import { Buffer } from "node:buffer";
import { describe, expect, test } from "vitest";
import { readAnswer, reviewRequest } from "./admission.ts";

const pod = { metadata: { namespace: "shop", name: "web-0" }, spec: { containers: [{ name: "app", image: "app:1" }] } };
const asked = { pod, uid: "u-1" };

function answer(response: object, envelope: object = {}): ReturnType<typeof readAnswer> {
  return readAnswer(JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response, ...envelope }), asked);
}

function patch(operations: unknown): object {
  return { uid: "u-1", allowed: true, patchType: "JSONPatch", patch: Buffer.from(JSON.stringify(operations)).toString("base64") };
}

test("the question is an AdmissionReview for a new pod, of which nothing will come", () => {
  expect(JSON.parse(reviewRequest(pod, "u-1"))).toMatchObject({
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: {
      uid: "u-1",
      kind: { group: "", version: "v1", kind: "Pod" },
      resource: { group: "", version: "v1", resource: "pods" },
      namespace: "shop",
      name: "web-0",
      operation: "CREATE",
      object: pod,
      oldObject: null,
      dryRun: true,
    },
  });
});

describe("an answer that allows", () => {
  test("without a patch leaves the pod as it is", () => {
    expect(answer({ uid: "u-1", allowed: true })).toEqual({ type: "allowed", pod, changed: false });
    expect(answer({ uid: "u-1", allowed: true, patch: null, patchType: null, status: null })).toEqual({ type: "allowed", pod, changed: false });
  });

  test("with a patch changes it", () => {
    const outcome = answer(patch([{ op: "add", path: "/spec/containers/-", value: { name: "istio-proxy", image: "proxy:1" } }]));
    expect(outcome).toMatchObject({
      type: "allowed",
      changed: true,
      pod: { metadata: pod.metadata, spec: { containers: [{ name: "app" }, { name: "istio-proxy" }] } },
    });
  });

  test("with an empty patch is no change", () => {
    expect(answer(patch([]))).toMatchObject({ type: "allowed", changed: false });
  });
});

describe("an answer that refuses", () => {
  test.each([
    [{ status: { message: "no such template" } }, "no such template"],
    [{ status: { reason: "Forbidden" } }, "Forbidden"],
    [{ status: {} }, "without saying why"],
    [{}, "without saying why"],
  ])("%j", (more, message) => expect(answer({ uid: "u-1", allowed: false, ...more })).toEqual({ type: "refused", message }));
});

test("of a long reason only the beginning is shown: istiod quotes whole pods", () => {
  const message = `could not unmarshal\n${"x".repeat(300)}hunter2`;
  const outcome = answer({ uid: "u-1", allowed: false, status: { message } });
  expect(outcome).toEqual({ type: "refused", message: expect.stringMatching(/^could not unmarshal x+…$/) });
});

describe("an answer that cannot be used", () => {
  test.each<readonly [string, () => ReturnType<typeof readAnswer>, string]>([
    ["no JSON", () => readAnswer("<html>", asked), "no AdmissionReview"],
    ["another version", () => answer({ uid: "u-1", allowed: true }, { apiVersion: "admission.k8s.io/v1beta1" }), "apiVersion"],
    ["another kind", () => answer({ uid: "u-1", allowed: true }, { kind: "Status" }), "kind"],
    ["no response", () => readAnswer('{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}', asked), "response"],
    ["another uid", () => answer({ uid: "u-2", allowed: true }), "uid"],
    ["a patch of another type", () => answer({ ...patch([]), patchType: "MergePatch" }), "MergePatch"],
    ["a patch without a type", () => answer({ ...patch([]), patchType: undefined }), "JSONPatch"],
    ["a type without a patch", () => answer({ uid: "u-1", allowed: true, patchType: "JSONPatch" }), "no patch"],
    ["a patch that is no JSON", () => answer({ ...patch([]), patch: "e3t7" }), "no JSON patch"],
    ["a patch with an unknown operation", () => answer(patch([{ op: "merge", path: "/a" }])), "no JSON patch"],
    ["a patch that does not fit", () => answer(patch([{ op: "remove", path: "/spec/nope" }])), "cannot be applied: operation 0"],
    ["a patch that makes no pod", () => answer(patch([{ op: "remove", path: "/spec/containers" }])), "no pod"],
    ["a patch that replaces the pod by null", () => answer(patch([{ op: "replace", path: "", value: null }])), "no pod"],
  ])("%s", (_name, read, mentioned) => expect(read()).toEqual({ type: "failed", message: expect.stringContaining(mentioned) }));

  test("is not quoted: a pod may hold what nobody should read", () => {
    const outcome = answer({ uid: "u-1", allowed: "hunter2" });
    expect(JSON.stringify(outcome)).not.toContain("hunter2");
  });
});
