// The specs of kyma-project/eventing-auth-manager's own suite, one by one, with its titles. Its suite replaces the clients of IAS and of the runtime by
// stubs within its process; here the tenant and the runtime's cluster themselves fail, so that the messages are theirs.
import { readFile } from "node:fs/promises";
import { Namespace, Secret } from "@keyturn/runtime";
import { soon, useSharedApiServer, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { describe, expect, test } from "vitest";
import { EventingAuth } from "../../packages/keyturn/src/controllers/eventing-auth/api.ts";
import { type IssuingPlace, issuingPlace } from "./issuing-place.ts";

const controlPlane = useSharedCluster();
const target = useSharedApiServer();

async function createEventingAuthAndKubeconfigSecret(place: IssuingPlace, kubeconfig?: string): Promise<void> {
  await place.putKubeconfig(kubeconfig);
  await place.client.create(EventingAuth, { metadata: { namespace: place.namespace, name: place.runtime }, spec: undefined });
}

async function verifyEventingAuthStatusReady(place: IssuingPlace): Promise<void> {
  await soon(async () => {
    const { state, conditions } = (await place.auth())?.status ?? {};
    expect(state).toBe("Ready");
    expect(conditions).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          type: "IASApplicationReady",
          status: "True",
          reason: "IASApplicationCreated",
          message: "IAS application is successfully created.",
        }),
        expect.objectContaining({
          type: "SecretReady",
          status: "True",
          reason: "SecretCreated",
          message: "Eventing webhook authentication secret is successfully created.",
        }),
      ]),
    );
  });
}

async function verifySecretExistsOnTargetCluster(place: IssuingPlace): Promise<void> {
  await soon(async () => {
    const { client_id, client_secret, token_url, certs_url } = (await place.credentials()) ?? {};
    for (const value of [client_id, client_secret, certs_url]) expect(value).not.toBeFalsy();
    expect(token_url).toContain("/token");
  });
}

async function verifyNotReady(place: IssuingPlace, type: string, reason: string): Promise<string> {
  const message = await place.conditionSays(type, `False ${reason}`);
  expect((await place.auth())?.status?.state).toBe("NotReady");
  return message;
}

/** The runtime's namespace is missing, as on a cluster on which Kyma is not installed yet. */
async function stubFailedSkrSecretCreation(place: IssuingPlace) {
  const namespace = `${place.parts.targetNamespace}-later`;
  const secrets = [{ apiGroups: [""], resources: ["secrets"], verbs: ["get", "list", "watch", "create", "patch", "delete"] }];
  const kubeconfig = await target().kubeconfigFor({ serviceAccount: { namespace: place.parts.targetNamespace, name: "everywhere" }, rules: secrets });
  return {
    flags: { "eventing-auth.target-namespace": namespace },
    kubeconfig: await readFile(kubeconfig, "utf8"),
    recover: async () => void (await target().client.create(Namespace, { metadata: { name: namespace } })),
  };
}

describe("EventingAuth Controller happy tests", { concurrent: true }, () => {
  test("Creating EventingAuth CR › should create secret with IAS applications credentials", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    await place.startOperator();
    await createEventingAuthAndKubeconfigSecret(place);
    await verifyEventingAuthStatusReady(place);
    await verifySecretExistsOnTargetCluster(place);
  });

  test("Deleting EventingAuth CR › should delete secret with IAS applications credentials", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    await place.startOperator();
    await createEventingAuthAndKubeconfigSecret(place);
    await verifyEventingAuthStatusReady(place);
    await place.deleteAuth();
    await place.isGone();
    expect(await place.targetSecret()).toBeUndefined();
    expect(place.tenant.applications(place.runtime)).toEqual([]);
  });

  test("Time-based EventingAuth CR reconciliation › should create new secret on target cluster when secret was deleted manually", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    await place.startOperator();
    await createEventingAuthAndKubeconfigSecret(place);
    await verifyEventingAuthStatusReady(place);
    await place.parts.target.delete(Secret, place.targetName);
    await verifySecretExistsOnTargetCluster(place);
  });
});

describe("EventingAuth Controller unhappy tests", { concurrent: true }, () => {
  test("should have CR status NotReady when IAS app creation fails", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    place.tenant.fail("create", { type: "status", status: 500 });
    await place.startOperator();
    await createEventingAuthAndKubeconfigSecret(place);
    expect(await verifyNotReady(place, "IASApplicationReady", "IASApplicationCreationFailed")).toContain("failed to create application");
  });

  test("should have CR status NotReady when secret creation on target cluster fails, with the application ready and the reason first", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    const { flags, kubeconfig } = await stubFailedSkrSecretCreation(place);
    await place.startOperator({ flags });
    await createEventingAuthAndKubeconfigSecret(place, kubeconfig);
    const message = await verifyNotReady(place, "SecretReady", "SecretCreationFailed");
    expect(message).toContain("not found");
    expect(await place.conditionSays("IASApplicationReady", "True IASApplicationCreated")).toBe("IAS application is successfully created.");
    expect((await place.auth())?.status?.iasApplication?.name).toBe(place.runtime);
    expect(await place.conditionSays("Ready", "False SecretCreationFailed")).toBe(message);
  });

  test("should retry and create application when first attempt of application creation failed", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    const failure = place.tenant.fail("create", { type: "status", status: 500 });
    await place.startOperator();
    await createEventingAuthAndKubeconfigSecret(place);
    await verifyNotReady(place, "IASApplicationReady", "IASApplicationCreationFailed");
    failure.stop();
    await place.skipMinute();
    await verifyEventingAuthStatusReady(place);
  });

  test("should retry and create secret when first attempt of secret creation failed", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    const { flags, kubeconfig, recover } = await stubFailedSkrSecretCreation(place);
    await place.startOperator({ flags });
    await createEventingAuthAndKubeconfigSecret(place, kubeconfig);
    await verifyNotReady(place, "SecretReady", "SecretCreationFailed");
    await recover();
    await verifyEventingAuthStatusReady(place);
    expect(place.tenant.counters).toMatchObject({ created: 1, deleted: 0 });
  });
});

test("Kyma Controller › Creating Kyma CR › should create Kyma CR", { concurrent: true }, async () => {
  await using place = await issuingPlace(controlPlane(), target());
  await place.putKubeconfig();
  await place.startOperator();
  await place.putKyma();
  await place.isReady();
  const { metadata, status } = (await place.auth()) ?? {};
  expect(metadata).toMatchObject({ namespace: place.namespace, name: place.runtime });
  expect(status?.iasApplication?.name).toBe(place.runtime);
  expect(status?.iasApplication?.uuid).not.toBe("");
  expect(status?.secret).toEqual({ clusterId: place.runtime, namespacedName: `${place.parts.targetNamespace}/eventing-webhook-auth` });
  await place.deleteKyma();
  await place.isGone();
});
