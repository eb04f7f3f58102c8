// Which files are generated, and from what.
import { renderCrds } from "../../packages/keyturn/src/cli/manifests.ts";
import { chartFiles } from "./chart-files.ts";
import { defectTable } from "./defects.ts";
import { kustomizeFiles } from "./kustomize.ts";
import { commandReference, kindReference, metricReference, reasonReference, rightsReference } from "./reference-pages.ts";

/** What is generated from source, and then what is generated from that: each path, and what the file should contain. */
export const generatedFiles: readonly (() => FileTexts | Promise<FileTexts>)[] = [sourceFiles, kustomizeFiles];

type FileTexts = Readonly<Record<string, string>>;

function sourceFiles(): FileTexts {
  return {
    ...chartFiles(),
    "config/crd/keyturn.yaml": renderCrds(),
    "docs/migration/defects.md": defectTable(),
    "docs/reference/command-line.md": commandReference(),
    "docs/reference/kinds.md": kindReference(),
    "docs/reference/metrics.md": metricReference(),
    "docs/reference/reasons.md": reasonReference(),
    "docs/reference/rights.md": rightsReference(),
  };
}
