// The limits in a running operator. The arithmetic, and minutes, are tested in virtual time beside the source.
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { makeCertificate } from "../../packages/keyturn/test/certificates.ts";
import { kidOf, publishingNamespace } from "./publishing-namespace.ts";

const cluster = useSharedCluster();
const [first, second, third] = [makeCertificate(), makeCertificate(), makeCertificate()];
const off = { "jwks.reconcile-interval": "0", "jwks.reconciles-per-minute": "0", "jwks.configmap-interval": "0" };

test("a change that nobody waits for waits its turn, and a new key does not", async () => {
  await using place = await publishingNamespace(cluster(), "batch");
  // Long enough for the renewal to be seen before it is over.
  await place.startOperator({ flags: { ...off, "jwks.configmap-interval": "30s" } });
  await place.putSecret("signer", first);
  await place.putConfig("site");
  await place.published("site-jwks", [first]);
  const at = Date.parse((await soon(async () => (await place.status("site")).lastUpdateTime ?? expect.fail("no time yet"))) ?? "");
  const renewed = makeCertificate({ privateKey: first.privateKey });
  await place.putSecret("signer", renewed);
  expect(await place.conditionSays("site", "Published", "False UpdateDeferred")).toContain("at most once in 30s");
  await place.conditionSays("site", "Ready", "True Ready");
  const { lastUpdateTime = "", revision } = await place.status("site");
  expect(Date.parse(lastUpdateTime) - at).toBeGreaterThanOrEqual(30_000);
  expect(revision).toBe(2);
  await place.putSecret("signer", second);
  await place.putSecret("signer", third);
  await soon(async () => expect(new Set(await place.kidsIn("site-jwks"))).toEqual(new Set(await Promise.all([first, second, third].map(kidOf)))));
  expect(Date.parse((await place.status("site")).lastUpdateTime ?? "") - Date.parse(lastUpdateTime)).toBeLessThan(30_000);
});

test("writes for one object keep their distance; another object does not wait for them", async () => {
  await using place = await publishingNamespace(cluster(), "distance");
  await place.startOperator({ flags: { ...off, "jwks.reconcile-interval": "20s" } });
  await place.putSecret("signer", first);
  await place.putSecret("other", first);
  await place.putConfig("site");
  await place.published("site-jwks", [first]);
  const { lastUpdateTime: before = "" } = await soon(async () => {
    const status = await place.status("site");
    expect(status.revision).toBe(1);
    return status;
  });
  await place.putSecret("signer", makeCertificate({ privateKey: first.privateKey }));
  await place.putConfig("other", { certificateSecret: "other" });
  await place.published("other-jwks", [first]);
  await soon(async () => expect((await place.status("site")).revision).toBe(2));
  const { lastUpdateTime: after = "" } = await place.status("site");
  // The runs began some moments before the changes that they date.
  expect(Date.parse(after) - Date.parse(before)).toBeGreaterThan(10_000);
});
