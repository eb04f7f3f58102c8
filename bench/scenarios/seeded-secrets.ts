// Fills the cluster with Secrets as certificates make them: type kubernetes.io/tls, 4 kB of data, spread over namespaces.
import { randomBytes } from "node:crypto";
import { isApiError, Namespace, Secret } from "@keyturn/runtime";
import { forEachIndex } from "../programs/for-each-index.ts";
import type { Bed } from "../scenario.ts";

/** What to make. */
export interface SeedOptions {
  readonly count: number;
  /** The value of the label `bench`. */
  readonly label: string;
}

const namespaces = 20;
/** A chain of two certificates, and a key: 4,096 bytes together. */
const certificateBytes = 3000;
const keyBytes = 1096;

/** Creates the Secrets; those that are there already stay as they are. */
export async function seedSecrets({ cluster: { client }, say }: Bed, { count, label }: SeedOptions): Promise<void> {
  say(`creating ${count} Secrets of ${certificateBytes + keyBytes} bytes`);
  const namespaceOf = (index: number): string => `bench-${label}-${index % namespaces}`;
  for (let index = 0; index < namespaces; index++) await unlessThere(client.create(Namespace, { metadata: { name: namespaceOf(index) } }));
  await forEachIndex(count, async (index) => {
    const metadata = { namespace: namespaceOf(index), name: `tls-${String(index).padStart(6, "0")}`, labels: { bench: label } };
    const data = { "tls.crt": randomBytes(certificateBytes).toString("base64"), "tls.key": randomBytes(keyBytes).toString("base64") };
    await unlessThere(client.create(Secret, { metadata, type: "kubernetes.io/tls", data }, { fieldManager: "bench" }));
  });
}

async function unlessThere(creation: Promise<unknown>): Promise<void> {
  try {
    await creation;
  } catch (error) {
    if (!isApiError(error, "AlreadyExists")) throw error;
  }
}
