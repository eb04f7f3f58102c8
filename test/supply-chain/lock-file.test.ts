// The lock file names every foreign package by version and checksum, and no server; and what would break that is found.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { lockFileProblems, parseLockFile, resolveDependency, withDependencies } from "../../tools/build/lock-file.ts";

const text = readFileSync(fileURLToPath(new URL("../../package-lock.json", import.meta.url)), "utf8");
const checksum = `sha512-${"A".repeat(86)}==`;

/** What is wrong with a lock file of one package of ours and one foreign one, changed as given. */
function problemsWith(change: { readonly own?: object; readonly foreign?: object; readonly lockfileVersion?: number }): readonly string[] {
  const packages = {
    "packages/ours": { dependencies: { thing: "1.2.3" }, ...change.own },
    "node_modules/thing": { version: "1.2.3", integrity: checksum, license: "MIT", ...change.foreign },
    "node_modules/ours": { resolved: "packages/ours", link: true },
  };
  return lockFileProblems(parseLockFile(JSON.stringify({ lockfileVersion: 3, ...change, packages })));
}

describe("the lock file of the checkout", () => {
  it("has nothing wrong with it", () => {
    expect(lockFileProblems(parseLockFile(text))).toEqual([]);
  });

  it("names no server", () => {
    const addresses = [...text.matchAll(/https?:\/\/[^"\s]+/g)].map(([address]) => address);
    const lines = text.split("\n").filter((line) => addresses.some((address) => line.includes(address)));
    // Where authors ask for money, or for help with an old version, is not where packages come from.
    expect(lines.filter((line) => !/"(url|deprecated)":/.test(line) && !/^\s*"https/.test(line))).toEqual([]);
  });
});

describe("the installation of packages", () => {
  const read = (file: string): string => readFileSync(fileURLToPath(new URL(`../../${file}`, import.meta.url)), "utf8");

  it.each(["Makefile", "Dockerfile", ".github/workflows/ci.yml", ".github/workflows/release.yml"])("runs none of their scripts: %s", (file) => {
    const commands = read(file)
      .split("\n")
      .filter((line) => /\bnpm (?:install|ci|pack|publish|update)\b/.test(line) && !/^\s*@?#/.test(line));
    expect(commands.filter((line) => !line.includes("--ignore-scripts"))).toEqual([]);
    expect(commands.length > 0).toBe(file !== ".github/workflows/ci.yml");
  });

  it("runs one by name, which fetches Node; whoever else has one does without", () => {
    const scripts = read("Makefile").match(/npm rebuild.*/g);
    expect(scripts).toEqual(["npm rebuild --loglevel=error node"]);
    expect(JSON.parse(read("package.json"))).toMatchObject({ allowScripts: { node: true } });
    const { packages } = JSON.parse(text) as { readonly packages: Readonly<Record<string, { readonly hasInstallScript?: boolean }>> };
    const withScript = Object.entries(packages).flatMap(([folder, { hasInstallScript = false }]) => (hasInstallScript ? [folder] : []));
    expect(withScript).toEqual(["node_modules/esbuild", "node_modules/node"]);
  });
});

describe("a lock file", () => {
  it("passes when everything is exact", () => {
    expect(problemsWith({})).toEqual([]);
  });

  it.each([
    [
      { foreign: { resolved: "https://registry.example/thing.tgz" } },
      "node_modules/thing names where it comes from: https://registry.example/thing.tgz",
    ],
    [
      { foreign: { resolved: "git+ssh://git@host.example/thing.git" } },
      "node_modules/thing names where it comes from: git+ssh://git@host.example/thing.git",
    ],
    [{ foreign: { integrity: undefined } }, "node_modules/thing has no SHA-512 checksum"],
    [{ foreign: { integrity: "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=" } }, "node_modules/thing has no SHA-512 checksum"],
    [{ foreign: { version: undefined } }, "node_modules/thing has no exact version"],
    [{ foreign: { dependencies: { other: "github:somebody/other" } } }, "node_modules/thing asks for other from github:somebody/other"],
    [{ foreign: { link: true, resolved: "../elsewhere" } }, "node_modules/thing links to ../elsewhere, which is not a package of ours"],
    [{ own: { dependencies: { thing: "^1.2.3" } } }, 'packages/ours asks for thing "^1.2.3", which is not an exact version'],
    [{ own: { devDependencies: { thing: "latest" } } }, 'packages/ours asks for thing "latest", which is not an exact version'],
    [{ own: { devDependencies: { thing: "file:../thing" } } }, 'packages/ours asks for thing "file:../thing", which is not an exact version'],
    [{ lockfileVersion: 2 }, "lockfileVersion is 2, not 3"],
  ])("with %j is found out", (change, problem) => {
    expect(problemsWith(change)).toEqual([problem]);
  });
});

describe("withDependencies", () => {
  const entry = (dependencies: Readonly<Record<string, string>> = {}): object => ({ version: "1.0.0", integrity: checksum, dependencies });
  const lock = parseLockFile(
    JSON.stringify({
      lockfileVersion: 3,
      packages: {
        "packages/ours": { dependencies: { a: "1.0.0", sister: "1.0.0" }, devDependencies: { tool: "1.0.0" } },
        "packages/sister": { dependencies: { c: "1.0.0" } },
        "node_modules/sister": { resolved: "packages/sister", link: true },
        "node_modules/a": entry({ b: "^1.0.0" }),
        "node_modules/a/node_modules/b": entry({ c: "^1.0.0", a: "^1.0.0" }),
        "node_modules/b": entry(),
        "node_modules/c": { ...entry(), optionalDependencies: { "not-installed": "1.0.0" } },
        "node_modules/tool": entry(),
      },
    }),
  );

  it("finds what Node would find, through sister packages, without tools", () => {
    const inner = "node_modules/a/node_modules/b";
    expect([...withDependencies(lock, ["packages/ours"])].sort()).toEqual([
      "node_modules/a",
      inner,
      "node_modules/c",
      "packages/ours",
      "packages/sister",
    ]);
    expect(resolveDependency(lock, "node_modules/a", "b")).toBe(inner);
    expect(resolveDependency(lock, "node_modules/c", "b")).toBe("node_modules/b");
    expect(resolveDependency(lock, "packages/ours", "nothing")).toBeUndefined();
  });
});
