// Certificates, and a JWKSConfig that publishes each.
import { generateKeyPairSync } from "node:crypto";
import { ConfigMap, Deployment, Namespace, Secret, Service } from "@keyturn/runtime";
import { JWKSConfig } from "../../packages/keyturn/src/controllers/jwks/api.ts";
import { makeCertificate, secretData } from "../../packages/keyturn/test/certificates.ts";
import { forEachIndex } from "../programs/for-each-index.ts";
import { clearNamespace } from "./cleared-namespace.ts";
import type { MakeWorld } from "./controller-world.ts";
import { createCustom } from "./custom-object.ts";

/** One certificate for all: what differs between objects is their names. */
export const createJwksWorld: MakeWorld = async ({ cluster: { client } }, { name: world, size }) => {
  const namespace = `bench-jwks-${world}`;
  const { certificate, privateKey } = makeCertificate({ privateKey: generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey });
  const data = secretData(certificate, privateKey);
  await client.create(Namespace, { metadata: { name: namespace } });
  await forEachIndex(size, async (index) => {
    const name = `object-${String(index).padStart(4, "0")}`;
    await client.create(Secret, { metadata: { namespace, name }, type: "kubernetes.io/tls", data });
    const spec = { certificateSecret: name, configMapName: `${name}-jwks`, nginxConfigMapName: `${name}-nginx` };
    await createCustom(client, { kind: JWKSConfig, namespace, name, spec });
  });
  return {
    namespaces: [namespace],
    // The limits would only be waited for: the loop that this is compared with has none.
    flags: { "jwks.reconcile-interval": "0s", "jwks.configmap-interval": "0s" },
    args: [namespace, String(size)],
    async [Symbol.asyncDispose]() {
      await clearNamespace(client, namespace, [Service, Deployment, ConfigMap, Secret]);
    },
  };
};
