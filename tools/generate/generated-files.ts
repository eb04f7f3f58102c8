// Which files are generated, and from what.
import { controllersOf, features } from "../../packages/keyturn/src/controllers/registry.ts";
import { renderCrds } from "../../packages/keyturn/src/cli/crds.ts";
import { renderRbac } from "../../packages/keyturn/src/cli/rbac.ts";
import { commandReference } from "./command-reference.ts";
import { kindReference } from "./kind-reference.ts";
import { metricReference } from "./metric-reference.ts";
import { reasonReference } from "./reason-reference.ts";
import { rightsReference } from "./rights-reference.ts";

/** Every generated file of the repository: its path, and what it should contain. */
export function generatedFiles(): Readonly<Record<string, string>> {
  const serviceAccount = { namespace: "keyturn-system", name: "keyturn" };
  return {
    ...(features.some(({ kinds }) => kinds.length > 0) && { "config/crd/keyturn.yaml": renderCrds() }),
    "config/rbac/keyturn.yaml": renderRbac({ controllers: controllersOf(features, {}, {}), namespaces: [], leaderElection: true, serviceAccount }),
    "docs/reference/command-line.md": commandReference(),
    "docs/reference/kinds.md": kindReference(),
    "docs/reference/metrics.md": metricReference(),
    "docs/reference/reasons.md": reasonReference(),
    "docs/reference/rights.md": rightsReference(),
  };
}
