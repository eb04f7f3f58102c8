// The generated files of the chart.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import manifest from "../../packages/keyturn/package.json" with { type: "json" };
import { readToolModule } from "../../packages/runtime/src/testing/cluster/tool-module.ts";
import { chartArguments } from "./chart-arguments.ts";
import { chartCrds } from "./chart-crds.ts";
import { chartDashboard } from "./chart-dashboard.ts";
import { chartKinds } from "./chart-kinds.ts";
import { chartReadme } from "./chart-readme.ts";
import { chartRights } from "./chart-rights.ts";
import { chartSchema } from "./chart-schema.ts";
import { chartValuesText } from "./chart-values-text.ts";

const read = (path: string): string => readFileSync(fileURLToPath(new URL(path, import.meta.url)), "utf8");

/** The oldest Kubernetes that the tests run on, such as `1.30`. */
const oldest = readToolModule("oldest").version.replace(/^v(\d+\.\d+)\..*$/, "$1");

/** By path within the repository: what each should contain. */
export function chartFiles(): Readonly<Record<string, string>> {
  const values = chartValuesText();
  return {
    ...chartCrds(),
    "charts/keyturn/Chart.yaml": chartManifest(),
    "charts/keyturn/values.yaml": values,
    "charts/keyturn/values.schema.json": chartSchema(values),
    "charts/keyturn/README.md": chartReadme(read("chart-introduction.md").replaceAll("$OLDEST", oldest), values),
    "charts/keyturn/files/flags.yaml": chartArguments(),
    "charts/keyturn/files/grafana-dashboard.json": chartDashboard(),
    "charts/keyturn/files/kinds.yaml": chartKinds(),
    "charts/keyturn/templates/_rights.tpl": chartRights(),
  };
}

/** The chart has the version of the program that it installs, and wants what that is tested on. */
function chartManifest(): string {
  return read("../../charts/keyturn/Chart.yaml")
    .replaceAll(/^(version|appVersion): .*$/gm, `$1: ${manifest.version}`)
    .replace(/^kubeVersion: .*$/m, `kubeVersion: ">=${oldest}.0-0"`);
}
