// The kinds that the product serves, and the Kyma, which it reads.
import { readFile } from "node:fs/promises";
import { collectionPath, type Kind } from "@keyturn/runtime";
import { renderCrds } from "../../packages/keyturn/src/cli/manifests.ts";
import { Kyma } from "../../packages/keyturn/src/controllers/eventing-auth/api.ts";
import { features } from "../../packages/keyturn/src/registry.ts";
import type { Bed } from "../scenario.ts";

/**
 * Applies their definitions; again does no harm. The API server begins to fill its cache of a kind when it is first asked for it, and puts off watches for a second until then:
 * a controller would pay for that, and the loop that it is compared with would not.
 */
export async function applyProductCrds({ cluster }: Bed): Promise<void> {
  await cluster.apply(renderCrds());
  await cluster.apply(await readFile(new URL("../../examples/issue/kyma-crd.yaml", import.meta.url), "utf8"));
  const kinds: readonly Kind[] = [...features.flatMap((feature) => feature.kinds), Kyma];
  await Promise.all(kinds.map((kind) => cluster.client.request({ method: "GET", path: `${collectionPath(kind)}?resourceVersion=0&limit=1` })));
}
