// Rotation and JWKS together on a real API server: a target that waits for a JWKSConfig signs with no key that a cache may be without, and says why it waits.
import { controllersOf } from "../../packages/keyturn/src/registry.ts";
import { ConfigMap, Secret } from "@keyturn/runtime";
import { startOperator } from "@keyturn/runtime/testing";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { describe, expect, test } from "vitest";
import { renderCrds } from "../../packages/keyturn/src/cli/manifests.ts";
import { JWKSConfig } from "../../packages/keyturn/src/controllers/jwks/api.ts";
import { jwksFeature } from "../../packages/keyturn/src/controllers/jwks/feature.ts";
import { publishBeforeAnnotation, RotationTarget } from "../../packages/keyturn/src/controllers/rotation/api.ts";
import { rotationFeature } from "../../packages/keyturn/src/controllers/rotation/feature.ts";
import { keyturn } from "../../packages/keyturn/src/feature/feature.ts";
import { makeCertificate, secretData, type TestCertificate } from "../../packages/keyturn/test/certificates.ts";
import { kidOf } from "../jwks/publishing-namespace.ts";

const cluster = useSharedCluster();
const cacheSeconds = 3;
const set = { "rotator.k8s.telekom.com/rotation-set": "signing-key", "rotator.k8s.telekom.com/source": "true" };

/** A namespace with both controllers, a source, a target without a delay that waits for JWKSConfig `tokens`, and what tests look at. */
async function signing(prefix: string, nginx: boolean) {
  await cluster().apply(renderCrds([rotationFeature, jwksFeature]));
  const namespace = await cluster().namespace(prefix);
  const { client } = cluster();
  const operator = await startOperator({
    operator: keyturn,
    kubeconfig: cluster().adminKubeconfig,
    controllers: controllersOf([rotationFeature, jwksFeature], { "jwks.serving": "true" }, {}),
    namespaces: [namespace],
    leaderElection: { namespace, enabled: false },
  });
  const target = { namespace, name: "signing-key-live" };
  const rotationTarget = {
    apiVersion: "rotator.k8s.telekom.com/v1",
    kind: "RotationTarget",
    metadata: { ...target, annotations: { [publishBeforeAnnotation]: "tokens" } },
    spec: { rotationSet: "signing-key", rotationOrder: 1 },
  };
  await cluster().apply(rotationTarget);
  return {
    async publish() {
      const config = {
        apiVersion: "keyturn.io/v1alpha1",
        kind: "JWKSConfig",
        metadata: { namespace, name: "tokens" },
        spec: {
          certificateSecret: "signing-key-live",
          certificateSecrets: ["signing-key"],
          configMapName: "tokens-jwks",
          nginx: { cacheSeconds },
          ...(nginx && { nginxConfigMapName: "tokens-nginx" }),
        },
      };
      await cluster().apply(config);
    },
    async renew({ certificate, privateKey }: TestCertificate) {
      const name = { namespace, name: "signing-key" };
      const data = secretData(certificate, privateKey);
      const isThere = await client.get(Secret, name);
      if (isThere) await client.mergePatch(Secret, name, { data });
      else await client.create(Secret, { metadata: { ...name, annotations: set }, type: "kubernetes.io/tls", data });
    },
    document: async () => (await client.get(ConfigMap, { namespace, name: "tokens-jwks" }))?.data?.["jwks.json"] ?? "",
    status: async () => (await client.get(JWKSConfig, { namespace, name: "tokens" }))?.status ?? {},
    /** The kid of the key that signs, and since when. */
    async signs() {
      const live = await client.get(Secret, target);
      const at = live?.metadata.annotations?.["rotator.k8s.telekom.com/applied-at"];
      return { certificate: live?.data?.["tls.crt"], atMs: Date.parse(at ?? "") };
    },
    async says() {
      const ready = (await client.get(RotationTarget, target))?.status?.conditions?.find(({ type }) => type === "Ready");
      return `${ready?.status} ${ready?.reason}: ${ready?.message}`;
    },
    [Symbol.asyncDispose]: () => operator.stop(),
  };
}

const encoded = ({ certificate }: TestCertificate): string => Buffer.from(certificate).toString("base64");

describe("a target that waits until keys are published", { concurrent: true }, () => {
  test.each([false, true])("takes each version when its key was to be had for longer than the cache time; with nginx: %s", async (nginx) => {
    await using place = await signing("publish-before", nginx);
    await place.publish();
    for (const certificate of [makeCertificate(), makeCertificate()]) {
      await place.renew(certificate);
      const { atMs } = await soon(async () => {
        const signs = await place.signs();
        expect(signs.certificate).toBe(encoded(certificate));
        return signs;
      });
      const kid = await kidOf(certificate);
      expect(await place.document()).toContain(kid);
      const key = (await place.status()).keys?.find((each) => each.kid === kid);
      // The run may come in the very millisecond.
      expect(atMs - Date.parse(key?.availableSince ?? "")).toBeGreaterThanOrEqual(cacheSeconds * 1000);
      await soon(async () => expect(await place.says()).toMatch(/^True UpToDate/));
    }
  });

  test("keeps what it holds, and says why, while the key cannot be published; and goes on with the next that can", async () => {
    await using place = await signing("unpublishable", false);
    await place.publish();
    const [first, small, third] = [makeCertificate(), makeCertificate({ keyType: "rsa1024" }), makeCertificate()];
    await place.renew(first);
    await soon(async () => expect((await place.signs()).certificate).toBe(encoded(first)));
    await place.renew(small);
    await soon(async () => expect(await place.says()).toMatch(/^True KeyNotPublished: holds version 1; version 2 waits: .*1024 bits is too small/));
    expect((await place.signs()).certificate).toBe(encoded(first));
    await place.renew(third);
    await soon(async () => expect((await place.signs()).certificate).toBe(encoded(third)));
  });

  test("gets nothing while there is no such JWKSConfig, and its first version when there is", async () => {
    await using place = await signing("no-config", false);
    const certificate = makeCertificate();
    await place.renew(certificate);
    await soon(async () => expect(await place.says()).toMatch(/^False KeyNotPublished: version 1 waits: JWKSConfig tokens does not exist/));
    expect((await place.signs()).certificate).toBeUndefined();
    await place.publish();
    await soon(async () => expect((await place.signs()).certificate).toBe(encoded(certificate)));
  });
});
