import { createClient, seededRandom, type Transport } from "@keyturn/runtime";
import { VirtualClock } from "@keyturn/runtime/testing";
import { expect, test } from "vitest";
import { type Admission, AdmissionFailures, askAdmission } from "./admission.ts";

const { signal } = new AbortController();

/** An API server that guards `blockOwnerDeletion`, as OpenShift's does: whoever sets it needs a right on the owner, which only its controller has. */
const guarding: Transport = {
  async send({ body = "" }) {
    const text = typeof body === "string" ? body : new TextDecoder().decode(body);
    const message = "pods is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on";
    const isForbidden = text.includes('"blockOwnerDeletion":true');
    const answer = isForbidden ? JSON.stringify({ kind: "Status", status: "Failure", code: 403, reason: "Forbidden", message }) : text;
    const bytes = (async function* () {
      yield new TextEncoder().encode(answer);
    })();
    return { status: isForbidden ? 403 : 201, headers: { "content-type": "application/json" }, body: bytes };
  },
  close() {},
};

test.each(["Deployment", "StatefulSet", "DaemonSet", "Rollout"] as const)(
  "a pod of a %s is asked about without a right on its owner",
  async (kind) => {
    const client = createClient(guarding, { clock: new VirtualClock(), random: seededRandom(1) });
    const template = { spec: { containers: [{ name: "istio-proxy", image: "istio/proxyv2:1.27.0" }] } };
    const source = { kind, namespace: "shop", name: "web", uid: "u", template };
    expect(await askAdmission(client, source, signal)).toMatchObject({ type: "admitted", pod: { spec: template.spec } });
  },
);

/** An API server that answers so. */
function answering(status: number, reason: string, message: string): Transport {
  const text = JSON.stringify({ kind: "Status", status: "Failure", code: status, reason, message });
  return {
    async send() {
      const body = (async function* () {
        yield new TextEncoder().encode(text);
      })();
      return { status, headers: { "content-type": "application/json" }, body };
    },
    close() {},
  };
}

const ours = 'pods is forbidden: User "system:serviceaccount:k:k" cannot create resource "pods" in API group "" in the namespace "shop"';

test.each<readonly [string, number, string, string, Admission["type"]]>([
  ["that we may not ask", 403, "Forbidden", ours, "unasked"],
  ["in which a webhook quotes that", 403, "Forbidden", `admission webhook "w.example.com" denied the request: ${ours}`, "refused"],
  ["in which a policy quotes that", 403, "Forbidden", `pods "web-x" is forbidden: ValidatingAdmissionPolicy 'p' denied request: ${ours}`, "refused"],
  ["in which a webhook has a line of its own", 403, "Forbidden", `admission webhook "w" denied the request: no\n${ours}`, "refused"],
  ["of a policy", 403, "Forbidden", 'pods "web-x" is forbidden: violates PodSecurity "restricted:latest"', "refused"],
  ["that the pod is none", 422, "Invalid", 'Pod "web-x" is invalid: spec.containers[1].image: Required value', "refused"],
  ["that nobody answers a webhook", 500, "InternalError", 'Internal error occurred: failed calling webhook "w"', "failed"],
])("an answer %s", async (_what, status, reason, message, type) => {
  const client = createClient(answering(status, reason, message), { clock: new VirtualClock(), random: seededRandom(1) });
  const template = { spec: { containers: [{ name: "app", image: "app:1" }] } };
  const admission = await askAdmission(client, { kind: "Deployment", namespace: "shop", name: "web", uid: "u", template }, signal);
  expect(admission.type).toBe(type);
});

test("a refusal is believed for 5 s, 10 s and so on up to 5 min, and about the same restart alone", () => {
  let nowMs = 0;
  const failures = new AdmissionFailures({ monotonic: () => nowMs });
  const refused = { type: "refused", message: "no" } as const;
  const seconds = Array.from({ length: 9 }, () => {
    failures.keep("Deployment/shop/web", "d1", refused);
    const { forMs = 0 } = failures.of("Deployment/shop/web", "d1") ?? {};
    expect(failures.of("Deployment/shop/web", "d2")).toBeUndefined();
    nowMs += forMs;
    expect(failures.of("Deployment/shop/web", "d1")).toBeUndefined();
    return forMs / 1000;
  });
  expect(seconds).toEqual([5, 10, 20, 40, 80, 160, 300, 300, 300]);
  failures.keep("Deployment/shop/web", "d2", refused);
  expect(failures.of("Deployment/shop/web", "d2")).toMatchObject({ forMs: 5000, failure: { reason: "PodRefused" } });
  failures.keep("Deployment/shop/web", "d2", { type: "unasked", message: "" });
  expect(failures.of("Deployment/shop/web", "d2")).toBeUndefined();
});
