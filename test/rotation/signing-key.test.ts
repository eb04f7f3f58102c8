// Rotation and JWKS together, from examples/rotate: a signing key is published before it signs, and verifiable after it has stopped.
import { readFile } from "node:fs/promises";
import { ConfigMap, Secret } from "@keyturn/runtime";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { startOperator } from "@keyturn/runtime/testing";
import { renderCrds } from "../../packages/keyturn/src/cli/manifests.ts";
import { jwksFeature } from "../../packages/keyturn/src/controllers/jwks/feature.ts";
import { rotationFeature } from "../../packages/keyturn/src/controllers/rotation/feature.ts";
import { keyturn } from "../../packages/keyturn/src/feature/feature.ts";
import { makeCertificate, secretData, type TestCertificate } from "../../packages/keyturn/test/certificates.ts";
import { kidOf } from "../jwks/publishing-namespace.ts";

const cluster = useSharedCluster();
const limitsOff: Readonly<Record<string, string>> = {
  "jwks.reconcile-interval": "0",
  "jwks.reconciles-per-minute": "0",
  "jwks.configmap-interval": "0",
};

/** A manifest of the examples, in another namespace and with shorter delays. */
async function example(file: string, namespace: string): Promise<string> {
  const text = await readFile(new URL(`../../examples/rotate/${file}`, import.meta.url), "utf8");
  return text.replaceAll("keyturn-examples", namespace).replace("15s", "6s").replace("5s", "1s");
}

test("a verifier that reads the published keys knows every key that signs, before it signs and after", async () => {
  await cluster().apply(renderCrds([rotationFeature, jwksFeature]));
  const namespace = await cluster().namespace("signing");
  const { client } = cluster();
  for (const file of ["signing-key.yaml", "rotation-targets.yaml", "jwks-config.yaml"]) await cluster().apply(await example(file, namespace));
  const operator = await startOperator({
    operator: keyturn,
    kubeconfig: cluster().adminKubeconfig,
    controllers: [rotationFeature, jwksFeature].flatMap((feature) => feature.controllers((flag) => flag.parse(limitsOff[flag.name] ?? flag.default))),
    namespaces: [namespace],
    leaderElection: { namespace, enabled: false },
  });
  const published = async (): Promise<string> => (await client.get(ConfigMap, { namespace, name: "rotated-tokens-jwks" }))?.data?.["jwks.json"] ?? "";
  const holds = async (name: string, { certificate }: TestCertificate): Promise<boolean> =>
    (await client.get(Secret, { namespace, name }))?.data?.["tls.crt"] === Buffer.from(certificate).toString("base64");
  const renew = ({ certificate, privateKey }: TestCertificate): Promise<unknown> =>
    client.mergePatch(Secret, { namespace, name: "signing-key" }, { data: secretData(certificate, privateKey) });
  try {
    await soon(async () => expect(await published()).toContain('"kid"'));
    const certificates = [makeCertificate(), makeCertificate(), makeCertificate()];
    for (const [index, next] of certificates.entries()) {
      const kid = await kidOf(next);
      await renew(next);
      const known = await soon(async () => {
        // Read first: what is published then is what a verifier knew when the key began to sign.
        const before = await published();
        expect(await holds("signing-key-live", next)).toBe(true);
        return before;
      });
      expect(known).toContain(kid);
      const before = certificates[index - 1];
      if (!before) continue;
      expect(await published()).toContain(await kidOf(before));
      await soon(async () => expect(await holds("signing-key-fallback", before)).toBe(true));
    }
  } finally {
    await operator.stop();
  }
});
