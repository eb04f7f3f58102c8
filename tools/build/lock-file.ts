// Reads package-lock.json: which packages there are, what they need, and what is wrong with the file.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";

const dependencies = z.record(z.string(), z.string()).default({});

const entrySchema = z.object({
  name: z.string().optional(),
  version: z.string().optional(),
  resolved: z.string().optional(),
  integrity: z.string().optional(),
  link: z.boolean().default(false),
  license: z.string().optional(),
  dependencies,
  devDependencies: dependencies,
  optionalDependencies: dependencies,
  peerDependencies: dependencies,
});

const lockSchema = z.object({ lockfileVersion: z.number(), packages: z.record(z.string(), entrySchema) });

/** One entry of the lock file. Its key there is the folder of the package, relative to the root. */
type LockEntry = z.infer<typeof entrySchema>;

export type LockFile = z.infer<typeof lockSchema>;

/** Reads the text of a lock file; throws on one that is not of npm 7 or newer. */
export function parseLockFile(text: string): LockFile {
  return lockSchema.parse(JSON.parse(text));
}

/** Reads the lock file of the checkout. */
export function readLockFile(root: string): LockFile {
  return parseLockFile(readFileSync(join(root, "package-lock.json"), "utf8"));
}

/** The name of the package in a folder: what follows the last `node_modules/`. */
export function packageName(folder: string): string {
  return folder.slice(folder.lastIndexOf("node_modules/") + "node_modules/".length);
}

/** The folder that a dependency of the package in `from` is found in, as Node looks for it: its own `node_modules`, then those of the folders above. */
export function resolveDependency(lock: LockFile, from: string, name: string): string | undefined {
  for (let folder = from; ; folder = parentOf(folder)) {
    const candidate = folder === "" ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    const entry = lock.packages[candidate];
    if (entry) return entry.link ? entry.resolved : candidate;
    if (folder === "") return undefined;
  }
}

/** The folders of all packages that the given ones need to run, themselves included. Optional ones count where they are installed. */
export function withDependencies(lock: LockFile, folders: readonly string[]): ReadonlySet<string> {
  const found = new Set<string>();
  const waiting = [...folders];
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    if (found.has(folder)) continue;
    found.add(folder);
    waiting.push(...dependenciesOf(lock, folder));
  }
  return found;
}

/** The folders of what the package in `folder` needs to run, one step deep. */
export function dependenciesOf(lock: LockFile, folder: string): readonly string[] {
  const entry = lock.packages[folder];
  if (!entry) throw new Error(`looking for ${folder} in the lock file: it is not there; run npm install`);
  const names = Object.keys({ ...entry.dependencies, ...entry.optionalDependencies });
  return names.map((name) => resolveDependency(lock, folder, name)).filter((found) => found !== undefined);
}

/** Whether a folder holds a package of ours. */
export function isWorkspace(folder: string): boolean {
  return !folder.includes("node_modules/");
}

/**
 * What is wrong with a lock file; empty if nothing is. Every foreign package comes from the registry that the machine is set to, by
 * checksum: no address of any server, no git, no file. What we ask for ourselves is an exact version.
 */
export function lockFileProblems(lock: LockFile): readonly string[] {
  const version = lock.lockfileVersion === 3 ? [] : [`lockfileVersion is ${lock.lockfileVersion}, not 3`];
  const entries = Object.entries(lock.packages);
  return [...version, ...entries.flatMap(([folder, entry]) => (isWorkspace(folder) ? ownProblems(folder, entry) : foreignProblems(folder, entry)))];
}

const exactVersion = /^\d+\.\d+\.\d+(-[\w.-]+)?(\+[\w.-]+)?$/;

function ownProblems(folder: string, entry: LockEntry): readonly string[] {
  const asked = Object.entries({ ...entry.dependencies, ...entry.devDependencies, ...entry.optionalDependencies });
  const inexact = asked.filter(([, wanted]) => !exactVersion.test(wanted));
  return inexact.map(([name, wanted]) => `${folder || "the root"} asks for ${name} "${wanted}", which is not an exact version`);
}

function foreignProblems(folder: string, entry: LockEntry): readonly string[] {
  if (entry.link)
    return entry.resolved?.startsWith("packages/") ? [] : [`${folder} links to ${entry.resolved ?? "nothing"}, which is not a package of ours`];
  const odd = Object.entries({ ...entry.dependencies, ...entry.optionalDependencies }).filter(
    ([, wanted]) => /[:/]/.test(wanted) && !wanted.startsWith("npm:"),
  );
  return [
    ...(entry.resolved === undefined ? [] : [`${folder} names where it comes from: ${entry.resolved}`]),
    ...(/^sha512-[A-Za-z0-9+/]{86}==$/.test(entry.integrity ?? "") ? [] : [`${folder} has no SHA-512 checksum`]),
    ...(exactVersion.test(entry.version ?? "") ? [] : [`${folder} has no exact version`]),
    ...odd.map(([name, wanted]) => `${folder} asks for ${name} from ${wanted}`),
  ];
}

function parentOf(folder: string): string {
  const outer = folder.lastIndexOf("/node_modules/");
  if (outer >= 0) return folder.slice(0, outer);
  return "";
}
