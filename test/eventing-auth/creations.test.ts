// However an identity provider behaves: one application is made, not one after the other.
import { Secret } from "@keyturn/runtime";
import type { RunningOperator } from "@keyturn/runtime/testing";
import { soon, useSharedApiServer, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { describe, expect, test } from "vitest";
import { askedAtAnnotation, EventingAuth, replaceAnnotation } from "../../packages/keyturn/src/controllers/eventing-auth/api.ts";
import { startIasStandIn } from "../../packages/keyturn/src/dev/stand-ins/ias.ts";
import { openid, openidPlace } from "./identity/openid-place.ts";
import { type IssuingPlace, issuingPlace } from "./issuing-place.ts";

const controlPlane = useSharedCluster();
const target = useSharedApiServer();

async function begin(place: IssuingPlace): Promise<void> {
  await place.putKubeconfig();
  await place.putKyma();
  await place.startOperator();
}

/** Waits until the provider was asked so often since then that a repeated creation would have shown. */
function isAskedAgain(place: IssuingPlace, step: "read" | "find", times: number): Promise<unknown> {
  const before = place.tenant.counters.requests[step] ?? 0;
  return soon(() => expect(place.tenant.counters.requests[step] ?? 0).toBeGreaterThanOrEqual(before + times));
}

/** How often it has dealt with its EventingAuths. */
async function runsOf(operator: RunningOperator): Promise<number> {
  const counts = (await operator.metrics()).matchAll(/^controller_runtime_reconcile_total\{controller="eventing-auth",.*\} (\d+)$/gm);
  return Array.from(counts, ([, count]) => Number(count)).reduce((sum, count) => sum + count, 0);
}

describe("a tenant", { concurrent: true }, () => {
  test.each([300, 3_000])("that shows a new application %i ms late makes one, which is used", async (shownAfterMs) => {
    await using place = await issuingPlace(controlPlane(), target(), { tenant: await startIasStandIn({ shownAfterMs }) });
    await begin(place);
    await place.isReady();
    await place.isWhole();
    expect(place.tenant.counters).toMatchObject({ created: 1, deleted: 0 });
  });

  test("that does not show an application to another operator yet is not asked for a second one", async () => {
    await using place = await issuingPlace(controlPlane(), target(), { tenant: await startIasStandIn({ shownAfterMs: 5_000 }) });
    await place.putKubeconfig();
    await place.putKyma();
    const first = await place.startOperator();
    await soon(async () => expect((await place.auth())?.status?.iasApplication).toBeDefined());
    await first.stop();
    await place.startOperator();
    await place.isReady();
    await place.isWhole();
    expect(place.tenant.counters).toMatchObject({ created: 1, deleted: 0 });
  });

  test("that never finds an application by its id is asked for one, and the object says what is wrong", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    const failure = place.tenant.fail("read", { type: "status", status: 404 });
    await begin(place);
    expect(await place.conditionSays("IASApplicationReady", "False IASApplicationCreationFailed")).toContain("is not found by its id, but is listed");
    await isAskedAgain(place, "read", 3);
    await place.skipMinute();
    await isAskedAgain(place, "read", 2);
    expect(place.tenant.counters).toMatchObject({ created: 1, deleted: 0 });
    failure.stop();
    await place.isReady();
    await place.isWhole();
    expect(place.tenant.counters).toMatchObject({ created: 1, deleted: 0 });
  });

  test("whose answer to the creation is lost is asked for no second one: the first is known by its description", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    place.tenant.fail("create", { type: "lost-answer" }, 1);
    await begin(place);
    await place.isReady();
    await place.isWhole();
    expect(place.tenant.counters).toMatchObject({ created: 1, deleted: 0 });
    await place.eventSays("Adopted");
  });

  test("whose answer to the creation is lost, and whose application is gone at once, is asked for another only a minute later", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    place.tenant.fail("create", { type: "lost-answer" }, 1);
    place.tenant.onStep((step, moment) => {
      if (step === "create" && moment === "after" && place.tenant.counters.created === 1) {
        place.tenant.directory.delete(place.tenant.applications()[0]?.id ?? "");
      }
    });
    await begin(place);
    await place.conditionSays("IASApplicationReady", "False IASApplicationCreationFailed");
    await isAskedAgain(place, "find", 2);
    expect(place.tenant.counters.created).toBe(1);
    await place.skipMinute();
    await place.isReady();
    expect(place.tenant.counters.created).toBe(2);
  });
});

