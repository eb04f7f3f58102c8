// What kyma-project/eventing-auth-manager has left: taken over as it is, with the same client id and the same client secret.
import { Buffer } from "node:buffer";
import { Secret } from "@keyturn/runtime";
import { soon, useSharedApiServer, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import {
  adoptAnnotation,
  EventingAuth,
  type EventingAuthStatus,
  eventingAuthFinalizer,
} from "../../packages/keyturn/src/controllers/eventing-auth/api.ts";
import { type IssuingPlace, issuingPlace } from "./issuing-place.ts";

const controlPlane = useSharedCluster();
const target = useSharedApiServer();

/** The state in which the original leaves a runtime: no marks, no hints. `recorded` as its status has it after the first success. */
async function leftByOriginal(place: IssuingPlace, recorded: boolean): Promise<{ readonly id: string; readonly secret: string }> {
  const application = place.tenant.directory.create(place.runtime, {});
  const secret =
    place.tenant.directory.addSecret(application.id, { description: "eventing-auth-manager", authorizationScopes: ["oAuth"] })?.secret ?? "";
  const { url } = place.tenant;
  const texts = { client_id: application.clientId, client_secret: secret, token_url: `${url}/oauth2/token`, certs_url: `${url}/oauth2/certs` };
  const data = Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString("base64")]));
  await place.parts.target.create(Secret, { metadata: place.targetName, type: "Opaque", data });
  await place.putKubeconfig();
  await place.putKyma();
  const name = { namespace: place.namespace, name: place.runtime };
  await place.client.create(EventingAuth, { metadata: { ...name, finalizers: [eventingAuthFinalizer] }, spec: {} });
  const status: EventingAuthStatus = {
    state: "Ready",
    conditions: [],
    ...(recorded && { iasApplication: { name: place.runtime, uuid: application.id } }),
  };
  await place.client.mergePatch(EventingAuth, name, { status }, { subresource: "status" });
  return { id: application.id, secret };
}

test.concurrent.each([
  ["its status knows", true],
  ["its status has forgotten, and somebody adopts,", false],
])("an application that %s stays, and so do the credentials in the runtime", async (_what, recorded) => {
  await using place = await issuingPlace(controlPlane(), target());
  const { id, secret } = await leftByOriginal(place, recorded);
  await place.startOperator();
  if (!recorded) {
    expect(await place.conditionSays("IASApplicationReady", "False IASApplicationCreationFailed")).toContain(`${adoptAnnotation}: ${id}`);
    const metadata = { annotations: { [adoptAnnotation]: id } };
    await place.client.mergePatch(EventingAuth, { namespace: place.namespace, name: place.runtime }, { metadata });
  }
  await place.conditionSays("Ready", "True Ready");
  await soon(async () => expect((await place.targetSecret())?.metadata.labels).toMatchObject({ "app.kubernetes.io/managed-by": "keyturn" }));
  await place.isWhole();
  expect((await place.credentials())?.client_secret).toBe(secret);
  expect(place.tenant.applications(place.runtime)[0]?.id).toBe(id);
  expect(place.tenant.counters).toMatchObject({ created: 1, deleted: 0, secretsCreated: 1, secretsDeleted: 0 });
});

test("what was taken over is cleaned up when its Kyma goes, even if it is the first thing that happens", { concurrent: true }, async () => {
  await using place = await issuingPlace(controlPlane(), target());
  await leftByOriginal(place, true);
  await place.deleteAuth();
  await place.deleteKyma();
  await place.startOperator();
  await place.isGone();
  expect(place.tenant.applications()).toEqual([]);
  expect(await place.targetSecret()).toBeUndefined();
});

test(
  "an application that was taken over and is deleted is replaced, although another had written its id into the status",
  { concurrent: true },
  async () => {
    await using place = await issuingPlace(controlPlane(), target());
    const { id } = await leftByOriginal(place, true);
    await place.startOperator({ flags: { "eventing-auth.check-interval": "1s" } });
    await soon(async () => expect((await place.targetSecret())?.metadata.labels).toMatchObject({ "app.kubernetes.io/managed-by": "keyturn" }));
    place.tenant.directory.delete(id);
    await place.eventSays("ApplicationGone");
    await place.isWhole();
    expect((await place.auth())?.status?.iasApplication?.uuid).not.toBe(id);
  },
);
