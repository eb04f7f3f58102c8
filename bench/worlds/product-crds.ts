// The kinds that the product serves, and the Kyma, which it reads.
import { readFile } from "node:fs/promises";
import { renderCrds } from "../../packages/keyturn/src/cli/crds.ts";
import type { Bed } from "../scenario.ts";

/** Applies their definitions; again does no harm. */
export async function applyProductCrds({ cluster }: Bed): Promise<void> {
  await cluster.apply(renderCrds());
  await cluster.apply(await readFile(new URL("../../examples/issue/kyma-crd.yaml", import.meta.url), "utf8"));
}
