// The peers' programs: built, or installed with their packages, once per content of their sources, and kept in the user's cache between runs.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import * as z from "zod";

const goFolder = join(import.meta.dirname, "controller-runtime");

/** The version of controller-runtime that go.mod pins, without its `v`. */
export const controllerRuntimeVersion =
  /sigs\.k8s\.io\/controller-runtime v(\S+)/.exec(readFileSync(join(goFolder, "go.mod"), "utf8"))?.[1] ?? "unknown";

/** The path of the Go contestant. */
export async function controllerRuntimePeer(say: (text: string) => void): Promise<string> {
  const source = { name: "controller-runtime", folder: goFolder, files: ["go.mod", "go.sum", "main.go"] };
  const built = await cachedPeer(source, async (draft) => {
    say("building the controller-runtime peer (once; a few minutes)");
    await runBuild({ file: "go", args: ["build", "-v", "-mod=readonly", "-trimpath", "-o", join(draft, "peer"), "."], cwd: goFolder, say });
  });
  return join(built, "peer");
}

const rustFolder = join(import.meta.dirname, "kube-rs");

/** The version of kube that Cargo.toml pins. */
export const kubeRsVersion = /^kube = \{ version = "=([^"]+)"/m.exec(readFileSync(join(rustFolder, "Cargo.toml"), "utf8"))?.[1] ?? "unknown";

/** The path of the Rust contestant. */
export async function kubeRsPeer(say: (text: string) => void): Promise<string> {
  const source = { name: "kube-rs", folder: rustFolder, files: ["Cargo.toml", "src/main.rs"] };
  const built = await cachedPeer(source, async (draft) => {
    say("building the kube-rs peer (once; a few minutes)");
    const copies = join(draft, "source");
    const target = join(draft, "target");
    // In a copy: Cargo writes its lock file beside the sources.
    cpSync(rustFolder, copies, { recursive: true });
    await runBuild({ file: "cargo", args: ["build", "--release", "--target-dir", target], cwd: copies, say });
    copyFileSync(join(target, "release", "keyturn-bench-kube-rs"), join(draft, "peer"));
    rmSync(target, { recursive: true });
  });
  return join(built, "peer");
}

/** A contestant in a folder of its own beside this file, on one npm package. */
export interface NpmPeer {
  readonly folder: string;
  readonly packageName: string;
}

const packageFile = z.object({ dependencies: z.record(z.string(), z.string()) });
const own = ["package.json", "package-lock.json", "main.mjs"];
/** What all of them share, beside their folders. */
const shared = "contestant.mjs";

/** The version that its package.json pins. */
export function npmPeerVersion({ folder, packageName }: NpmPeer): string {
  const { dependencies } = packageFile.parse(JSON.parse(readFileSync(join(import.meta.dirname, folder, "package.json"), "utf8")));
  return dependencies[packageName] ?? "unknown";
}

/** The path of its program, beside its installed packages. */
export async function installNpmPeer({ folder, packageName }: NpmPeer, say: (text: string) => void): Promise<string> {
  const files = [shared, ...own.map((file) => join(folder, file))];
  const installed = await cachedPeer({ name: folder, folder: import.meta.dirname, files }, async (draft) => {
    say(`installing the ${packageName} peer (once)`);
    mkdirSync(join(draft, folder));
    for (const file of files) copyFileSync(join(import.meta.dirname, file), join(draft, file));
    await runBuild({ file: "npm", args: ["ci", "--no-audit", "--no-fund", "--loglevel=error"], cwd: join(draft, folder), say });
  });
  return join(installed, folder, "main.mjs");
}

/** What a peer is made from. */
interface PeerSource {
  readonly name: string;
  readonly folder: string;
  readonly files: readonly string[];
}

/** The folder in the user's cache with what `fill` made of these sources, whole or not at all; `fill` is called only when their content has not been seen before. */
async function cachedPeer(source: PeerSource, fill: (folder: string) => Promise<void>): Promise<string> {
  const digest = createHash("sha256").update(JSON.stringify([process.platform, process.arch, process.version]));
  for (const file of source.files) digest.update(`\0${file}\0`).update(readFileSync(join(source.folder, file)));
  const cache = process.env["XDG_CACHE_HOME"] || join(process.env["HOME"] || homedir(), ".cache");
  const folder = join(cache, "keyturn", "bench", `${source.name}-${digest.digest("hex").slice(0, 12)}`);
  if (existsSync(folder)) return folder;
  mkdirSync(dirname(folder), { recursive: true });
  const draft = mkdtempSync(`${folder}.`);
  try {
    await fill(draft);
    // Another run may have been quicker; its result is the same.
    if (!existsSync(folder)) renameSync(draft, folder);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return folder;
}

/** What to run. */
interface Build {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** Says a line. */
  readonly say: (text: string) => void;
  /** Between two lines; default 15 s. */
  readonly everyMs?: number;
}

/** Runs it to its end, and says now and then how far it has come: a silent minute looks like a broken one. The builder's own lines are counted and the latest is said; if it fails, its last lines are the error. */
export async function runBuild({ file, args, cwd, say, everyMs = 15_000 }: Build): Promise<void> {
  const child = spawn(file, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
  const exited = once(child, "close");
  const last: string[] = [];
  let lines = 0;
  for (const input of [child.stdout, child.stderr]) {
    createInterface({ input }).on("line", (line) => {
      lines += 1;
      last.push(line.trim());
      if (last.length > 20) last.shift();
    });
  }
  const timer = setInterval(() => say(`  ${file}: ${lines} steps so far, now at: ${(last.at(-1) ?? "its beginning").slice(0, 100)}`), everyMs);
  try {
    const [code] = await exited;
    if (code !== 0) throw new Error(`${file} ${args.join(" ")} in ${cwd} ended with ${code}:\n${last.join("\n")}`);
  } finally {
    clearInterval(timer);
  }
}
