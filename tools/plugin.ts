// Packs the kubectl plugin from what `make build` made: dist/kubectl-keyturn.tar.gz, and the manifest for krew, dist/keyturn.yaml.
// Usage: node tools/plugin.ts HOMEPAGE DOWNLOADS, the project's page and the folder that the release's files are to be had from.
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type ArchiveEntry, compressedTarArchive } from "@keyturn/runtime/testing";
import { version } from "../packages/keyturn/src/cli/command-line.ts";
import { krewManifest } from "./plugin/krew-manifest.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const archiveName = "kubectl-keyturn.tar.gz";

/** The files of the plugin, with the program at `programPath`. */
export async function pluginFiles(programPath: string): Promise<readonly ArchiveEntry[]> {
  const file = async (name: string, path: string, executable: boolean): Promise<ArchiveEntry> => ({
    name,
    content: await readFile(path),
    executable,
  });
  return [
    await file("LICENSE", join(root, "LICENSE"), false),
    await file("keyturn.mjs", programPath, true),
    await file("kubectl-keyturn", join(root, "tools/plugin/kubectl-keyturn"), true),
  ];
}

if (import.meta.main) {
  const [homepage, downloads] = process.argv.slice(2);
  if (homepage === undefined || downloads === undefined) throw new Error("usage: node tools/plugin.ts HOMEPAGE DOWNLOADS");
  const dist = join(root, "dist");
  const licences: ArchiveEntry = {
    name: "THIRD-PARTY-LICENSES.txt",
    content: await readFile(join(dist, "THIRD-PARTY-LICENSES.txt")),
    executable: false,
  };
  const archive = compressedTarArchive([...(await pluginFiles(join(dist, "keyturn.mjs"))), licences]);
  const sha256 = createHash("sha256").update(archive).digest("hex");
  await writeFile(join(dist, archiveName), archive);
  await writeFile(join(dist, "keyturn.yaml"), krewManifest({ version, uri: `${downloads}/${archiveName}`, sha256, homepage }));
  console.log(`dist/${archiveName}, dist/keyturn.yaml`);
}
