// The chart rendered by Helm, without a cluster: for the plain manifests in config/, and for tests.
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { parseAllDocuments, stringify } from "yaml";
import * as z from "zod";
import type { KubeObject } from "@keyturn/runtime";
import { findBinaries } from "@keyturn/runtime/testing";

/** The folder of the chart. */
export const chartFolder = fileURLToPath(new URL("../charts/keyturn", import.meta.url));

/** Values of the chart: any tree, since tests give wrong ones too. */
export type ChartValues = Readonly<Record<string, unknown>>;

/** An object as the chart renders it. */
export type RenderedObject = KubeObject & { readonly apiVersion: string; readonly kind: string; readonly metadata: { readonly name: string } };

const renderedSchema = z.looseObject({ apiVersion: z.string(), kind: z.string(), metadata: z.looseObject({ name: z.string() }) });

/** Where and under which name the chart is installed. */
interface Release {
  /** Default `keyturn`. */
  readonly name?: string;
  /** Default `keyturn-system`. */
  readonly namespace?: string;
}

/** Runs Helm with its arguments. Rejects with what it wrote to its standard error if it fails. */
export async function helm(argumentsGiven: readonly string[]): Promise<string> {
  const binaries = await findBinaries(["helm"]);
  // Nothing of the user's own: no plugins, no repositories, no cluster.
  const folder = await mkdtemp(join(tmpdir(), "keyturn-helm-"));
  try {
    const env = {
      PATH: process.env["PATH"],
      HELM_CACHE_HOME: folder,
      HELM_CONFIG_HOME: folder,
      HELM_DATA_HOME: folder,
      KUBECONFIG: join(folder, "none"),
    };
    const { stdout } = await promisify(execFile)(binaries.helm, [...argumentsGiven], { env, maxBuffer: 64 * 1024 * 1024 });
    return stdout;
  } catch (error) {
    throw new Error(`helm ${argumentsGiven[0]} failed: ${String(Reflect.get(Object(error), "stderr") ?? error)}`, { cause: error });
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Calls `helm` with the values in a file, whose path comes last. */
export async function helmWithValues(argumentsGiven: readonly string[], values: ChartValues): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "keyturn-values-"));
  try {
    const file = join(folder, "values.yaml");
    await writeFile(file, stringify(values, { compat: "yaml-1.1" }));
    return await helm([...argumentsGiven, "--values", file]);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The objects that the chart makes of some values, in the order in which Helm installs them. */
export async function renderChart(
  values: ChartValues = {},
  { name = "keyturn", namespace = "keyturn-system" }: Release = {},
): Promise<readonly RenderedObject[]> {
  const text = await helmWithValues(["template", name, chartFolder, "--namespace", namespace], values);
  return readObjects(text);
}

/** The objects in YAML documents, read as Kubernetes reads them. */
export function readObjects(text: string): readonly RenderedObject[] {
  return parseAllDocuments(text, { version: "1.1" }).flatMap((document) => {
    const [error] = document.errors;
    if (error) throw new Error(`reading objects from YAML: ${error.message}`, { cause: error });
    const object: unknown = document.toJS();
    return object === null ? [] : [renderedSchema.parse(object)];
  });
}
