// Rotation sets: sources, and targets that are to follow them.
import { type Client, Namespace, Secret } from "@keyturn/runtime";
import { RotationTarget } from "../../packages/keyturn/src/controllers/rotation/api.ts";
import { forEachIndex } from "../programs/for-each-index.ts";
import { setName, sourceOf } from "../programs/rotation-sources.ts";
import { clearNamespace } from "./cleared-namespace.ts";
import type { MakeWorld } from "./controller-world.ts";
import { createCustom } from "./custom-object.ts";

/** What to make. */
export interface RotationSeed {
  readonly namespace: string;
  readonly sets: number;
  /** The names of each set's targets after the set's own, in their order, with their delays. */
  readonly targets: Readonly<Record<string, string>>;
}

/** Creates sources and targets; the objects of targets are made by whoever rotates. */
export async function seedSets(client: Client, { namespace, sets, targets }: RotationSeed): Promise<void> {
  await client.create(Namespace, { metadata: { name: namespace } });
  await forEachIndex(sets, async (index) => {
    await client.create(Secret, sourceOf(namespace, index, "value 1"));
    for (const [order, [name, rotationDelay]] of Object.entries(targets).entries()) {
      const spec = { rotationSet: setName(index), rotationOrder: order + 1, rotationDelay };
      await createCustom(client, { kind: RotationTarget, namespace, name: `${setName(index)}-${name}`, spec });
    }
  });
}

/** Worlds of sets with these targets. */
export function rotationWorlds(targets: RotationSeed["targets"]): MakeWorld {
  return async ({ cluster: { client } }, { name, size }) => {
    const namespace = `bench-rotation-${name}`;
    await seedSets(client, { namespace, sets: size, targets });
    return {
      namespaces: [namespace],
      flags: {},
      args: [namespace, String(size)],
      async [Symbol.asyncDispose]() {
        await clearNamespace(client, namespace, [RotationTarget, Secret]);
      },
    };
  };
}
