// Writers that create, change, delete and recreate objects of a kind, many at a time and in an order that a seed decides.
import { type Client, type Kind, type KubeObject, type Random, isApiError } from "@keyturn/runtime";

/** What is written, and where. */
interface WritersOptions {
  readonly client: Client;
  readonly kind: Kind;
  readonly namespace: string;
  readonly random: Random;
  /** How many names there are to write to. */
  readonly names: number;
}

const writers = 8;

/** Makes `count` writes and resolves when all are answered. */
export async function writeAtRandom({ client, kind, namespace, random, names }: WritersOptions, count: number): Promise<void> {
  let left = count;
  const write = async (): Promise<void> => {
    while (left-- > 0) {
      const name = `object-${Math.floor(random() * names)}`;
      const roll = random();
      if (roll < 0.2) await client.delete(kind, { namespace, name });
      if (roll > 0.1) await put(client, kind, { metadata: { namespace, name, annotations: { written: String(left), roll: String(roll) } } });
    }
  };
  await Promise.all(Array.from({ length: writers }, write));
}

async function put(client: Client, kind: Kind, object: KubeObject): Promise<void> {
  try {
    await client.apply(kind, object, { fieldManager: "random-writers", force: true });
  } catch (error) {
    // Two writers made the same object at the same moment; one of them won, which is all that was wanted.
    if (!isApiError(error, "Conflict", "AlreadyExists", "NotFound")) throw error;
  }
}
