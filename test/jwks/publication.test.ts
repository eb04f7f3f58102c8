// Publishing on a real API server: what appears in the ConfigMap, and when, as certificates come, change and go.
import { ConfigMap } from "@keyturn/runtime";
import { useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { describe, expect, test } from "vitest";
import { revokeAnnotation } from "../../packages/keyturn/src/controllers/jwks/api.ts";
import { makeCertificate } from "../../packages/keyturn/test/certificates.ts";
import { kidOf, publishingNamespace, soon } from "./publishing-namespace.ts";

const cluster = useSharedCluster();
const [first, second, third] = [makeCertificate(), makeCertificate(), makeCertificate()];

describe("a certificate", () => {
  test("is published when the object is created, and again within moments of a change of its Secret", async () => {
    await using place = await publishingNamespace(cluster(), "publish");
    await place.startOperator();
    await place.putSecret("signer", first);
    await place.putConfig("site");
    await place.published("site-jwks", [first]);
    expect(await place.eventSays("site", "KeyAdded")).toBe(`key ${await kidOf(first)} of Secret signer is published`);
    await place.putSecret("signer", second);
    await place.published("site-jwks", [second, first]);
    expect(await place.eventSays("site", "KeyRetired")).toContain(await kidOf(first));
    await place.conditionSays("site", "Ready", "True Ready");
    await soon(async () =>
      expect(await place.status("site")).toMatchObject({
        keyCount: 2,
        lastKeyID: await kidOf(second),
        keys: [
          { state: "Active", source: "signer" },
          { state: "Retiring", source: "signer", removeAt: expect.any(String) },
        ],
      }),
    );
  });

  test("is published when its Secret comes after the object", async () => {
    await using place = await publishingNamespace(cluster(), "late");
    await place.startOperator();
    await place.putConfig("site");
    await place.conditionSays("site", "Ready", "False SecretNotFound");
    await place.putSecret("signer", first);
    await place.published("site-jwks", [first]);
    await place.conditionSays("site", "Ready", "True Ready");
  });
});
