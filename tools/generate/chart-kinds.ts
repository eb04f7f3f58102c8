// The served kinds for the chart's templates, for the roles that people get.
import { features } from "../../packages/keyturn/src/controllers/registry.ts";
import { camelCase } from "./chart-flags.ts";
import { yamlLines } from "./yaml-lines.ts";

/** The table as YAML. */
export function chartKinds(): string {
  const rows = features.flatMap(({ name, kinds }) => kinds.map(({ group, plural }) => ({ feature: camelCase(name), group, resource: plural })));
  return yamlLines("Which kinds belong to which controller.", rows);
}
