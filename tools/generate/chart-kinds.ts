// The served kinds for the chart's templates, for the roles that people get.
import { EventingAuth } from "../../packages/keyturn/src/controllers/eventing-auth/api.ts";
import { features } from "../../packages/keyturn/src/registry.ts";
import { camelCase } from "./chart-flags.ts";
import { yamlLines } from "./yaml-lines.ts";

/** The table as YAML. `edit` is whether people with the cluster's role of that name may change the kind: what is made for an EventingAuth is not theirs. */
export function chartKinds(): string {
  const rows = features.flatMap(({ name, kinds }) =>
    kinds.map((kind) => ({ feature: camelCase(name), group: kind.group, resource: kind.plural, edit: kind !== EventingAuth })),
  );
  return yamlLines("Which kinds belong to which controller, and whether the cluster's roles `edit` and `admin` may change them.", rows);
}
