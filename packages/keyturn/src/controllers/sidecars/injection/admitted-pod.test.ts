import { createClient, seededRandom, type Transport } from "@keyturn/runtime";
import { VirtualClock } from "@keyturn/runtime/testing";
import { expect, test } from "vitest";
import { expectedByApiServer } from "./admitted-pod.ts";

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
    expect(await expectedByApiServer(client, source, { whole: false, signal: new AbortController().signal })).toMatchObject({
      type: "known",
      sidecar: { image: "istio/proxyv2:1.27.0" },
    });
  },
);
