// Fills a namespace with rotation sets.
import { type Client, collectionPath, Namespace, Secret } from "@keyturn/runtime";
import { RotationTarget } from "../../packages/keyturn/src/controllers/rotation/api.ts";
import { forEachIndex } from "../programs/for-each-index.ts";
import { setName, sourceOf } from "../programs/rotation-sources.ts";

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
      await client.request({
        method: "POST",
        path: collectionPath(RotationTarget, namespace),
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          apiVersion: `${RotationTarget.group}/${RotationTarget.version}`,
          kind: RotationTarget.kind,
          metadata: { namespace, name: `${setName(index)}-${name}` },
          spec,
        }),
      });
    }
  });
}

/** Removes what a run left: more objects make the next run slower. */
export async function clearSets(client: Client, namespace: string): Promise<void> {
  for (const kind of [RotationTarget, Secret]) {
    await client.request({ method: "DELETE", path: collectionPath(kind, namespace), timeoutMs: 120_000 });
  }
}
