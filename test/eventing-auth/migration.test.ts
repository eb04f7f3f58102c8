// The commands of the migration guide, as its readers type them.
import { Deployment } from "@keyturn/runtime";
import { useSharedApiServer, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { runShell, shellBlock } from "../support/shell-block.ts";
import { issuingPlace } from "./issuing-place.ts";

const controlPlane = useSharedCluster();
const target = useSharedApiServer();
const guide = "migration/from-eventing-auth-manager.md";

/** Runs a block of the guide in a namespace that only this test has. */
async function run(block: string, namespace: string): Promise<string> {
  return runShell(controlPlane(), (await shellBlock(guide, block)).replaceAll("kcp-system", namespace));
}

test("kubeconfigs that would be refused are listed, and no others", { concurrent: true }, async () => {
  await using place = await issuingPlace(controlPlane(), target());
  const { system } = place.parts;
  await place.putKubeconfig();
  const suspects = {
    exec: "users:\n- user:\n    exec:\n      command: sh\n",
    "token-file": "users:\n- user:\n    tokenFile: /etc/token\n",
    insecure: "clusters:\n- cluster:\n    insecure-skip-tls-verify: true\n",
    plain: "clusters:\n- cluster:\n    server: http://target\n",
    disguised: 'clusters:\n- cluster:\n    server: " http://target"\n',
  };
  for (const [name, config] of Object.entries(suspects)) await place.putSecret(`kubeconfig-${name}`, { config });
  await place.putSecret("kubeconfig-empty", {});
  await place.putSecret("something-else", { config: "exec: yes" });
  expect((await run("kubeconfigs", system)).trim().split("\n").sort()).toEqual(
    Object.keys(suspects)
      .map((name) => `kubeconfig-${name}`)
      .sort(),
  );
});

test("what is not ready is listed, with its reasons", { concurrent: true }, async () => {
  await using place = await issuingPlace(controlPlane(), target());
  await place.putKyma();
  await place.startOperator();
  await place.conditionSays("TargetReachable", "False KubeconfigNotFound");
  const line = (await run("not-ready", place.parts.system)).split("\n").find((each) => each.startsWith(`${place.namespace}/${place.runtime}: `));
  expect(line).toContain(`kubeconfig-${place.runtime}`);
});

test("removing the original takes its Deployment and leaves the kind and its objects", { concurrent: true }, async () => {
  await using place = await issuingPlace(controlPlane(), target());
  const { system } = place.parts;
  const labels = { "app.kubernetes.io/component": "eventing-auth-manager.kyma-project.io" };
  const pods = { metadata: { labels: { app: "original" } }, spec: { containers: [{ name: "manager", image: "original" }] } };
  await place.client.create(Deployment, {
    metadata: { namespace: system, name: "eventing-auth-manager-controller-manager", labels },
    spec: { replicas: 0, selector: { matchLabels: { app: "original" } }, template: pods },
  });
  await place.ready();
  await run("remove", system);
  expect(await place.client.get(Deployment, { namespace: system, name: "eventing-auth-manager-controller-manager" })).toBeUndefined();
  await place.isWhole();
  expect(await place.auth()).toMatchObject({ status: { state: "Ready" } });
});
