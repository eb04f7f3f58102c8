// Builds the web page into packages/dashboard/dist, if what it is made of has changed since it was last built.
import { createHash } from "node:crypto";
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const root = fileURLToPath(new URL("..", import.meta.url));
const page = join(root, "packages/dashboard");
const folder = join(page, "dist");
/** Holds the digest of the sources that the folder was built from. */
const stamp = ".source";

/** Resolves to the folder with the built page. Two that build at once do no harm: each builds aside, and one of them wins. */
export async function buildDashboard(): Promise<string> {
  const digest = await digestOfSources();
  if ((await builtFrom()) === digest) return folder;
  // Beside the bundle, which git ignores, so that an interrupted build leaves nothing in the way.
  await mkdir(join(root, "dist"), { recursive: true });
  const aside = await mkdtemp(join(root, "dist/.dashboard-"));
  try {
    await build({ root: page, configFile: join(page, "vite.config.ts"), logLevel: "warn", build: { outDir: aside } });
    await writeFile(join(aside, stamp), digest);
    await chmod(aside, 0o755);
    // Whoever was quicker may be read already.
    if ((await builtFrom()) === digest) return folder;
    await rm(folder, { recursive: true, force: true });
    await rename(aside, folder);
  } catch (error) {
    if ((await builtFrom()) !== digest) throw error;
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
  return folder;
}

async function builtFrom(): Promise<string | undefined> {
  return await readFile(join(folder, stamp), "utf8").catch(() => undefined);
}

async function digestOfSources(): Promise<string> {
  const entries = await readdir(join(page, "src"), { recursive: true, withFileTypes: true });
  const sources = entries.filter((entry) => entry.isFile() && !entry.name.endsWith(".test.ts")).map((entry) => join(entry.parentPath, entry.name));
  const others = ["index.html", "vite.config.ts", "tsconfig.json", "package.json"].map((name) => join(page, name));
  const hash = createHash("sha256");
  // The lock file pins Vite and Preact.
  for (const file of [...sources, ...others, join(root, "package-lock.json")].sort())
    hash
      .update(`${file}\0`)
      .update(await readFile(file))
      .update("\0");
  return hash.digest("hex");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildDashboard();
