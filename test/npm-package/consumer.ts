// A user of the npm package: an empty folder outside the repository with the package in it as npm installs it, and beside it what its package.json asks for.
import { execFile } from "node:child_process";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { temporaryFolder } from "@keyturn/runtime/testing/vitest";

/** The tools of the workspace, so that no test asks a registry. */
export const modules = fileURLToPath(new URL("../../node_modules", import.meta.url));

/** What of a published package.json counts for those who install it. */
interface PublishedManifest {
  readonly engines: { readonly node: string };
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional?: boolean }>>;
}

/** A folder that has the package installed. */
export interface Consumer {
  readonly folder: string;
  readonly manifest: PublishedManifest;
  /** Writes a file of the user's. */
  readonly write: (name: string, text: string) => Promise<string>;
  /** Runs a program in the folder; resolves to what it printed, and rejects with all of it if it fails. */
  readonly run: (program: string, ...words: readonly string[]) => Promise<string>;
}

/** What is installed besides: everything that is asked for, or that without what is optional. */
type Company = "everything" | "no optional peers";

/** Unpacks the package. What its package.json does not name is not found by it. */
export async function installPackage(archive: string, company: Company = "everything"): Promise<Consumer> {
  const folder = await temporaryFolder();
  const installed = join(folder, "node_modules/@keyturn/runtime");
  await mkdir(installed, { recursive: true });
  await promisify(execFile)("tar", ["-xzf", archive, "--strip-components=1", "-C", installed]);
  const manifest = JSON.parse(await readFile(join(installed, "package.json"), "utf8")) as PublishedManifest;
  const peers = Object.keys(manifest.peerDependencies);
  const wanted = company === "everything" ? peers : peers.filter((name) => manifest.peerDependenciesMeta[name]?.optional !== true);
  for (const name of [...Object.keys(manifest.dependencies), ...wanted]) {
    await mkdir(dirname(join(folder, "node_modules", name)), { recursive: true });
    await symlink(join(modules, name), join(folder, "node_modules", name));
  }
  const write = async (name: string, text: string): Promise<string> => {
    await writeFile(join(folder, name), text);
    return join(folder, name);
  };
  await write("package.json", '{ "type": "module" }\n');
  return { folder, manifest, write, run: (program, ...words) => run(folder, program, words) };
}

async function run(cwd: string, program: string, words: readonly string[]): Promise<string> {
  const failed = ({ message, stdout = "", stderr = "" }: { readonly message: string; readonly stdout?: string; readonly stderr?: string }): never => {
    throw new Error(`${message}\n${stdout}${stderr}`);
  };
  const { stdout, stderr } = await promisify(execFile)(program, words, { cwd, maxBuffer: 2 ** 26 }).catch(failed);
  return stdout + stderr;
}

/** How users' compilers are set: strict, with everything checked. `bundler` is what Vite, esbuild and Bun ask for. */
export function compilerOptions(resolution: "nodenext" | "bundler", outDir: string): object {
  return {
    compilerOptions: {
      target: "es2023",
      module: resolution === "nodenext" ? "nodenext" : "esnext",
      moduleResolution: resolution,
      types: ["node"],
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      skipLibCheck: false,
      outDir,
    },
  };
}
