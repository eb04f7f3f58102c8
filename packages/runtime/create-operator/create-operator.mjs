#!/usr/bin/env node
// `npm create @keyturn/operator NAME`: copies the template into a new folder and gives it the name.
import { cp, mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** What the template is called in itself. */
const placeholder = "my-operator";
const [folder, ...more] = process.argv.slice(2);

function fail(message) {
  process.stderr.write(`create-operator: ${message}\n`);
  process.exit(1);
}

if (folder === undefined || folder.startsWith("-") || more.length > 0) fail("usage: npm create @keyturn/operator NAME");
const target = resolve(folder);
const name = basename(target);
if (!/^[a-z]([-a-z0-9]{0,40}[a-z0-9])?$/.test(name))
  fail(`"${name}" names Leases and ServiceAccounts: use small letters, digits and hyphens, 42 at most`);
await mkdir(target, { recursive: true });
if ((await readdir(target)).length > 0) fail(`${target} is not empty`);

await cp(fileURLToPath(new URL("template", import.meta.url)), target, { recursive: true });
// npm leaves such a file out of a package under its own name.
await rename(join(target, "gitignore"), join(target, ".gitignore"));
for (const entry of await readdir(target, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile()) continue;
  const path = join(entry.parentPath, entry.name);
  await writeFile(path, (await readFile(path, "utf8")).replaceAll(placeholder, name));
}
process.stdout.write(`${folder} is there. Go on with:\n\n  cd ${folder}\n  npm install\n  npm test\n\nIts README.md says what is in it.\n`);
