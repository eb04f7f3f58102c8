// `keyturn run` tells a webhook what happens, and nobody else where that webhook is.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { soon, temporaryFolder, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, onTestFinished, test } from "vitest";
import { startReceiver } from "../../packages/keyturn/src/notify/receiver.fixture.ts";
import { makeCertificate } from "../../packages/keyturn/test/certificates.ts";
import { publishingNamespace } from "../jwks/publishing-namespace.ts";
import { startKeyturn } from "../support/keyturn-process.ts";

const cluster = useSharedCluster();
test("what is wrong and what happens to credentials is told, as it is in the Events", async () => {
  await using receiver = await startReceiver();
  const bodies = (): readonly unknown[] => receiver.received.map(({ body }) => JSON.parse(body) as unknown);
  const urlFile = join(await temporaryFolder(), "url");
  await writeFile(urlFile, `${receiver.url}/services/planted-webhook-secret\n`);

  await using place = await publishingNamespace(cluster(), "notify");
  const { namespace, kubeconfig } = place;
  const scope = ["--controllers=jwks", `--namespaces=${namespace}`, `--leader-elect-namespace=${namespace}`];
  const servers = ["--metrics-bind-address=0", "--health-probe-bind-address=0"];
  const notify = [`--notify.url-file=${urlFile}`, "--notify.allow-http", "--notify.cluster=here"];
  const keyturn = startKeyturn(["run", "--log-level=debug", ...scope, ...servers, ...notify], { KUBECONFIG: kubeconfig });
  onTestFinished(() => keyturn.kill("SIGKILL"));
  await place.putConfig("site");
  await soon(() => expect(bodies()).toContainEqual(expect.objectContaining({ type: "Warning", reason: "SecretNotFound", cluster: "here" })));
  await place.putSecret("signer", makeCertificate());
  const object = { apiVersion: "keyturn.io/v1alpha1", kind: "JWKSConfig", namespace, name: "site" };
  await soon(() => expect(bodies()).toContainEqual(expect.objectContaining({ type: "Normal", reason: "KeyAdded", controller: "jwks", object })));
  keyturn.kill("SIGTERM");
  expect(await keyturn.exit).toBe(0);
  expect(keyturn.output.out + keyturn.output.err).not.toContain("planted-webhook-secret");
});
