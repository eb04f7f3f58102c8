// Two operators that both take themselves for the leader: whatever they do to each other, one application and one right Secret come of it.
import { Secret } from "@keyturn/runtime";
import { soon, useCluster, useSharedApiServer, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { describe, expect, test } from "vitest";
import { startIasStandIn } from "../../packages/keyturn/src/dev/stand-ins/ias.ts";
import { type Flags, type IssuingPlace, issuingPlace } from "./issuing-place.ts";

const controlPlane = useSharedCluster();
const target = useSharedApiServer();

/** Replaced secrets go at once, so that what is left in the end can be counted. */
const flags: Flags = { "eventing-auth.rotate-after": "24h", "eventing-auth.rotation-overlap": "0" };

/** Answers take so long that each operator has decided before it can see what the other one did. */
async function slowPlace(): Promise<IssuingPlace> {
  return issuingPlace(controlPlane(), target(), { tenant: await startIasStandIn({ latencyMs: 40 }) });
}

async function startTwo(place: IssuingPlace): Promise<void> {
  const both = [1, 2].map(() => place.startOperator({ flags, leaderElection: false }));
  await Promise.all(both);
}

/** One application in all, with one secret, which is that of the runtime's Secret, and nothing under way. */
async function settles(place: IssuingPlace): Promise<void> {
  await place.isWhole();
  await soon(async () => {
    expect(place.tenant.applications().map(({ secrets }) => secrets.length)).toEqual([1]);
    expect((await place.auth())?.status?.state).toBe("Ready");
    expect(place.tenant.counters.inFlight).toBe(0);
    expect(await place.tokenStatus()).toBe(200);
  });
}

/** Two operators at a runtime that has everything. */
async function startSettled(place: IssuingPlace): Promise<void> {
  await place.putKubeconfig();
  await place.putKyma();
  await startTwo(place);
  await settles(place);
}

describe("two operators at once", { concurrent: true }, () => {
  test.each([1, 2, 3])("issue one set of credentials (round %i)", async () => {
    await using place = await slowPlace();
    await place.putKubeconfig();
    await startTwo(place);
    await place.putKyma();
    await settles(place);
  });

  test("repair a Secret on the same application", async () => {
    await using place = await slowPlace();
    await startSettled(place);
    const before = await place.credentials();
    await place.parts.target.delete(Secret, place.targetName);
    await soon(async () => expect((await place.credentials())?.client_id).toBe(before?.client_id));
    await settles(place);
    expect((await place.credentials())?.client_secret).not.toBe(before?.client_secret);
  });

  test("rotate a secret on the same application", async () => {
    await using place = await slowPlace();
    await startSettled(place);
    const before = await place.credentials();
    await place.parts.target.mergePatch(Secret, place.targetName, { metadata: { annotations: { "keyturn.io/issued-at": "2020-01-01T00:00:00Z" } } });
    await soon(async () => expect((await place.credentials())?.client_secret).not.toBe(before?.client_secret));
    await settles(place);
    expect((await place.credentials())?.client_id).toBe(before?.client_id);
  });

  test("leave nothing behind when the Kyma goes", async () => {
    await using place = await slowPlace();
    await startSettled(place);
    await place.deleteKyma();
    await place.isGone();
    await soon(async () => expect([place.tenant.applications(), await place.targetSecret()]).toEqual([[], undefined]));
  });
});

describe("a control plane that asks for the right to set finalizers before blockOwnerDeletion", () => {
  const strict = useCluster({ controllerManager: true, apiServerArgs: ["--enable-admission-plugins=OwnerReferencesPermissionEnforcement"] });

  test("lets the Kyma own its EventingAuth, with the rights that are declared and no others", async () => {
    await using place = await issuingPlace(strict(), target());
    await place.ready();
    await place.isWhole();
    expect((await place.auth())?.metadata.ownerReferences).toMatchObject([
      { kind: "Kyma", name: place.runtime, controller: true, blockOwnerDeletion: true },
    ]);
  });
});
