// A namespace of certificates under one checksum.
import { Namespace, Secret } from "@keyturn/runtime";
import { SecretCheckSum } from "../../packages/keyturn/src/controllers/checksum/api.ts";
import { defaultVersionAnnotation } from "../../packages/keyturn/src/controllers/checksum/ids.ts";
import { makeCertificate, secretData } from "../../packages/keyturn/test/certificates.ts";
import { forEachIndex } from "../programs/for-each-index.ts";
import type { Bed } from "../scenario.ts";
import { clearNamespace } from "./cleared-namespace.ts";
import type { ControllerWorld } from "./controller-world.ts";

/** The namespace with so many Secrets. */
export function checksumNamespace(size: number): string {
  return `bench-checksum-${size}`;
}

/** Creates the Secrets (RSA 2048, a leaf and its issuer). One certificate for all: what differs between objects is their names. */
export async function seedCertificates({ cluster: { client }, say }: Bed, size: number): Promise<void> {
  say(`creating ${size} Secrets with certificates`);
  const namespace = checksumNamespace(size);
  const issuer = makeCertificate({ keyType: "rsa2048", commonName: "issuer" });
  const leaf = makeCertificate({ keyType: "rsa2048", issuer });
  const data = secretData(leaf.certificate + issuer.certificate, leaf.privateKey);
  await client.create(Namespace, { metadata: { name: namespace } });
  await forEachIndex(size, async (index) => {
    const metadata = { namespace, name: `shop-${index}`, annotations: { [defaultVersionAnnotation]: "1" } };
    await client.create(Secret, { metadata, type: "kubernetes.io/tls", data }, { fieldManager: "bench", answer: "metadata" });
  });
}

/** The seeded namespace of that size. Its Secrets stay; what was published of them goes. */
export function checksumWorld({ cluster: { client } }: Bed, size: number): ControllerWorld {
  const namespace = checksumNamespace(size);
  return {
    namespaces: [namespace],
    // What is waited for on purpose would only hide what is worked.
    flags: { "checksum.kinds": "secrets", "checksum.namespaces": namespace, "checksum.keep": "1", "checksum.settle": "0s" },
    args: [namespace],
    async [Symbol.asyncDispose]() {
      await clearNamespace(client, namespace, [SecretCheckSum]);
    },
  };
}
