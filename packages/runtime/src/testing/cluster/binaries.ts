// Finds programs that are built from Go modules, the control plane's and Helm: in KUBEBUILDER_ASSETS if that is set, else in the cache of builds, else by building them now.
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { buildTool } from "./build.ts";
import type { BuildOptions } from "./build.ts";
import { withLock } from "./build-lock.ts";
import type { ProgressStream } from "./build-progress.ts";
import { cacheFolderOf, moduleOf, readToolModule } from "./tool-module.ts";
import type { Environment, ToolModule, ToolName } from "./tool-module.ts";

/** Where to look for binaries. */
export interface BinaryOptions {
  /** The folder of `go.mod` and its fellows; default `cluster/` of the checkout. */
  readonly moduleFolder?: string;
  /** Default `process.env`. `K8S=oldest` in it chooses the oldest Kubernetes that is supported. */
  readonly environment?: Environment;
  /** Default `process.stderr`. */
  readonly progress?: ProgressStream;
}

/**
 * Resolves to the path of each tool asked for, building what is nowhere to be found.
 *
 * Several processes may call this at once: one builds, the others say that they wait and then use its build.
 * Rejects with `BuildError` when there is no Go or the build fails.
 */
export async function findBinaries<T extends ToolName>(tools: readonly T[], options: BinaryOptions = {}): Promise<Readonly<Record<T, string>>> {
  const { environment = process.env, progress = process.stderr } = options;
  const found = new Map<T, string>();
  const missing = tools.filter((tool) => {
    const path = inAssets(tool, environment);
    if (path) found.set(tool, path);
    return !path;
  });
  const byModule = Map.groupBy(missing, (tool) => moduleOf(tool, environment));
  for (const [name, wanted] of byModule) {
    const module = readToolModule(name, options.moduleFolder);
    await buildMissing(wanted, module, { environment, progress });
    for (const tool of wanted) found.set(tool, join(cacheFolderOf(module, environment), tool));
  }
  return Object.fromEntries(found) as Record<T, string>;
}

/** Builds those of the module's tools that no earlier run has built. */
async function buildMissing(tools: readonly ToolName[], module: ToolModule, options: BuildOptions): Promise<void> {
  const folder = cacheFolderOf(module, options.environment);
  const isBuilt = (tool: ToolName): boolean => existsSync(join(folder, tool));
  if (tools.every(isBuilt)) return;
  mkdirSync(folder, { recursive: true });
  const onWait = (ownerPid: number): void => void options.progress.write(`waiting for process ${ownerPid}, which builds ${module.title}\n`);
  const build = async (): Promise<void> => {
    for (const tool of tools) if (!isBuilt(tool)) await buildTool(tool, module, folder, options);
  };
  await withLock(join(folder, "lock"), build, { onWait });
}

function inAssets(tool: ToolName, environment: Environment): string | undefined {
  const assets = environment["KUBEBUILDER_ASSETS"];
  if (!assets) return undefined;
  if (!existsSync(assets)) throw new Error(`looking for ${tool}: KUBEBUILDER_ASSETS names ${assets}, which does not exist; correct or unset it`);
  const path = join(assets, tool);
  return existsSync(path) ? path : undefined;
}
