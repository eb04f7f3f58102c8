// Every package that can end up in the program has a licence that lets it.
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { isAllowedLicense } from "../../tools/build/sbom-and-licenses.ts";
import { isWorkspace, readLockFile, withDependencies } from "../../tools/build/lock-file.ts";

const lock = readLockFile(fileURLToPath(new URL("../..", import.meta.url)));

it("all runtime dependencies have a licence that we allow", () => {
  const folders = [...withDependencies(lock, ["packages/keyturn", "packages/runtime", "packages/dashboard"])].filter(
    (folder) => !isWorkspace(folder),
  );
  expect(folders.length).toBeGreaterThan(10);
  const refused = folders.filter((folder) => !isAllowedLicense(lock.packages[folder]?.license));
  expect(refused.map((folder) => `${folder}: ${lock.packages[folder]?.license}`)).toEqual([]);
});

it.each(["MIT", "(MIT OR GPL-3.0-only)", "GPL-2.0-only OR Apache-2.0", "MIT AND ISC", "0BSD"])("%s is allowed", (license) => {
  expect(isAllowedLicense(license)).toBe(true);
});

it.each([
  "GPL-3.0-only",
  "AGPL-3.0-or-later",
  "SSPL-1.0",
  "UNLICENSED",
  "SEE LICENSE IN LICENSE",
  "MIT AND GPL-3.0-only",
  "",
  undefined,
  "(MIT AND (GPL-3.0-only OR ISC))",
])("%s is not", (license) => {
  expect(isAllowedLicense(license)).toBe(false);
});
