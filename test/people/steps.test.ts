// What `keyturn status` shows of each step, with the step's own controller at work on a real API server.
import { Deployment } from "@keyturn/runtime";
import { soon, useSharedApiServer, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, it } from "vitest";
import { makeCertificate } from "../../packages/keyturn/test/certificates.ts";
import { AgentNamespace, certificateFor } from "../agent/agent-namespace.ts";
import { verifiedNamespace } from "../checksum/verified-namespace.ts";
import { issuingPlace } from "../eventing-auth/issuing-place.ts";
import { publishingNamespace } from "../jwks/publishing-namespace.ts";
import { meshNamespace } from "../sidecars/mesh-namespace.ts";
import { typed } from "../support/typed-command.ts";

const cluster = useSharedCluster();
const target = useSharedApiServer();

/** Asks until the answer has a line like this. */
async function shows(namespace: string, line: RegExp, ...more: readonly string[]): Promise<void> {
  await soon(async () => {
    const { out, err } = await typed("status", ...more, "-n", namespace, "--kubeconfig", cluster().adminKubeconfig);
    expect(`${out}${err}`).toMatch(line);
  });
}

it("issue: whether a runtime has its application and its credentials", async () => {
  await using place = await issuingPlace(cluster(), target());
  await place.ready();
  await shows(place.namespace, /^issue +eventingauth\/\S+ +healthy +Ready +\S+ +application \S+, Secret \S+\/eventing-webhook-auth/m, place.runtime);
});

it("publish: how many keys there are, when one goes, and why there are none", async () => {
  await using place = await publishingNamespace(cluster(), "shown-keys");
  await place.startOperator();
  await place.putConfig("site", { oldKeysTTL: "5h" });
  await shows(place.namespace, /publish: jwksconfig\/\S+\/site SecretNotFound, for \S+\n {4}.*signer/);
  await place.putSecret("signer", makeCertificate());
  await shows(place.namespace, /^publish +1 healthy/m);
  await place.putSecret("signer", makeCertificate());
  // Found by the Secret that the keys come from.
  await shows(place.namespace, /^publish +jwksconfig\/\S+\/site +healthy +Ready +\S+ +2 keys in site-jwks +in \d+\w: withdraws a key/m, "signer");
});

it("verify: the checksum of a namespace, and how its agents fare", async () => {
  await using controlPlane = await verifiedNamespace(cluster(), "shown-checksum");
  await controlPlane.startOperator();
  const world = await AgentNamespace.in(cluster(), controlPlane.namespace);
  await world.put("web-1", certificateFor("one.test"));
  await shows(controlPlane.namespace, /^verify +1 healthy/m);
  const agent = await world.start();
  await shows(controlPlane.namespace, /^verify +2 healthy/m);
  await shows(controlPlane.namespace, /^verify +agent\/\S+ +healthy +Verified +\S+ +1 Secret, checksum [0-9a-f]{12}/m, "agent/test");
  await agent.stop();
  await shows(controlPlane.namespace, /^verify +1 healthy/m);
});

it("roll out: which restarts are under way and until when, and which are stuck", async () => {
  await using place = await meshNamespace(cluster(), "shown-rollout");
  await place.put(Deployment, "web", { replicas: 1 });
  // A restart needs a pod more than there is, for a moment, and there may be no more pods: asked beforehand, the API server would say so.
  await cluster().kubectl("-n", place.namespace, "create", "quota", "no-more", "--hard=pods=1");
  await place.startOperator({ "sidecars.check-admission": "false" });
  await shows(place.namespace, /^roll out +none/m);
  await place.upgrade({ tag: "1.27.0" });
  await shows(
    place.namespace,
    /^roll out +1 progressing +\S+ +in \d+[ms]: deployment\/\S+\/web counts as stuck unless/m,
    "--sidecars.rollout-timeout=1h",
  );
  await shows(place.namespace, /roll out: deployment\/\S+\/web RolloutStuck, for \d+/, "--sidecars.rollout-timeout=1s");
});
