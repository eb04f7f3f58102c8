// Finds the control plane's programs: in KUBEBUILDER_ASSETS if that is set, else in the cache of builds, else by building them now.
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { buildTool } from "./build.ts";
import { withLock } from "./build-lock.ts";
import type { ProgressStream } from "./build-progress.ts";
import { cacheFolderOf, readClusterModule } from "./cluster-module.ts";
import type { Environment, ToolName } from "./cluster-module.ts";

/** Where to look for binaries. */
export interface BinaryOptions {
  /** The folder of `go.mod`; default `cluster/` of the checkout. */
  readonly moduleFolder?: string;
  /** Default `process.env`. */
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
  if (missing.length > 0) {
    const module = readClusterModule(options.moduleFolder);
    const folder = cacheFolderOf(module, environment);
    const isBuilt = (tool: T): boolean => existsSync(join(folder, tool));
    if (!missing.every(isBuilt)) {
      mkdirSync(folder, { recursive: true });
      const onWait = (ownerPid: number): void => void progress.write(`waiting for process ${ownerPid}, which builds the local cluster\n`);
      const build = async (): Promise<void> => {
        for (const tool of missing) if (!isBuilt(tool)) await buildTool(tool, module, folder, { environment, progress });
      };
      await withLock(join(folder, "lock"), build, { onWait });
    }
    for (const tool of missing) found.set(tool, join(folder, tool));
  }
  return Object.fromEntries(found) as Record<T, string>;
}

function inAssets(tool: ToolName, environment: Environment): string | undefined {
  const assets = environment["KUBEBUILDER_ASSETS"];
  if (!assets) return undefined;
  if (!existsSync(assets)) throw new Error(`looking for ${tool}: KUBEBUILDER_ASSETS names ${assets}, which does not exist; correct or unset it`);
  const path = join(assets, tool);
  return existsSync(path) ? path : undefined;
}
