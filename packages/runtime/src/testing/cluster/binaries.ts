// Finds programs that are built from Go modules, the control plane's and Helm: in KUBEBUILDER_ASSETS if that is set, else in the cache of builds or where setup-envtest puts them, else by building them now.
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type Clock, systemClock } from "../../clock.ts";
import { Sandbox } from "./sandbox.ts";
import { isRunning } from "./server-process.ts";
import {
  cacheFolderOf,
  envtestFolderWith,
  type Environment,
  moduleOf,
  packageOf,
  readToolModule,
  type ToolModule,
  type ToolName,
} from "./tool-module.ts";

/** Where to look for binaries. */
export interface BinaryOptions {
  /** The folder of `go.mod` and its fellows, which are then all that counts besides KUBEBUILDER_ASSETS; default `cluster/` of the package, or of the checkout. */
  readonly moduleFolder?: string;
  /** Default `process.env`. `K8S=oldest` in it chooses the oldest Kubernetes that is supported. */
  readonly environment?: Environment;
  /** Default `process.stderr`. */
  readonly progress?: ProgressStream;
}

/**
 * Resolves to the path of each tool asked for, building what is nowhere to be found. What setup-envtest has downloaded is taken where it is all that is
 * needed of Kubernetes, the newest of it: programs of two versions are never mixed.
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
    const isBuilt = wanted.every((tool) => existsSync(join(cacheFolderOf(module, environment), tool)));
    // Who names a Kubernetes gets that one.
    const isChosen = options.moduleFolder !== undefined || Boolean(environment["K8S"]);
    const given = isBuilt || isChosen ? undefined : envtestFolderWith(wanted, environment);
    if (given === undefined) await buildMissing(wanted, module, { environment, progress });
    for (const tool of wanted) found.set(tool, join(given ?? cacheFolderOf(module, environment), tool));
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

// Says on stderr how a build goes: one line per tool, and on a terminal a line that counts the seconds.

/** Where progress goes. `process.stderr` is one. */
interface ProgressStream {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** Something that takes long, being shown. */
interface ProgressLine {
  /** Ends the line: `done` or why not. */
  end(outcome: string): void;
}

/** Shows that `what` has begun. On a terminal the line is rewritten each second with the time it has taken. */
function beginProgress(what: string, stream: ProgressStream, clock: Clock = systemClock): ProgressLine {
  const startMs = clock.monotonic();
  const elapsed = (): string => `${((clock.monotonic() - startMs) / 1000).toFixed(0)} s`;
  if (!stream.isTTY) stream.write(`${what} …\n`);
  const rewrite = (): void => void stream.write(`\r\u001b[K${what} … ${elapsed()}`);
  const ticker = stream.isTTY ? setInterval(rewrite, 1000) : undefined;
  if (stream.isTTY) rewrite();
  return {
    end(outcome) {
      clearInterval(ticker);
      stream.write(`${stream.isTTY ? "\r\u001b[K" : ""}${what}: ${outcome} after ${elapsed()}\n`);
    },
  };
}

// Builds programs from Go modules with `go build` into the cache folder, so that a killed or failed build leaves nothing half-made.

/** Why there is no binary. */
type BuildErrorCode = "GoMissing" | "BuildFailed";

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
interface BuildOptions {
  readonly environment: Environment;
  readonly progress: ProgressStream;
}

const partialSuffix = ".partial";

/** Builds one tool into `folder`. The caller holds the folder's lock: what other builds left half-made is removed. */
async function buildTool(tool: ToolName, module: ToolModule, folder: string, options: BuildOptions): Promise<void> {
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
    "(https://go.dev/dl, or your system's package manager), or set KUBEBUILDER_ASSETS to a folder that holds the programs; " +
    "for an API server alone, `setup-envtest use` downloads them to where they are found"
  );
}

// One build at a time between processes: a lock file that names its owner, and that a dead owner cannot hold.

/** How to wait for a lock. */
interface LockOptions {
  /** Called once when another process holds the lock. */
  readonly onWait?: (ownerPid: number) => void;
  /** Between two looks; default 200. */
  readonly pollMs?: number;
  readonly signal?: AbortSignal;
}

/** Runs `work` while no other process runs under the same lock file. A lock whose owner is dead is taken over. */
export async function withLock<T>(file: string, work: () => Promise<T>, options: LockOptions = {}): Promise<T> {
  const mine = `${process.pid} ${randomUUID()}`;
  let announced = false;
  while (!tryTake(file, mine)) {
    const owner = ownerOf(file);
    if (owner === undefined || !isRunning(owner.pid)) {
      if (owner) breakStale(file, owner.text);
      continue;
    }
    if (!announced) options.onWait?.(owner.pid);
    announced = true;
    await delay(options.pollMs ?? 200, undefined, options.signal ? { signal: options.signal } : {});
  }
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
  }
}

/** A link appears whole, with its content, or not at all: nobody can read a lock without an owner. */
function tryTake(file: string, text: string): boolean {
  const draft = `${file}.${text.split(" ")[1]}`;
  writeFileSync(draft, text);
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if (isCode(error, "EEXIST")) return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

function ownerOf(file: string): { readonly pid: number; readonly text: string } | undefined {
  try {
    const text = readFileSync(file, "utf8");
    return { pid: Number.parseInt(text, 10), text };
  } catch (error) {
    if (isCode(error, "ENOENT")) return undefined;
    throw error;
  }
}

/** Moves the stale lock aside before deleting it, so that of several who find it stale only one removes it, and never a fresh one. */
function breakStale(file: string, staleText: string): void {
  const aside = `${file}.stale.${randomUUID()}`;
  try {
    renameSync(file, aside);
  } catch (error) {
    if (isCode(error, "ENOENT")) return;
    throw error;
  }
  if (readFileSync(aside, "utf8") !== staleText) linkBack(aside, file);
  rmSync(aside, { force: true });
}

function linkBack(aside: string, file: string): void {
  try {
    linkSync(aside, file);
  } catch (error) {
    if (!isCode(error, "EEXIST")) throw error;
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