test(
  "a tenant that takes longer than the timeout to make an application gets one all the same: the next try finds it",
  { concurrent: true },
  async () => {
    await using place = await issuingPlace(controlPlane(), target());
    place.tenant.fail("create", { type: "slow", delayMs: 3_000 });
    await place.putKubeconfig();
    await place.putKyma();
    await place.startOperator({ flags: { "eventing-auth.provider-timeout": "1s" } });
    await place.isReady();
    await place.isWhole();
    expect(place.tenant.counters).toMatchObject({ created: 1, deleted: 0 });
  },
);

test(
  "another tenant's URL replaces nothing: objects say so, and go on when it is right again, or when somebody says that it is",
  { concurrent: true },
  async () => {
    await using place = await issuingPlace(controlPlane(), target());
    await using other = await startIasStandIn();
    other.directory.create("somebody else's", {});
    const second = `${place.runtime}-b`;
    await place.ready();
    // The Secret in the one cluster that there is here is the first one's.
    await place.putKubeconfig(undefined, second);
    await place.putKyma(place.namespace, second);
    const name = { namespace: place.namespace, name: second };
    await soon(async () => expect((await place.client.get(EventingAuth, name))?.status?.iasApplication).toBeDefined());
    const before = await place.credentials();
    await place.skipMinute();
    await place.putCredentials({ url: other.url });
    expect(await place.conditionSays("Ready", "False ApplicationsMissing")).toContain(place.tenant.url);
    await place.eventSays("ApplicationsMissing");
    expect([other.counters.created, place.tenant.counters.deleted]).toEqual([1, 0]);
    await place.putCredentials();
    await place.conditionSays("Ready", "True Ready");
    expect(await place.credentials()).toEqual(before);

    await place.putCredentials({ url: other.url });
    await place.conditionSays("Ready", "False ApplicationsMissing");
    const secret = { namespace: place.namespace, name: "eventing-auth-ias-creds" };
    await place.client.mergePatch(Secret, secret, { metadata: { annotations: { [replaceAnnotation]: other.url } } });
    await place.conditionSays("Ready", "True Ready");
    expect(other.applications(place.runtime)).toHaveLength(1);
  },
);

test.concurrent.each(["status 403", "status 500", "cut"])(
  "a creation that fails (%s) is not tried twice in a minute, and the condition says why",
  async (how) => {
    await using place = await issuingPlace(controlPlane(), target());
    const [type = "", status] = how.split(" ");
    const failure = place.tenant.fail("create", type === "cut" ? { type: "cut" } : { type: "status", status: Number(status) });
    await begin(place);
    const said = await place.conditionSays("IASApplicationReady", "False IASApplicationCreationFailed");
    expect(said).toContain("failed to create application");
    await isAskedAgain(place, "find", 2);
    expect(failure.hits).toBe(1);
    expect(await place.conditionSays("IASApplicationReady", "False IASApplicationCreationFailed")).toBe(said);
  },
);

test("a creation that is answered with 429 is not repeated in its run", { concurrent: true }, async () => {
  await using place = await issuingPlace(controlPlane(), target());
  const failure = place.tenant.fail("create", { type: "status", status: 429 });
  await begin(place);
  await place.conditionSays("IASApplicationReady", "False IASApplicationCreationFailed");
  await isAskedAgain(place, "find", 2);
  expect(failure.hits).toBe(1);
});

