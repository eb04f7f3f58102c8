// Mistakes that the types catch: each planted one is refused by the compiler, and nothing beside them is.
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

it("refuses every planted mistake and nothing else", async () => {
  const source = await readFile(here("planted-mistakes.txt"), "utf8");
  // Where packages are found, and where nobody who reads the sources meanwhile looks.
  const cache = here("../../../../node_modules/.cache");
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, "planted-mistakes-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const config = { extends: here("../../../../tsconfig.json"), compilerOptions: { noEmit: true }, include: ["planted-mistakes.ts"], exclude: [] };
  const [code, project] = [join(folder, "planted-mistakes.ts"), join(folder, "tsconfig.json")];
  await writeFile(code, source);
  await writeFile(project, JSON.stringify(config));
  const compiler = fileURLToPath(new URL("../../../../node_modules/typescript/bin/tsc", import.meta.url));
  const compiled = promisify(execFile)(process.execPath, [compiler, "--pretty", "false", "-p", project]).then(
    ({ stdout }) => stdout,
    (error: { readonly stdout: string }) => error.stdout,
  );
  const refused = new Set([...(await compiled).matchAll(/planted-mistakes\.ts\((\d+),/g)].map(([, line]) => Number(line)));
  const lines = source.split("\n");
  const planted = lines.flatMap((line, index) => (line.includes("// MISTAKE ") ? [index + 1] : []));
  const said = (numbers: Iterable<number>): readonly string[] => [...numbers].sort((a, b) => a - b).map((number) => lines[number - 1]?.trim() ?? "");
  expect(said(refused)).toEqual(said(planted));
});
