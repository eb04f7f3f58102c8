// Who has a name: EventingAuths of the same name, applications of the same name.
import { useCluster, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { describe, expect, test } from "vitest";
import { issuingPlace, soon } from "./issuing-place.ts";

const controlPlane = useSharedCluster();
const target = useCluster();

describe("the same name in two namespaces", () => {
  test("the second is refused with a condition, and its deletion destroys nothing", async () => {
    await using place = await issuingPlace(controlPlane(), target(), { namespaces: 2 });
    const [, second = ""] = place.parts.namespaces;
    await place.ready();
    const before = await place.credentials();
    await place.putKyma(second);
    expect(await place.conditionSays("Ready", "False NameTaken", second)).toContain(`${place.namespace}/${place.runtime} has this name`);
    expect((await place.auth(second))?.status).toMatchObject({ state: "NotReady" });
    await place.deleteKyma(second);
    await place.isGone(second);
    await place.isWhole();
    expect(await place.credentials()).toEqual(before);
    expect(place.tenant.counters).toMatchObject({ created: 1, deleted: 0, secretsCreated: 1 });
  });

  test("the second has its turn when the first is gone", async () => {
    await using place = await issuingPlace(controlPlane(), target(), { namespaces: 2 });
    const [, second = ""] = place.parts.namespaces;
    await place.ready();
    await place.putKyma(second);
    await place.conditionSays("Ready", "False NameTaken", second);
    await place.deleteKyma();
    await place.isGone();
    await place.isReady(second);
    await soon(() => expect(place.tenant.applications(place.runtime)).toHaveLength(1));
    expect(await place.tokenStatus()).toBe(200);
  });

  test("at the same moment: exactly one has it", async () => {
    await using place = await issuingPlace(controlPlane(), target(), { namespaces: 2 });
    const [, second = ""] = place.parts.namespaces;
    await place.putKubeconfig();
    await place.startOperator();
    await Promise.all([place.putKyma(), place.putKyma(second)]);
    await soon(async () => {
      const reasons = await Promise.all([place.condition("Ready"), place.condition("Ready", second)]);
      expect(new Set(reasons.map((condition) => condition?.reason))).toEqual(new Set(["NameTaken", "Ready"]));
    });
    expect(place.tenant.applications(place.runtime)).toHaveLength(1);
    expect(await place.tokenStatus()).toBe(200);
  });
});

describe("an application of the runtime's name that nobody knows of", () => {
  test("is deleted before a new one is made", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    const leftover = place.tenant.directory.create(place.runtime, {});
    await place.ready();
    await place.isWhole();
    expect(place.tenant.applications(place.runtime)[0]?.id).not.toBe(leftover.id);
    expect(await place.eventSays("LeftoverDeleted")).toContain(leftover.id);
  });

  test("more than one: nothing is made and none is deleted, until somebody has put that right", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    const leftovers = [place.tenant.directory.create(place.runtime, {}), place.tenant.directory.create(place.runtime, {})];
    await place.putKubeconfig();
    await place.putKyma();
    await place.startOperator({ flags: { "eventing-auth.check-interval": "1s" } });
    expect(await place.conditionSays("IASApplicationReady", "False IASApplicationCreationFailed")).toContain(
      `found multiple applications with the same name ${place.runtime}`,
    );
    expect(place.tenant.counters).toMatchObject({ created: 2, deleted: 0 });
    for (const { id } of leftovers) place.tenant.directory.delete(id);
    await place.isReady();
    await place.isWhole();
  });

  test("after the first success duplicates change nothing: the application is known by its id", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    await place.ready();
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
