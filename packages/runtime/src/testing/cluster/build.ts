// Builds programs from Go modules with `go build` into the cache folder, so that a killed or failed build leaves nothing half-made.
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync } from "node:fs";
import { delimiter, join } from "node:path";
import { beginProgress } from "./build-progress.ts";
import type { ProgressStream } from "./build-progress.ts";
import { Sandbox } from "./sandbox.ts";
import { packageOf } from "./tool-module.ts";
import type { Environment, ToolModule, ToolName } from "./tool-module.ts";

/** Why there is no binary. */
export type BuildErrorCode = "GoMissing" | "BuildFailed";

/** A program could not be built; the message says what to do. */
export class BuildError extends Error {
  readonly code: BuildErrorCode;
  constructor(code: BuildErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "BuildError";
    this.code = code;
  }
}

/** How to build. */
export interface BuildOptions {
  readonly environment: Environment;
  readonly progress: ProgressStream;
}

const partialSuffix = ".partial";

/** Builds one tool into `folder`. The caller holds the folder's lock: what other builds left half-made is removed. */
export async function buildTool(tool: ToolName, module: ToolModule, folder: string, options: BuildOptions): Promise<void> {
  removePartials(folder);
  const partial = join(folder, `${tool}.${process.pid}${partialSuffix}`);
  const line = beginProgress(
    module.title.toLowerCase().startsWith(`${tool} `) ? `building ${module.title}` : `building ${tool} of ${module.title}`,
    options.progress,
  );
  try {
    await runGo(["build", ...module.buildFlags, "-o", partial, packageOf(tool, module)], module, options.environment);
    renameSync(partial, join(folder, tool));
    line.end("done");
  } catch (error) {
    line.end("failed");
    throw error;
  } finally {
    rmSync(partial, { force: true });
  }
}

function removePartials(folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(folder)) {
    if (name.endsWith(partialSuffix)) rmSync(join(folder, name), { force: true });
  }
}

/** In a sandbox, so that the compiler and its temporary files go when this process does. */
async function runGo(args: readonly string[], module: ToolModule, environment: Environment): Promise<void> {
  const goCommand = findOnPath("go", environment);
  if (!goCommand) throw new BuildError("GoMissing", goMissingMessage(module));
  await using sandbox = new Sandbox("keyturn-build-");
  const logFile = join(sandbox.folder, "go.log");
  const child = sandbox.launch({
    name: "go",
    command: goCommand,
    args,
    logFile,
    workingFolder: module.folder,
    environment: { ...environment, GOTMPDIR: sandbox.folder },
  });
  child.ref();
  const [code, signal]: unknown[] = await once(child, "exit");
  if (code === 0) return;
  const lastLines = readFileSync(logFile, "utf8").trimEnd().split("\n").slice(-15).join("\n");
  throw new BuildError("BuildFailed", `building ${module.title} in ${module.folder}: go build ended with ${String(signal ?? code)}:\n${lastLines}`);
}

function findOnPath(program: string, environment: Environment): string | undefined {
  const folders = (environment["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.map((folder) => join(folder, program)).find((path) => existsSync(path));
}

function goMissingMessage(module: ToolModule): string {
  return (
    `building ${module.title}: there is no \`go\` on the PATH; install Go 1.26 or newer ` +
    "(https://go.dev/dl, or your system's package manager), or set KUBEBUILDER_ASSETS to a folder that holds the programs"
  );
}
