// The same controller with a real OpenID server: credentials by dynamic client registration, repaired, rotated and revoked.
import { Buffer } from "node:buffer";
import { Event, Secret } from "@keyturn/runtime";
import { soon, useSharedApiServer, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import * as z from "zod";
import { isWhole, openid, type OpenidPlace, openidPlace } from "./identity/openid-place.ts";

const controlPlane = useSharedCluster();
const target = useSharedApiServer();

const grantSchema = z.object({ management: z.object({ token: z.string().min(10) }) });

/** The Secrets that hold the right to manage a client. */
async function grants({ place }: OpenidPlace): Promise<readonly Secret[]> {
  const { items } = await place.client.list(Secret, { namespace: place.parts.system });
  return items.filter(({ metadata }) => metadata.name.startsWith("eventing-auth-grant-"));
}

test("a Kyma gets a client of its own, whose token verifies, and leaves nothing behind when it goes", { concurrent: true }, async () => {
  await using world = await openidPlace(controlPlane(), target());
  const { place, server } = world;
  const operator = await place.ready({ flags: openid });
  const { client_secret: clientSecret = "" } = await isWhole(world);
  const [grant, ...others] = await grants(world);
  expect(others).toEqual([]);
  const { token } = grantSchema.parse(JSON.parse(Buffer.from(grant?.data?.["grant"] ?? "", "base64").toString("utf8"))).management;
  const told = JSON.stringify([await place.auth(), (await place.client.list(Event, { namespace: place.namespace })).items, operator.logLines]);
  for (const secret of [clientSecret, token, server.initialAccessToken ?? ""]) expect(told).not.toContain(secret);

  await place.deleteKyma();
  await place.isGone();
  expect(server.clients()).toEqual([]);
  expect(await place.targetSecret()).toBeUndefined();
  expect(await grants(world)).toEqual([]);
});

test("a Secret that was deleted or edited comes back with the same client", { concurrent: true }, async () => {
  await using world = await openidPlace(controlPlane(), target());
  const { place } = world;
  await place.ready({ flags: openid });
  const before = await isWhole(world);
  await place.parts.target.delete(Secret, place.targetName);
  expect((await isWhole(world)).client_id).toBe(before.client_id);

  const edited = Buffer.from("edited").toString("base64");
  await place.parts.target.mergePatch(Secret, place.targetName, { data: { client_secret: edited } });
  await soon(async () => expect((await place.credentials())?.client_secret).not.toBe("edited"));
  expect((await isWhole(world)).client_id).toBe(before.client_id);
});

test("a client whose secret is too old gets another one, and stays the same client", { concurrent: true }, async () => {
  await using world = await openidPlace(controlPlane(), target());
  const { place } = world;
  await place.ready({ flags: { ...openid, "eventing-auth.rotate-after": "24h" } });
  const before = await isWhole(world);
  await place.parts.target.mergePatch(Secret, place.targetName, { metadata: { annotations: { "keyturn.io/issued-at": "2020-01-01T00:00:00Z" } } });
  await soon(async () => expect((await place.credentials())?.client_secret).not.toBe(before.client_secret));
  expect((await isWhole(world)).client_id).toBe(before.client_id);
  expect(await place.tokenStatus(before)).toBe(401);
});

test("a server that issues no new secrets is told of, and the one that there is goes on working", { concurrent: true }, async () => {
  await using world = await openidPlace(controlPlane(), target(), { rotatesSecrets: false });
  const { place } = world;
  await place.ready({ flags: { ...openid, "eventing-auth.rotate-after": "24h" } });
  const before = await isWhole(world);
  await place.parts.target.mergePatch(Secret, place.targetName, { metadata: { annotations: { "keyturn.io/issued-at": "2020-01-01T00:00:00Z" } } });
  await soon(async () => expect(JSON.stringify((await place.auth())?.status?.conditions)).toContain("issues no new secret on an update"));
  expect(await place.tokenStatus(before)).toBe(200);
});

test("a client whose secret nobody knows any more is replaced, and none is left behind", { concurrent: true }, async () => {
  await using world = await openidPlace(controlPlane(), target(), { rotatesSecrets: false, tellsSecretOn: [] });
  const { place } = world;
  await place.ready({ flags: openid });
  const before = await isWhole(world);
  await place.skipMinute();
  await place.parts.target.delete(Secret, place.targetName);
  await soon(async () => expect((await place.credentials())?.client_id).not.toBe(before.client_id));
  await isWhole(world);
});

test(
  "a client that the server no longer lets us manage is reported, not replaced, and left behind when somebody says so",
  { concurrent: true },
  async () => {
    await using world = await openidPlace(controlPlane(), target());
    const { place, server } = world;
    const operator = await place.ready({ flags: openid });
    const before = await isWhole(world);
    await operator.stop();
    await place.skipMinute();
    // The server answers as it would to a registration access token that it has invalidated: with 401.
    server.deleteClient(before.client_id ?? "");
    await place.startOperator({ flags: openid });
    expect(await place.conditionSays("IASApplicationReady", "False IASApplicationCreationFailed")).toContain("is not accepted any more");
    expect(server.clients()).toEqual([]);
    await place.deleteAuth();
    await place.conditionSays("Ready", "False DeletionWaiting");
    await controlPlane().kubectl("annotate", "eventingauth", place.runtime, "keyturn.io/abandon=application", "-n", place.namespace);
    await soon(async () => expect((await place.credentials())?.client_id ?? before.client_id).not.toBe(before.client_id));
    await isWhole(world);
  },
);
