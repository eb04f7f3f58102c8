// Client secrets that are replaced because they are old enough.
import { Secret } from "@keyturn/runtime";
import { soon, useSharedApiServer, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { readSettings } from "../../packages/keyturn/src/controllers/eventing-auth/flags.ts";
import { type IssuingPlace, issuingPlace } from "./issuing-place.ts";

const controlPlane = useSharedCluster();
const target = useSharedApiServer();

/** Makes the client secret look as if it had been issued that long ago. */
async function age(place: IssuingPlace, agoMs: number): Promise<void> {
  const annotations = { "keyturn.io/issued-at": new Date(Date.now() - agoMs).toISOString() };
  await place.parts.target.mergePatch(Secret, place.targetName, { metadata: { annotations } });
}

const hourMs = 3_600_000;

test(
  "an old client secret is replaced on the same application; the old one works for the overlap and is deleted then",
  { concurrent: true },
  async () => {
    await using place = await issuingPlace(controlPlane(), target());
    await place.ready({ flags: { "eventing-auth.rotate-after": "24h", "eventing-auth.rotation-overlap": "1h" } });
    const old = await place.credentials();
    await age(place, 25 * hourMs);
    await soon(async () => expect((await place.credentials())?.client_secret).not.toBe(old?.client_secret));
    await place.isWhole();
    expect((await place.credentials())?.client_id).toBe(old?.client_id);
    expect(await place.tokenStatus(old)).toBe(200);
    expect(place.tenant.applications(place.runtime)[0]?.secrets).toHaveLength(2);
    await place.eventSays("SecretRotated");

    await age(place, 2 * hourMs);
    await soon(() => expect(place.tenant.applications(place.runtime)[0]?.secrets).toHaveLength(1));
    expect(await place.tokenStatus(old)).not.toBe(200);
    await place.isWhole();
    await place.eventSays("OldSecretsDeleted");
    expect(place.tenant.counters).toMatchObject({ created: 1, deleted: 0, secretsCreated: 2, secretsDeleted: 1 });
  },
);

test("by default nothing is rotated, however old it is", { concurrent: true }, async () => {
  await using place = await issuingPlace(controlPlane(), target());
  await place.ready();
  const before = await place.credentials();
  await age(place, 10_000 * hourMs);
  // The check of the credentials of another date is what follows the change.
  await soon(() => expect(place.tenant.counters.requests.token).toBeGreaterThan(1));
  expect(await place.credentials()).toEqual(before);
});

test("an overlap that is as long as the time between two rotations is refused", { concurrent: true }, () => {
  const given: Readonly<Record<string, string>> = { "eventing-auth.rotate-after": "1h", "eventing-auth.rotation-overlap": "1h" };
  expect(() => readSettings((flag) => flag.parse(given[flag.name]))).toThrow(
    "--eventing-auth.rotation-overlap must be shorter than --eventing-auth.rotate-after",
  );
});