describe("an application that was asked for and is not shown yet", { concurrent: true }, () => {
  /** Asked for once, with the answer lost, and shown only after the test. */
  async function asked(place: IssuingPlace): Promise<void> {
    place.tenant.fail("create", { type: "lost-answer" }, 1);
    await begin(place);
    await place.conditionSays("IASApplicationReady", "False IASApplicationCreationFailed");
  }

  async function annotate(place: IssuingPlace, askedAt: string | null): Promise<void> {
    const patch = { metadata: { annotations: { [askedAtAnnotation]: askedAt } } };
    await place.client.mergePatch(EventingAuth, { namespace: place.namespace, name: place.runtime }, patch);
  }

  test("is not asked for again because a leader's clock was ahead; its time is taken for now", async () => {
    await using place = await issuingPlace(controlPlane(), target(), { tenant: await startIasStandIn({ shownAfterMs: 600_000 }) });
    await asked(place);
    const ahead = new Date(Date.now() + 3_600_000).toISOString();
    await annotate(place, ahead);
    await soon(async () => expect((await place.auth())?.metadata.annotations?.[askedAtAnnotation]).not.toBe(ahead));
    expect(Date.parse((await place.auth())?.metadata.annotations?.[askedAtAnnotation] ?? "")).toBeLessThanOrEqual(Date.now());
    await isAskedAgain(place, "find", 2);
    expect(place.tenant.counters.created).toBe(1);
  });

  test.each([
    ["took the annotation away", null],
    ["set it back", "2020-01-01T00:00:00Z"],
  ])("is not asked for again because somebody %s", async (_what, edited) => {
    await using place = await issuingPlace(controlPlane(), target(), { tenant: await startIasStandIn({ shownAfterMs: 600_000 }) });
    await asked(place);
    await annotate(place, edited);
    await isAskedAgain(place, "find", 3);
    expect(place.tenant.counters.created).toBe(1);
  });
});

test("an OpenID server that gives no client secret at all gets one client, and the object says so", { concurrent: true }, async () => {
  await using world = await openidPlace(controlPlane(), target(), {
    rotatesSecrets: false,
    tellsSecretOn: [],
    spoilRegistration: ({ client_secret: _secret, ...client }) => client,
  });
  const { place, server } = world;
  let registered = 0;
  server.onStep((step, moment) => void (step === "POST /reg" && moment === "after" && registered++));
  await place.putKubeconfig();
  await place.putKyma();
  const operator = await place.startOperator({ flags: openid });
  expect(await place.conditionSays("IASApplicationReady", "False IASApplicationCreationFailed")).toContain("issues no new secret on an update");
  await place.putCredentials({ url: server.issuer, initial_access_token: server.initialAccessToken ?? "", note: "tried again" });
  await soon(() => expect(server.clients()).toEqual([]));
  const runs = await runsOf(operator);
  await place.putCredentials({ url: server.issuer, initial_access_token: server.initialAccessToken ?? "", note: "and again" });
  await soon(async () => expect(await runsOf(operator)).toBeGreaterThan(runs));
  expect(registered).toBe(1);
});

test("an OpenID server that refuses its own registration access tokens gets one client, and the object says so", { concurrent: true }, async () => {
  await using world = await openidPlace(controlPlane(), target(), { refusesManagement: true });
  const { place, server } = world;
  await place.putKubeconfig();
  await place.putKyma();
  await place.startOperator({ flags: { ...openid, "eventing-auth.check-interval": "1s" } });
  expect(await place.conditionSays("IASApplicationReady", "False IASApplicationCreationFailed")).toContain("401");
  expect(server.clients()).toHaveLength(1);
  await place.skipMinute();
  const refusals = server.refusals;
  await place.putCredentials({ url: server.issuer, initial_access_token: server.initialAccessToken ?? "", note: "tried again" });
  await soon(() => expect(server.refusals).toBeGreaterThan(refusals));
  expect(server.clients()).toHaveLength(1);
  expect(await place.tokenStatus()).toBe(200);
});
