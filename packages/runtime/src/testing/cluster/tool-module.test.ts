// What is read from the Go modules in cluster/.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { cacheFolderOf, clusterToolNames, moduleOf, packageOf, readToolModule, toolNames } from "./tool-module.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "keyturn-module-test-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const real = readToolModule("newest");
const write = (change: (goMod: string) => string, goSum = ""): string => {
  writeFileSync(join(folder, "go.mod"), change(readFileSync(join(real.folder, "go.mod"), "utf8")));
  writeFileSync(join(folder, "go.sum"), goSum);
  return folder;
};

describe("readToolModule", () => {
  it("finds the checkout's module, its version and its tools", () => {
    expect(real.version).toMatch(/^v1\.\d+\.\d+$/);
    expect(real.key).toMatch(new RegExp(`^${real.version}-${process.platform}-${process.arch}-[0-9a-f]{12}$`));
    expect(packageOf("etcd", real)).toBe("go.etcd.io/etcd/server/v3");
    expect(packageOf("kwok", real)).toBe("sigs.k8s.io/kwok/cmd/kwok");
  });

  it("reads the oldest Kubernetes and Helm from files of their own, with builds of their own", () => {
    const oldest = readToolModule("oldest");
    const helm = readToolModule("helm");
    expect(oldest.buildFlags).toContain("-modfile=oldest.mod");
    expect(Number(oldest.version.split(".")[1])).toBeLessThan(Number(real.version.split(".")[1]));
    expect(helm.key).toMatch(/^helm-v4\./);
    expect(packageOf("helm", helm)).toBe("helm.sh/helm/v4/cmd/helm");
    expect(new Set([real.key, oldest.key, helm.key]).size).toBe(3);
  });

  it("finds every tool in the module that it is said to be in", () => {
    for (const K8S of ["newest", "oldest"]) {
      for (const tool of toolNames) expect(packageOf(tool, readToolModule(moduleOf(tool, { K8S })))).not.toBe("");
    }
  });

  it("gives another key to other dependencies", () => {
    const one = readToolModule(
      "newest",
      write((goMod) => goMod),
    ).key;
    const two = readToolModule(
      "newest",
      write((goMod) => goMod, "another sum"),
    ).key;
    const three = readToolModule(
      "newest",
      write((goMod) => goMod.replaceAll("v1.36.", "v1.37.")),
    ).key;
    expect(new Set([one, two, three]).size).toBe(3);
    expect(three).toMatch(/^v1\.37\./);
  });

  it("names what the module lacks", () => {
    const without = (pattern: RegExp) =>
      readToolModule(
        "newest",
        write((goMod) => goMod.replace(pattern, "")),
      );
    expect(() => without(/.*k8s\.io\/kubernetes v1.*/)).toThrow(/go\.mod requires no k8s\.io\/kubernetes/);
    expect(() => packageOf("kwok", without(/.*kwok\/cmd\/kwok.*/))).toThrow(/looking for kwok: the module of Kubernetes v.* lists no such tool/);
  });
});

describe("moduleOf", () => {
  it("takes the newest Kubernetes by default", () => {
    expect(clusterToolNames.map((tool) => moduleOf(tool, {}))).toEqual(Array(6).fill("newest"));
    expect(moduleOf("kube-apiserver", { K8S: "" })).toBe("newest");
  });

  it("takes the oldest when asked, but for kwok", () => {
    expect(moduleOf("kube-apiserver", { K8S: "oldest" })).toBe("oldest");
    expect(moduleOf("kwok", { K8S: "oldest" })).toBe("newest");
    expect(moduleOf("helm", { K8S: "oldest" })).toBe("helm");
  });

  it("refuses a version it does not know", () => {
    expect(() => moduleOf("etcd", { K8S: "1.20" })).toThrow('K8S is "1.20"; set it to newest or oldest');
  });
});

describe("cacheFolderOf", () => {
  it("is in the user's cache folder", () => {
    expect(cacheFolderOf(real, { XDG_CACHE_HOME: "/c", HOME: "/h" })).toBe(`/c/keyturn/cluster/${real.key}`);
    expect(cacheFolderOf(real, { HOME: "/h" })).toBe(`/h/.cache/keyturn/cluster/${real.key}`);
  });
});
