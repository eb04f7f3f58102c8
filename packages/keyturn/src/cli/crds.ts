// `keyturn crds`: the CustomResourceDefinitions of every kind that the features serve.
import { crdOf, yamlDocuments } from "@keyturn/runtime";
import { features } from "../controllers/registry.ts";
import type { Feature } from "../controllers/feature.ts";
import type { Console } from "./console.ts";

/** The CRDs as YAML documents. */
export function renderCrds(chosen: readonly Feature[] = features): string {
  return yamlDocuments(chosen.flatMap((feature) => feature.kinds.map((kind) => crdOf(kind))));
}

/** Prints them. */
export function crdsCommand(console: Console): void {
  console.out(renderCrds());
}
