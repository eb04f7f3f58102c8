// A document that outgrows its ConfigMap, on a real API server, which has limits of its own.
import { ConfigMap } from "@keyturn/runtime";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { problemWithJwks } from "../../packages/keyturn/src/controllers/jwks/jwk.ts";
import { makeCertificate } from "../../packages/keyturn/test/certificates.ts";
import { kidOf, publishingNamespace } from "./publishing-namespace.ts";

const cluster = useSharedCluster();

test("beyond 1 MiB the keys that were replaced first go early, with a condition and Events; what is left is taken by the API server", async () => {
  await using place = await publishingNamespace(cluster(), "space");
  await place.startOperator();
  await place.putConfig("site");
  const issuer = makeCertificate({ commonName: "i".repeat(20_000) });
  const kids: string[] = [];
  for (let count = 0; count < 13; count += 1) {
    const leaf = makeCertificate({ commonName: "s".repeat(20_000), issuer });
    await place.putSecret("signer", { ...leaf, certificate: leaf.certificate + issuer.certificate });
    kids.unshift(await kidOf(leaf));
    await soon(async () => expect((await place.kidsIn("site-jwks"))?.[0]).toBe(kids[0]));
  }
  expect(await place.conditionSays("site", "Truncated", "True DocumentTooLarge")).toContain("removed early");
  await place.conditionSays("site", "Ready", "True Ready");
  expect(await place.eventSays("site", "KeyDropped")).toContain("was removed early to make room");
  const text = (await place.get(ConfigMap, "site-jwks"))?.data?.["jwks.json"] ?? "";
  expect(problemWithJwks(text)).toBeUndefined();
  expect(text.length).toBeGreaterThan(900_000);
  const left = (await place.kidsIn("site-jwks")) ?? [];
  expect(left.length).toBeLessThan(kids.length);
  expect(left).toEqual(kids.slice(0, left.length));
});
