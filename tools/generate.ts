// Writes every generated file of the repository from its one source; with --check, says which are out of date and changes nothing.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { generatedFiles } from "./generate/generated-files.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const check = process.argv.includes("--check");

const stale: string[] = [];
for (const step of generatedFiles) {
  for (const [path, wanted] of Object.entries(await step())) {
    const present = await readFile(root + path, "utf8").catch(() => undefined);
    if (present === wanted) continue;
    stale.push(path);
    if (check) continue;
    await mkdir(dirname(root + path), { recursive: true });
    await writeFile(root + path, wanted);
  }
}

if (check && stale.length > 0) {
  console.error(`out of date: ${stale.join(", ")}\nrun: make generate`);
  process.exitCode = 1;
} else {
  console.log(stale.length === 0 ? "generated files are up to date" : `written: ${stale.join(", ")}`);
}
