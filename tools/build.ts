// Builds what goes into the image, in dist/: the program as one file, its bill of materials, and the licences of what is in it.
import { chmod, mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { version } from "../packages/keyturn/src/cli/command-line.ts";
import { bundleProgram } from "./build/bundle.ts";
import { readLockFile } from "./build/lock-file.ts";
import { renderNotices, renderSbom } from "./build/sbom-and-licenses.ts";
import { buildDashboard } from "./build-dashboard.ts";

const root = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");

/** Builds everything and resolves to the path of the program. Readers never see half a file. */
export async function buildProgram(): Promise<string> {
  const lock = readLockFile(root);
  const { content, folders } = await bundleProgram({ root, lock, pageFolder: await buildDashboard() });
  const program = await write("keyturn.mjs", content);
  await write("keyturn.cdx.json", renderSbom({ lock, folders, version, bundle: content }));
  await write("THIRD-PARTY-LICENSES.txt", await renderNotices(root, lock, folders));
  return program;
}

async function write(name: string, content: string | Uint8Array): Promise<string> {
  const path = join(root, "dist", name);
  const draft = `${path}.${process.pid}`;
  await mkdir(join(root, "dist"), { recursive: true });
  await writeFile(draft, content);
  if (name.endsWith(".mjs")) await chmod(draft, 0o755);
  await rename(draft, path);
  return path;
}

if (import.meta.main) {
  await buildProgram();
  console.log("dist/keyturn.mjs, dist/keyturn.cdx.json, dist/THIRD-PARTY-LICENSES.txt");
}
