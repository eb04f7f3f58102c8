// A namespace of its own for each test, so that tests can share a cluster.
import { randomUUID } from "node:crypto";
import { type Client, Namespace } from "@keyturn/runtime";

/** Creates a namespace with a name that no other test has. */
export async function testNamespace(client: Client): Promise<string> {
  const name = `test-${randomUUID().slice(0, 8)}`;
  await client.create(Namespace, { metadata: { name } });
  return name;
}
