// A name proves nothing: EventingAuths in other namespaces, applications of the same name.
import { soon, useSharedApiServer, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { describe, expect, test } from "vitest";
import { askedAtAnnotation, EventingAuth, eventingAuthFinalizer } from "../../packages/keyturn/src/controllers/eventing-auth/api.ts";
import { issuingPlace } from "./issuing-place.ts";

const controlPlane = useSharedCluster();
const target = useSharedApiServer();

describe("an EventingAuth in another namespace than the kubeconfigs", { concurrent: true }, () => {
  test("is told so, reaches no cluster and no application, and disturbs nobody who has its name", async () => {
    await using place = await issuingPlace(controlPlane(), target(), { namespaces: 2 });
    const [, elsewhere = ""] = place.parts.namespaces;
    await place.putKubeconfig();
    await place.putKyma(elsewhere);
    await place.startOperator();
    expect(await place.conditionSays("Ready", "False NamespaceNotServed", elsewhere)).toContain(`in the namespace ${place.namespace} only`);
    expect((await place.auth(elsewhere))?.status).toMatchObject({ state: "NotReady" });
    expect(place.tenant.counters.requests).toEqual({});
    expect(await place.targetSecret()).toBeUndefined();

    await place.putKyma();
    await place.isReady();
    const before = await place.credentials();
    await place.deleteKyma(elsewhere);
    await place.isGone(elsewhere);
    await place.isWhole();
    expect(await place.credentials()).toEqual(before);
    expect(place.tenant.counters).toMatchObject({ created: 1, deleted: 0, secretsCreated: 1 });
  });

  test("deletes nothing when it goes, also not an application that stands in its status, and an Event says so", async () => {
    await using place = await issuingPlace(controlPlane(), target(), { namespaces: 2 });
    const [, elsewhere = ""] = place.parts.namespaces;
    const foreign = place.tenant.directory.create(place.runtime, {});
    await place.startOperator();
    const name = { namespace: elsewhere, name: place.runtime };
    await place.client.create(EventingAuth, { metadata: { ...name, finalizers: [eventingAuthFinalizer] }, spec: {} });
    const status = { state: "Ready", iasApplication: { name: place.runtime, uuid: foreign.id } };
    await place.client.mergePatch(EventingAuth, name, { status }, { subresource: "status" });
    await place.deleteAuth(elsewhere);
    await place.isGone(elsewhere);
    expect(await place.eventSays("Abandoned", elsewhere)).toContain(foreign.id);
    expect(place.tenant.applications()).toEqual([foreign]);
  });
});

test(
  "of two EventingAuths of one name in namespaces that count, the older has the runtime, and the other follows when it goes",
  { concurrent: true },
  async () => {
    await using place = await issuingPlace(controlPlane(), target(), { namespaces: 2 });
    const [, elsewhere = ""] = place.parts.namespaces;
    await place.ready({ flags: { "eventing-auth.namespaces": place.parts.namespaces.join(",") } });
    const before = await place.credentials();
    await place.putKyma(elsewhere);
    expect(await place.conditionSays("Ready", "False NameTaken", elsewhere)).toContain(`${place.namespace}/${place.runtime}`);
    expect(await place.credentials()).toEqual(before);
    expect(place.tenant.counters).toMatchObject({ created: 1, secretsCreated: 1 });
    await place.deleteKyma();
    await place.isGone();
    await place.isReady(elsewhere);
    expect(place.tenant.applications(place.runtime)).toHaveLength(1);
  },
);

test(
  "an application that an answer names by mistake gets no secret and is never deleted; the one that was made is found",
  { concurrent: true },
  async () => {
    await using place = await issuingPlace(controlPlane(), target());
    const foreign = place.tenant.directory.create("payroll-sso", { description: "not Keyturn's" });
    place.tenant.fail("create", { type: "mixed-up", location: `/Applications/v1/${foreign.id}` });
    await place.ready();
    await place.isWhole();
    expect(place.tenant.counters).toMatchObject({ created: 2, secretsCreated: 1 });
    await place.deleteKyma();
    await place.isGone();
    expect(place.tenant.applications()).toEqual([foreign]);
  },
);

describe("an application of the runtime's name that was not made for its EventingAuth", { concurrent: true }, () => {
  test.each([1, 2])("stays, and nothing is made until somebody has put that right (%i of them)", async (count) => {
    await using place = await issuingPlace(controlPlane(), target());
    const foreign = Array.from({ length: count }, () => place.tenant.directory.create(place.runtime, {}));
    await place.putKubeconfig();
    await place.putKyma();
    await place.startOperator({ flags: { "eventing-auth.check-interval": "1s" } });
    expect(await place.conditionSays("IASApplicationReady", "False IASApplicationCreationFailed")).toMatch(
      count === 1 ? `found an application with the name ${place.runtime}` : `found multiple applications with the same name ${place.runtime}`,
    );
    expect(place.tenant.counters).toMatchObject({ created: count, deleted: 0, secretsCreated: 0 });
    for (const { id } of foreign) place.tenant.directory.delete(id);
    await place.isReady();
    await place.isWhole();
  });

  test("stays when the EventingAuth is deleted", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    const foreign = place.tenant.directory.create(place.runtime, {});
    await place.putKubeconfig();
    await place.putKyma();
    await place.startOperator();
    await place.conditionSays("IASApplicationReady", "False IASApplicationCreationFailed");
    await place.deleteKyma();
    await place.isGone();
    expect(place.tenant.applications()).toEqual([foreign]);
    expect(place.tenant.counters.deleted).toBe(0);
  });

  test("after the first success duplicates change nothing: the application is known by its id", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    await place.ready();
    // For a minute after a creation all of its name are looked for.
    await place.skipMinute();
    await soon(async () => expect((await place.auth())?.metadata.annotations ?? {}).not.toHaveProperty([askedAtAnnotation]));
    place.tenant.directory.create(place.runtime, {});
    const before = place.tenant.counters.requests;
    await place.deleteSecret(`kubeconfig-${place.runtime}`);
    await place.conditionSays("TargetReachable", "False KubeconfigNotFound");
    await place.putKubeconfig();
    await place.isReady();
    expect(place.tenant.counters.requests.find).toBe(before.find);
    expect(place.tenant.applications(place.runtime)).toHaveLength(2);
  });
});
