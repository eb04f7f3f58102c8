// What is read from cluster/go.mod.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { cacheFolderOf, readClusterModule } from "./cluster-module.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "keyturn-module-test-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const real = readClusterModule();
const write = (change: (goMod: string) => string, goSum = ""): string => {
  writeFileSync(join(folder, "go.mod"), change(readFileSync(join(real.folder, "go.mod"), "utf8")));
  writeFileSync(join(folder, "go.sum"), goSum);
  return folder;
};

describe("readClusterModule", () => {
  it("finds the checkout's module, its version and its tools", () => {
    expect(real.version).toMatch(/^v1\.\d+\.\d+$/);
    expect(real.key).toMatch(new RegExp(`^${real.version}-${process.platform}-${process.arch}-[0-9a-f]{12}$`));
    expect(real.packages.etcd).toBe("go.etcd.io/etcd/server/v3");
    expect(real.packages.kwok).toBe("sigs.k8s.io/kwok/cmd/kwok");
  });

  it("gives another key to other dependencies", () => {
    const one = readClusterModule(write((goMod) => goMod)).key;
    const two = readClusterModule(write((goMod) => goMod, "another sum")).key;
    const three = readClusterModule(write((goMod) => goMod.replaceAll("v1.36.", "v1.37."))).key;
    expect(new Set([one, two, three]).size).toBe(3);
    expect(three).toMatch(/^v1\.37\./);
  });

  it("names what the module lacks", () => {
    const without = (pattern: RegExp) => (): unknown => readClusterModule(write((goMod) => goMod.replace(pattern, "")));
    expect(without(/.*k8s\.io\/kubernetes v1.*/)).toThrow(/go\.mod requires no k8s\.io\/kubernetes/);
    expect(without(/.*kwok\/cmd\/kwok.*/)).toThrow(/looking for kwok: .*go\.mod lists no such tool/);
  });
});

describe("cacheFolderOf", () => {
  it("is in the user's cache folder", () => {
    expect(cacheFolderOf(real, { XDG_CACHE_HOME: "/c", HOME: "/h" })).toBe(`/c/keyturn/cluster/${real.key}`);
    expect(cacheFolderOf(real, { HOME: "/h" })).toBe(`/h/.cache/keyturn/cluster/${real.key}`);
  });
});
