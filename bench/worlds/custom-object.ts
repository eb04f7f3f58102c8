// Creates objects of the product's own kinds as a user's manifest has them: without status, and with no more of the spec than is said.
import { apiVersionOf, type Client, collectionPath, type Kind } from "@keyturn/runtime";

/** What to create. */
export interface CustomObject {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
  readonly spec: Readonly<Record<string, unknown>>;
}

/** Creates it. */
export async function createCustom(client: Client, { kind, namespace, name, spec }: CustomObject): Promise<void> {
  await client.request({
    method: "POST",
    path: collectionPath(kind, namespace),
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: { namespace, name }, spec }),
  });
}
