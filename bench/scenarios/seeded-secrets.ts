// Fills the cluster with Secrets as certificates make them: type kubernetes.io/tls, 4 kB of data, spread over namespaces.
import { randomBytes } from "node:crypto";
import { Namespace, Secret } from "@keyturn/runtime";
import { forEachIndex } from "../programs/for-each-index.ts";
import type { Bed } from "../scenario.ts";

const namespaces = 20;
/** A chain of two certificates, and a key: 4,096 bytes together. */
const certificateBytes = 3000;
const keyBytes = 1096;

/** Creates so many Secrets with the label `bench=sync`. */
export async function seedSecrets({ cluster, say }: Bed, count: number): Promise<void> {
  const { client } = cluster;
  say(`creating ${count} Secrets of ${certificateBytes + keyBytes} bytes`);
  const namespaceOf = (index: number): string => `bench-sync-${index % namespaces}`;
  for (let index = 0; index < namespaces; index++) await client.create(Namespace, { metadata: { name: namespaceOf(index) } });
  await forEachIndex(count, async (index) => {
    const metadata = { namespace: namespaceOf(index), name: `tls-${String(index).padStart(6, "0")}`, labels: { bench: "sync" } };
    const data = { "tls.crt": randomBytes(certificateBytes).toString("base64"), "tls.key": randomBytes(keyBytes).toString("base64") };
    await client.create(Secret, { metadata, type: "kubernetes.io/tls", data }, { fieldManager: "bench", answer: "metadata" });
  });
}
