// What others do to the Secret, the application and its secrets: it is put right, on the same application wherever that is possible.
import { Buffer } from "node:buffer";
import { Secret } from "@keyturn/runtime";
import { soon, useSharedApiServer, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { describe, expect, test } from "vitest";
import { replaceAnnotation } from "../../packages/keyturn/src/controllers/eventing-auth/api.ts";
import { type IssuingPlace, issuingPlace } from "./issuing-place.ts";

const controlPlane = useSharedCluster();
const target = useSharedApiServer();

test(
  "a Secret that is deleted in a loop costs the identity provider no more than its share, and the object says so",
  { concurrent: true },
  async () => {
    await using place = await issuingPlace(controlPlane(), target());
    await place.ready();
    const [before, startedMs] = [requestsOf(place), performance.now()];
    let deletions = 0;
    while ((await place.condition("Ready"))?.reason !== "ChangesTooOften") {
      await soon(async () =>
        expect([await place.targetSecret(), (await place.condition("Ready"))?.reason === "ChangesTooOften"]).not.toEqual([undefined, false]),
      );
      if (!(await place.targetSecret())) continue;
      await place.parts.target.delete(Secret, place.targetName);
      deletions++;
    }
    expect(deletions).toBeGreaterThan(3);
    // Twenty runs, and one in each five seconds since; five requests each, and those of whatever was under way.
    const requests = requestsOf(place) - before;
    expect(requests).toBeLessThan(200 + (performance.now() - startedMs) / 1_000);
    await place.isReady();
    await place.isWhole();
  },
);

function requestsOf({ tenant }: IssuingPlace): number {
  return Object.values(tenant.counters.requests).reduce((sum, count) => sum + count, 0);
}
const noOverlap = { "eventing-auth.rotation-overlap": "0" };
const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** The Secret has working credentials of the same application that are not those. */
async function hasOthers(place: IssuingPlace, before: Awaited<ReturnType<IssuingPlace["credentials"]>>): Promise<void> {
  await soon(async () => {
    const credentials = await place.credentials();
    expect(credentials?.client_secret).toEqual(expect.any(String));
    expect(credentials?.client_secret).not.toBe(before?.client_secret);
    expect(credentials).toMatchObject({ client_id: before?.client_id, token_url: before?.token_url, certs_url: before?.certs_url });
  });
  await place.isWhole();
  expect(place.tenant.counters).toMatchObject({ created: 1, deleted: 0 });
}

describe("the Secret in the cluster of the runtime", { concurrent: true }, () => {
  test("comes back within moments when it is deleted, with a new secret of the same application", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    await place.ready({ flags: noOverlap });
    const before = await place.credentials();
    await place.parts.target.delete(Secret, place.targetName);
    await hasOthers(place, before);
    await soon(() => expect(place.tenant.applications(place.runtime)[0]?.secrets).toHaveLength(1));
    expect(await place.tokenStatus(before)).not.toBe(200);
    await place.eventSays("SecretRepaired");
  });

  test.each([
    ["its client secret", { data: { client_secret: base64("guess") } }],
    ["its client id", { data: { client_id: base64("somebody") } }],
    ["all of its data", { data: null }],
  ])("is put right when somebody changes %s", async (_what, patch) => {
    await using place = await issuingPlace(controlPlane(), target());
    await place.ready({ flags: noOverlap });
    const before = await place.credentials();
    await place.parts.target.mergePatch(Secret, place.targetName, patch);
    await hasOthers(place, before);
  });

  test("keeps its client secret when only what is not secret was changed", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    await place.ready();
    const before = await place.credentials();
    await place.parts.target.mergePatch(Secret, place.targetName, { data: { token_url: base64("https://evil.example"), certs_url: null } });
    await soon(async () => expect(await place.credentials()).toEqual(before));
    await place.parts.target.mergePatch(Secret, place.targetName, { metadata: { labels: null, annotations: null } });
    await soon(async () => expect((await place.targetSecret())?.metadata.labels).toMatchObject({ "app.kubernetes.io/managed-by": "keyturn" }));
    expect(await place.credentials()).toEqual(before);
    expect(place.tenant.counters.secretsCreated).toBe(1);
  });

  test("keeps what others added to it", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    await place.ready();
    const note = { metadata: { annotations: { "example.com/note": "mine" } }, data: { extra: base64("mine") } };
    await place.parts.target.mergePatch(Secret, place.targetName, note);
    const before = await place.credentials();
    await place.parts.target.mergePatch(Secret, place.targetName, { data: { client_secret: base64("guess") } });
    await hasOthers(place, before);
    expect(await place.targetSecret()).toMatchObject(note);
  });

  test("is repaired after a restart if it was deleted while the operator was down", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    const operator = await place.ready({ flags: noOverlap });
    await operator.stop();
    const before = await place.credentials();
    await place.parts.target.delete(Secret, place.targetName);
    await place.startOperator({ flags: noOverlap });
    await hasOthers(place, before);
    await soon(() => expect(place.tenant.applications(place.runtime)[0]?.secrets).toHaveLength(1));
  });

  test("that somebody else made is left alone, and the condition says so", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    await place.parts.target.create(Secret, { metadata: place.targetName, data: { client_id: base64("theirs"), client_secret: base64("theirs") } });
    await place.putKubeconfig();
    await place.putKyma();
    await place.startOperator();
    expect(await place.conditionSays("SecretReady", "False SecretConflict")).toContain("it was left as it is");
    expect((await place.auth())?.status?.state).toBe("NotReady");
    expect(await place.credentials()).toMatchObject({ client_id: "theirs", client_secret: "theirs" });
    await place.parts.target.delete(Secret, place.targetName);
    await place.isReady();
    await place.isWhole();
  });
});

