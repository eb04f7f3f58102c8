// What people see and do with kubectl.
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { makeCertificate } from "../../packages/keyturn/test/certificates.ts";
import { kidOf, publishingNamespace } from "./publishing-namespace.ts";

const cluster = useSharedCluster();
const [first, second] = [makeCertificate(), makeCertificate()];

test("kubectl get shows it at a glance; wait, describe and the category work", async () => {
  await using place = await publishingNamespace(cluster(), "kubectl");
  const inPlace = (...args: readonly string[]): Promise<string> => cluster().kubectl(...args, "-n", place.namespace);
  await place.startOperator();
  await place.putSecret("signer", first);
  await place.putConfig("site", { nginxConfigMapName: "site-nginx" });
  await place.putJwks("old", { nginxConfigMapName: "old-nginx" });
  await inPlace("wait", "--for=condition=Ready", "jwksconfig/site", "jwks.rieset.io/old", "--timeout=300s");
  await place.putSecret("signer", second);
  await inPlace("wait", "--for=jsonpath={.status.keyCount}=2", "jwksconfig/site", "--timeout=300s");
  await inPlace("wait", "--for=condition=Ready", "jwksconfig/site", "--timeout=300s");

  const { nextRemoval = "" } = await place.status("site");
  const [header = "", row = ""] = (await inPlace("get", "jwkc")).split("\n");
  expect(header.split(/ {2,}/)).toEqual(["NAME", "READY", "KEYS", "NEXT REMOVAL", "REASON", "AGE"]);
  expect(row.split(/ {2,}/)).toEqual(["site", "True", "2", nextRemoval, "Ready", expect.stringMatching(/^\d+[sm]/)]);
  expect(await inPlace("get", "jwksconfig", "-o", "wide")).toContain(await kidOf(second));
  expect((await inPlace("get", "jwks.rieset.io")).split("\n")[0]?.split(/ {2,}/)).toEqual(["NAME", "SECRET", "CONFIGMAP", "READY", "AGE"]);
  // Other tests install CRDs of the same category meanwhile, which kubectl may know of a moment before they are served.
  await soon(async () => expect(await inPlace("get", "keyturn")).toMatch(/jwksconfig.keyturn.io\/site[^]*jwks.rieset.io\/old/));
  await soon(async () => expect(await inPlace("describe", "jwksconfig", "site")).toMatch(/Normal\s+KeyRetired/));
  expect(await inPlace("explain", "jwksconfig.spec.oldKeysTTL")).toContain("How long a key stays published");
});
