// From a Kyma to credentials in the cluster of its runtime.
import { soon, useSharedApiServer, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { createRemoteJWKSet, jwtVerify } from "jose";
import { describe, expect, test } from "vitest";
import { EventingAuth, eventingAuthFinalizer, Kyma } from "../../packages/keyturn/src/controllers/eventing-auth/api.ts";
import { issuingPlace } from "./issuing-place.ts";

const controlPlane = useSharedCluster();
const target = useSharedApiServer();

describe("a Kyma", { concurrent: true }, () => {
  test("gets an application and a Secret with working credentials in its cluster, and says so in the original's words", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    await place.ready();
    await place.isWhole();
    const status = (await place.auth())?.status;
    const [application] = place.tenant.applications(place.runtime);
    expect(status).toMatchObject({
      state: "Ready",
      iasApplication: { name: place.runtime, uuid: application?.id },
      secret: { clusterId: place.runtime, namespacedName: `${place.targetName.namespace}/eventing-webhook-auth` },
    });
    const said = (status?.conditions ?? []).map(({ type, status: holds, reason }) => `${type} ${holds} ${reason}`);
    expect(said).toEqual([
      "IASApplicationReady True IASApplicationCreated",
      "SecretReady True SecretCreated",
      "TargetReachable True TargetReached",
      "CredentialsValid True TokenIssued",
      "Ready True Ready",
    ]);
    expect(status?.conditions?.[0]?.message).toBe("IAS application is successfully created.");
    expect(status?.conditions?.[1]?.message).toBe("Eventing webhook authentication secret is successfully created.");
    expect((await place.targetSecret())?.type).toBe("Opaque");
  });

  test("gets credentials with which a token can be fetched and verified", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    await place.ready();
    const credentials = await place.credentials();
    const { client_id = "", client_secret = "", token_url = "", certs_url = "" } = credentials ?? {};
    const body = new URLSearchParams({ grant_type: "client_credentials", client_id, client_secret });
    const answer = (await (await fetch(token_url, { method: "POST", body })).json()) as { readonly access_token: string };
    const { payload } = await jwtVerify(answer.access_token, createRemoteJWKSet(new URL(certs_url)));
    expect(payload.iss).toBe(place.tenant.url);
  });

  test("costs seven requests to the tenant, and none when nothing happens", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    const operator = await place.ready();
    const asked = { find: 1, create: 1, read: 2, "create-secret": 1, discover: 1, token: 1 };
    expect(place.tenant.counters.requests).toEqual(asked);
    await place.client.mergePatch(Kyma, { namespace: place.namespace, name: place.runtime }, { metadata: { labels: { touched: "yes" } } });
    await place.client.mergePatch(EventingAuth, { namespace: place.namespace, name: place.runtime }, { metadata: { labels: { touched: "yes" } } });
    await soon(async () => expect(await operator.metrics()).toMatch(/^keyturn_eventing_auth_ready\{.*\} 1$/m));
    expect(place.tenant.counters.requests).toEqual(asked);
  });

  test("has an EventingAuth that it owns, which comes back and gets its owner back", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    await place.ready();
    const kyma = await place.client.get(Kyma, { namespace: place.namespace, name: place.runtime });
    const owner = {
      apiVersion: "operator.kyma-project.io/v1beta2",
      kind: "Kyma",
      uid: kyma?.metadata.uid,
      controller: true,
      blockOwnerDeletion: true,
    };
    const first = await place.auth();
    expect(first?.metadata).toMatchObject({ finalizers: [eventingAuthFinalizer], ownerReferences: [owner] });

    const other = { ...first?.metadata.ownerReferences?.[0], apiVersion: "operator.kyma-project.io/v1beta1" };
    await place.client.mergePatch(EventingAuth, { namespace: place.namespace, name: place.runtime }, { metadata: { ownerReferences: [other] } });
    await soon(async () => expect((await place.auth())?.metadata.ownerReferences).toMatchObject([owner]));

    await place.deleteAuth();
    await soon(async () => expect((await place.auth())?.metadata.uid ?? first?.metadata.uid).not.toBe(first?.metadata.uid));
    await place.isReady();
    await place.isWhole();
  });

  test("that is being deleted gets none", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    await place.putKubeconfig();
    await place.putKyma();
    const name = { namespace: place.namespace, name: place.runtime };
    await place.client.mergePatch(Kyma, name, { metadata: { finalizers: ["example.com/held"] } });
    await place.deleteKyma();
    const operator = await place.startOperator();
    await soon(async () =>
      expect(await operator.metrics()).toMatch(/controller_runtime_reconcile_total\{controller="eventing-auth-kyma",result="success"\} [1-9]/),
    );
    expect(await place.auth()).toBeUndefined();
    expect(place.tenant.applications()).toEqual([]);
    await place.client.mergePatch(Kyma, name, { metadata: { finalizers: null } });
  });
});

test("an EventingAuth without a Kyma is served the same, and stays", { concurrent: true }, async () => {
  await using place = await issuingPlace(controlPlane(), target());
  await place.putKubeconfig();
  await place.startOperator();
  const metadata = { namespace: place.namespace, name: place.runtime };
  await place.parts.controlPlane.apply({ apiVersion: "operator.kyma-project.io/v1alpha1", kind: "EventingAuth", metadata });
  await place.isReady();
  await place.isWhole();
});

test("a dry run asks and makes nothing", { concurrent: true }, async () => {
  await using place = await issuingPlace(controlPlane(), target());
  await place.putKubeconfig();
  const metadata = { namespace: place.namespace, name: place.runtime };
  await place.parts.controlPlane.apply({ apiVersion: "operator.kyma-project.io/v1alpha1", kind: "EventingAuth", metadata });
  const operator = await place.startOperator({ dryRun: true });
  await soon(() => expect(operator.logLines).toContainEqual(expect.objectContaining({ msg: "would have done create; withheld by dry run" })));
  expect(place.tenant.counters).toMatchObject({ created: 0, deleted: 0, secretsCreated: 0 });
  expect(await place.targetSecret()).toBeUndefined();
  expect((await place.auth())?.metadata.finalizers).toBeUndefined();
});