describe("at the tenant", { concurrent: true }, () => {
  test("a secret that was deleted there is replaced at the next check", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    await place.ready({ flags: { ...noOverlap, "eventing-auth.check-interval": "1s" } });
    const before = await place.credentials();
    const [application] = place.tenant.applications(place.runtime);
    place.tenant.directory.deleteSecret(application?.id ?? "", application?.secrets[0]?.hint ?? "");
    await hasOthers(place, before);
  });

  test("an application that was deleted there is made again at the next check, and the Secret follows", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    await place.ready({ flags: { "eventing-auth.check-interval": "1s" } });
    const [application] = place.tenant.applications(place.runtime);
    place.tenant.directory.delete(application?.id ?? "");
    await place.skipMinute();
    await soon(() => expect(place.tenant.counters.created).toBe(2));
    await place.isWhole();
    await place.isReady();
  });

  test("another tenant in the credentials means another application, once somebody says so, and the Secret follows", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    await using other = await issuingPlace(controlPlane(), target());
    other.tenant.directory.create("somebody else's", {});
    await place.ready();
    const before = await place.credentials();
    await place.skipMinute();
    await place.putCredentials({ url: other.tenant.url });
    expect(await place.conditionSays("Ready", "False ApplicationsMissing")).toContain(place.tenant.url);
    expect(await place.credentials()).toEqual(before);
    await place.client.mergePatch(
      Secret,
      { namespace: place.namespace, name: "eventing-auth-ias-creds" },
      { metadata: { annotations: { [replaceAnnotation]: other.tenant.url } } },
    );
    await soon(async () => {
      const credentials = await place.credentials();
      expect(credentials?.token_url).toContain(other.tenant.url);
      expect(credentials?.client_id).toBe(other.tenant.applications(place.runtime)[0]?.clientId);
    });
    expect(await place.tokenStatus()).toBe(200);
    expect((await place.credentials())?.client_id).not.toBe(before?.client_id);
  });

  test("an object that goes while its only application is at another tenant waits, and leaves nothing there", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    await using other = await issuingPlace(controlPlane(), target());
    other.tenant.directory.create("somebody else's", {});
    await place.ready();
    await place.skipMinute();
    await place.putCredentials({ url: other.tenant.url });
    await place.deleteKyma();
    expect(await place.conditionSays("Ready", "False DeletionWaiting")).toContain(place.tenant.url);
    await place.putCredentials();
    await place.isGone();
    expect(place.tenant.applications()).toEqual([]);
  });
});
