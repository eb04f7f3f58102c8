// Which files are generated, and from what.
import { renderCrds } from "../../packages/keyturn/src/cli/manifests.ts";
import type { Feature } from "../../packages/keyturn/src/feature/feature.ts";
import { features } from "../../packages/keyturn/src/registry.ts";
import { apiReports } from "./api-reports.ts";
import { chartFiles } from "./chart-files.ts";
import { defectTable } from "./defects.ts";
import { kustomizeFiles } from "./kustomize.ts";
import { commandReference, kindReference, metricReference, readme, reasonReference, rightsReference } from "./reference-pages.ts";

/** What is generated from source, and then what is generated from that: each path, and what the file should contain. */
export const generatedFiles: readonly (() => FileTexts | Promise<FileTexts>)[] = [() => sourceFiles(features), kustomizeFiles, apiReports];

type FileTexts = Readonly<Record<string, string>>;

/** What the features of a registry come to. */
export function sourceFiles(registry: readonly Feature[]): FileTexts {
  return {
    ...chartFiles(registry),
    "README.md": readme(registry),
    "config/crd/keyturn.yaml": renderCrds(registry),
    "docs/migration/defects.md": defectTable(),
    "docs/reference/command-line.md": commandReference(registry),
    "docs/reference/kinds.md": kindReference(registry),
    "docs/reference/metrics.md": metricReference(registry),
    "docs/reference/reasons.md": reasonReference(registry),
    "docs/reference/rights.md": rightsReference(registry),
  };
}
