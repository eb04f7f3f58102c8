// Two installations with complementary selectors in one cluster: together they serve every object, and each object is served by one of them.
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import type { RunningOperator } from "@keyturn/runtime/testing";
import { makeCertificate } from "../../packages/keyturn/test/certificates.ts";
import { publishingNamespace } from "../jwks/publishing-namespace.ts";

const cluster = useSharedCluster();
const [first, second] = [makeCertificate(), makeCertificate()];
const limitsOff = { "jwks.reconcile-interval": "0", "jwks.reconciles-per-minute": "0", "jwks.configmap-interval": "0" };
const names = Array.from({ length: 6 }, (_, index) => `site-${index}`);

/** The objects that an operator serves: what it says of them in its metrics. */
async function servedBy(operator: RunningOperator): Promise<readonly string[]> {
  const lines = (await operator.metrics()).matchAll(/^keyturn_jwks_keys\{.*name="([^"]*)".*state="Active"\} 1$/gm);
  return Array.from(lines, ([, name = ""]) => name).toSorted();
}

test("each serves what it selects, under a Lease of its own, and an object with another label moves over", async () => {
  await using place = await publishingNamespace(cluster(), "installations");
  const label = (name: string, text: string): Promise<string> =>
    cluster().kubectl("label", "jwksconfig", name, text, "--overwrite", "-n", place.namespace);
  await place.putSecret("signer", first);
  for (const name of names) await place.putConfig(name);
  await label("site-1", "installation=b");
  await label("site-2", "installation=b");
  await label("site-3", "installation=c");

  const rest = await place.startInstallation({ ...limitsOff, selector: "installation!=b" });
  const b = await place.startInstallation({ ...limitsOff, selector: "installation=b" });
  const serve = (restNames: readonly string[], bNames: readonly string[]): Promise<void> =>
    soon(async () => expect([await servedBy(rest.operator), await servedBy(b.operator)]).toEqual([restNames, bNames]));
  await serve(["site-0", "site-3", "site-4", "site-5"], ["site-1", "site-2"]);
  for (const { leases } of [rest, b]) {
    const held = await cluster().kubectl("get", "lease", "keyturn-jwks", "-n", leases, "-o", "jsonpath={.spec.holderIdentity}");
    expect(held).not.toBe("");
  }

  await label("site-0", "installation=b");
  await label("site-1", "installation-");
  await serve(["site-1", "site-3", "site-4", "site-5"], ["site-0", "site-2"]);
  await place.putSecret("signer", second);
  for (const name of names) await place.published(`${name}-jwks`, [second, first]);
  for (const name of names) await place.conditionSays(name, "Ready", "True Ready");
});
