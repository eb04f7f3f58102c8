// `keyturn orphans`: what was left behind is listed and deleted, and nothing else.
import { Secret } from "@keyturn/runtime";
import { soon, useSharedApiServer, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { adoptAnnotation, EventingAuth } from "../../packages/keyturn/src/controllers/eventing-auth/api.ts";
import { startTyped } from "../support/typed-command.ts";
import { openid, openidPlace } from "./identity/openid-place.ts";
import { type Flags, type IssuingPlace, issuingPlace } from "./issuing-place.ts";

const controlPlane = useSharedCluster();
const target = useSharedApiServer();

async function orphans(place: IssuingPlace, words: readonly string[] = [], answers: readonly string[] = [], flags: Flags = {}) {
  const asked: string[] = [];
  const ask = (question: string): Promise<string> => Promise.resolve(answers[asked.push(question) - 1] ?? "");
  const given = Object.entries(place.flags(flags)).map(([name, value]) => `--${name}=${value}`);
  const command = startTyped(["orphans", `--kubeconfig=${controlPlane().adminKubeconfig}`, ...given, ...words], answers.length > 0 ? { ask } : {});
  return { code: await command.exit, ...command.output, asked };
}

/** The object is gone, and nobody has cleaned up: its finalizer was taken away. */
async function leaveBehind(place: IssuingPlace): Promise<string> {
  const name = { namespace: place.namespace, name: place.runtime };
  const id = (await place.auth())?.status?.iasApplication?.uuid ?? "";
  await place.client.mergePatch(EventingAuth, name, { metadata: { finalizers: null, ownerReferences: null } });
  await place.deleteKyma();
  await place.deleteAuth();
  await place.isGone();
  return id;
}

test(
  "applications that no EventingAuth claims are listed, and deleted if the person says so; then the Secrets that used them",
  { concurrent: true },
  async () => {
    await using place = await issuingPlace(controlPlane(), target());
    const operator = await place.ready();
    place.tenant.directory.create("payroll-sso", { description: "somebody else's" });
    expect(await orphans(place)).toMatchObject({ code: 0, out: "nothing was left behind\n" });
    await operator.stop();
    const id = await leaveBehind(place);

    const listed = await orphans(place);
    expect(listed).toMatchObject({ code: 0, err: "" });
    expect(listed.out).toMatch(new RegExp(`application +${place.runtime} +${id} +it was made for the EventingAuth with the uid`));
    expect(await orphans(place, ["--delete"])).toMatchObject({ code: 2, err: expect.stringContaining("nobody can be asked here") });

    expect((await orphans(place, ["--delete"], ["n"])).asked).toEqual([`delete application ${id} (${place.runtime})? [y/N] `]);
    expect(place.tenant.applications(place.runtime)).toHaveLength(1);
    expect((await orphans(place, ["--delete"], ["y"])).out).toContain(`deleted application ${id}`);
    expect(place.tenant.applications().map(({ name }) => name)).toEqual(["payroll-sso"]);

    const data = JSON.parse((await orphans(place, ["-o", "json"])).out) as unknown;
    expect(data).toEqual({ orphans: [expect.objectContaining({ type: "secret", runtime: place.runtime, application: id })], unread: [] });
    expect(await orphans(place, ["--delete", "--yes"])).toMatchObject({ code: 0 });
    expect(await place.targetSecret()).toBeUndefined();
  },
);

test("an application that is in use after a restore is said to be so, and not deleted", { concurrent: true }, async () => {
  await using place = await issuingPlace(controlPlane(), target());
  const operator = await place.ready();
  await operator.stop();
  const id = await leaveBehind(place);
  // With another uid and without its status, as tools for backups make objects again.
  await place.client.create(EventingAuth, { metadata: { namespace: place.namespace, name: place.runtime }, spec: undefined });
  const { code, out, err } = await orphans(place, ["--delete", "--yes"]);
  expect([code, out]).toEqual([1, expect.stringContaining("the EventingAuth of its name has none, as after a restore: adopt it")]);
  expect(err).toContain(`cannot delete application ${id}`);
  expect(await place.tokenStatus()).toBe(200);

  await place.startOperator();
  const annotations = { [adoptAnnotation]: ` ${id.toUpperCase()} ` };
  await place.client.mergePatch(EventingAuth, { namespace: place.namespace, name: place.runtime }, { metadata: { annotations } });
  await place.isReady();
  expect((await place.auth())?.status?.iasApplication).toEqual({ name: place.runtime, uuid: id });
  expect(await orphans(place)).toMatchObject({ code: 0, out: "nothing was left behind\n" });
});

test("a Secret that is not ours stays, and a cluster that cannot be looked into is named", { concurrent: true }, async () => {
  await using place = await issuingPlace(controlPlane(), target());
  await place.putKubeconfig();
  await place.putKubeconfig("clusters: *nope", "broken");
  await place.parts.target.create(Secret, { metadata: place.targetName, data: { client_id: "dGhlaXJz" } });
  const { code, out, err } = await orphans(place, ["--delete", "--yes"]);
  expect([code, out]).toEqual([1, expect.stringContaining("not looked into: the cluster of broken: ")]);
  expect(err).toContain("1 clusters could not be looked into");
  expect(await place.targetSecret()).toBeDefined();
});

test("clients of an OpenID server are known by the right that was kept", { concurrent: true }, async () => {
  await using world = await openidPlace(controlPlane(), target());
  const { place, server } = world;
  const operator = await place.ready({ flags: openid });
  expect(await orphans(place, [], [], openid)).toMatchObject({ code: 0, out: "nothing was left behind\n" });
  await operator.stop();
  const id = await leaveBehind(place);
  expect((await orphans(place, ["--delete", "--yes"], [], openid)).out).toContain(`deleted application ${id}`);
  expect(server.clients()).toEqual([]);
});

test("the operator counts them, and deletes by itself only a second one of an object that is there", { concurrent: true }, async () => {
  await using place = await issuingPlace(controlPlane(), target());
  await place.ready({ flags: { "eventing-auth.check-interval": "1s" } });
  const [application] = place.tenant.applications();
  const orphan = place.tenant.directory.create("gone", {
    ...application?.body,
    name: "gone",
    description: "made by Keyturn for the EventingAuth with the uid gone",
  });
  place.tenant.directory.create(place.runtime, application?.body);
  await place.skipMinute();
  await soon(() => expect(place.tenant.applications(place.runtime)).toEqual([expect.objectContaining({ id: application?.id })]));
  await place.eventSays("DuplicateDeleted");
  expect(place.tenant.applications("gone")).toEqual([orphan]);
});
