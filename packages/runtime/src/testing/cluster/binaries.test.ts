// Finding and building the control plane, with a compiler of our own in Go's place.
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { findBinaries } from "./binaries.ts";
import { cacheFolderOf, readToolModule } from "./tool-module.ts";
import { isRunning } from "./server-process.ts";

let folder: string;
let environment: Readonly<Record<string, string>>;
const messages: string[] = [];
const progress = { write: (text: string) => messages.push(text) };

/** A compiler that notes each call and writes its output in two halves, the second when it may. */
const fakeGo = `#!/bin/sh
echo "$$ $*" >> "$FAKE_GO_FOLDER/calls"
while [ $# -gt 1 ]; do [ "$1" = -o ] && output=$2; shift; done
printf 'half ' > "$output"
while [ -e "$FAKE_GO_FOLDER/hold" ]; do sleep 0.02; done
if [ -e "$FAKE_GO_FOLDER/fail" ]; then echo "$1: no space left on device" >&2; exit 1; fi
printf 'whole' >> "$output"
`;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "keyturn-build-test-"));
  messages.length = 0;
  const bin = join(folder, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "go"), fakeGo);
  chmodSync(join(bin, "go"), 0o755);
  environment = { PATH: `${bin}:/usr/bin:/bin`, XDG_CACHE_HOME: join(folder, "cache"), FAKE_GO_FOLDER: folder };
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const calls = (): string[] => (existsSync(join(folder, "calls")) ? readFileSync(join(folder, "calls"), "utf8").split("\n").slice(0, -1) : []);
const cache = (): string => cacheFolderOf(readToolModule("newest"), environment);
const flag = (name: string): string => {
  writeFileSync(join(folder, name), "");
  return join(folder, name);
};

/** Another process that wants etcd. */
function anotherProcess(): ChildProcess & { said(): string } {
  const script = `import { findBinaries } from ${JSON.stringify(join(import.meta.dirname, "binaries.ts"))}; await findBinaries(["etcd"]);`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script], { env: environment, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  return Object.assign(child, { said: () => said });
}

describe("findBinaries", () => {
  it("builds each tool once, with the version of go.mod stamped in, and says so", async () => {
    const found = await findBinaries(["etcd", "kubectl"], { environment, progress });
    expect(found).toEqual({ etcd: join(cache(), "etcd"), kubectl: join(cache(), "kubectl") });
    expect(readFileSync(found.etcd, "utf8")).toBe("half whole");
    const { version } = readToolModule("newest");
    expect(calls()).toHaveLength(2);
    expect(calls()[1]).toContain(`-X k8s.io/component-base/version.gitVersion=${version}`);
    expect(calls()[1]).toMatch(/k8s\.io\/kubernetes\/cmd\/kubectl$/);
    expect(messages.join("")).toMatch(/^building etcd of Kubernetes v\S+ …\nbuilding etcd .*: done after \d+ s\nbuilding kubectl/);
    expect(readdirSync(cache()).sort()).toEqual(["etcd", "kubectl"]);
  });

  it("builds each tool from its own module: the oldest Kubernetes if asked, and Helm", async () => {
    const found = await findBinaries(["etcd", "kwok", "helm"], { environment: { ...environment, K8S: "oldest" }, progress });
    const folderOf = (name: "newest" | "oldest" | "helm"): string => cacheFolderOf(readToolModule(name), environment);
    expect(found).toEqual({ etcd: join(folderOf("oldest"), "etcd"), kwok: join(folderOf("newest"), "kwok"), helm: join(folderOf("helm"), "helm") });
    expect(calls().map((call) => /-modfile=(\S+)/.exec(call)?.[1])).toEqual(["oldest.mod", undefined, "helm.mod"]);
    expect(messages.join("")).toMatch(/building etcd of Kubernetes v\S+ …[^]*building kwok of Kubernetes v\S+ …[^]*building Helm v4\S+ …/);
  });

  it("uses the build of an earlier run", async () => {
    await findBinaries(["etcd"], { environment, progress });
    messages.length = 0;
    await findBinaries(["etcd"], { environment, progress });
    expect(calls()).toHaveLength(1);
    expect(messages).toEqual([]);
  });

  it("rewrites one line on a terminal", async () => {
    await findBinaries(["etcd"], { environment, progress: { isTTY: true, ...progress } });
    expect(messages.join("").split("\n")).toHaveLength(2);
    expect(messages[0]).toBe(`\r\u001B[Kbuilding etcd of Kubernetes ${readToolModule("newest").version} … 0 s`);
  });

  it("prefers KUBEBUILDER_ASSETS, and builds what is not there", async () => {
    const assets = join(folder, "assets");
    mkdirSync(assets);
    writeFileSync(join(assets, "etcd"), "given");
    const found = await findBinaries(["etcd", "kwok"], { environment: { ...environment, KUBEBUILDER_ASSETS: assets }, progress });
    expect(found).toEqual({ etcd: join(assets, "etcd"), kwok: join(cache(), "kwok") });
    expect(calls()).toHaveLength(1);
  });

  it("complains about a KUBEBUILDER_ASSETS that is not there", async () => {
    const given = { ...environment, KUBEBUILDER_ASSETS: "/nowhere/at/all" };
    await expect(findBinaries(["etcd"], { environment: given, progress })).rejects.toThrow("KUBEBUILDER_ASSETS names /nowhere/at/all");
  });

  describe("where setup-envtest has downloaded programs", () => {
    const store = (): string => join(folder, "data/kubebuilder-envtest/k8s");
    const machine = `${process.platform}-${process.arch === "x64" ? "amd64" : process.arch}`;
    const download = (name: string, tools: readonly string[] = ["etcd", "kube-apiserver", "kubectl"]): void => {
      mkdirSync(join(store(), name), { recursive: true });
      for (const tool of tools) writeFileSync(join(store(), name, tool), "downloaded");
    };
    const withData = (): typeof environment => ({ ...environment, XDG_DATA_HOME: join(folder, "data") });

    it("takes the newest for this machine, and builds nothing", async () => {
      for (const name of [`1.9.0-${machine}`, `1.34.1-${machine}`, `1.35.0-${machine}`, "1.99.0-plan9-mips"]) download(name);
      download(`1.36.0-${machine}`, ["kubectl"]);
      const found = await findBinaries(["etcd", "kube-apiserver"], { environment: withData(), progress });
      const newest = join(store(), `1.35.0-${machine}`);
      expect(found).toEqual({ etcd: join(newest, "etcd"), "kube-apiserver": join(newest, "kube-apiserver") });
      expect(calls()).toEqual([]);
    });

    it("builds everything where something is missing, where a version is chosen, and where all is built already", async () => {
      download(`1.35.0-${machine}`);
      const built = { etcd: join(cache(), "etcd"), kwok: join(cache(), "kwok") };
      expect(await findBinaries(["etcd", "kwok"], { environment: withData(), progress })).toEqual(built);
      expect(await findBinaries(["etcd"], { environment: withData(), progress })).toEqual({ etcd: built.etcd });
      rmSync(built.etcd);
      expect(await findBinaries(["etcd"], { environment: { ...withData(), K8S: "newest" }, progress })).toEqual({ etcd: built.etcd });
      expect(calls()).toHaveLength(3);
    });
  });

  it("says what to install when there is no Go", async () => {
    const attempt = findBinaries(["etcd"], { environment: { ...environment, PATH: "/nowhere" }, progress });
    await expect(attempt).rejects.toMatchObject({
      code: "GoMissing",
      message: expect.stringMatching(/no `go` on the PATH; install Go .* or set KUBEBUILDER_ASSETS/),
    });
    expect(readdirSync(cache())).toEqual([]);
  });

  it("shows the compiler's last words when a build fails, and leaves nothing behind", async () => {
    flag("fail");
    const attempt = findBinaries(["etcd"], { environment, progress });
    await expect(attempt).rejects.toMatchObject({ code: "BuildFailed", message: expect.stringContaining("no space left on device") });
    expect(readdirSync(cache())).toEqual([]);
    expect(messages.join("")).toContain("failed after");
  });

  it("builds once when two processes want it, and the second says that it waits", async () => {
    const hold = flag("hold");
    const first = anotherProcess();
    const firstExit = once(first, "exit");
    await vi.waitFor(() => expect(calls()).toHaveLength(1), { timeout: 300_000 });
    const second = anotherProcess();
    const secondExit = once(second, "exit");
    await vi.waitFor(() => expect(second.said()).toBe(`waiting for process ${first.pid}, which builds ${readToolModule("newest").title}\n`), {
      timeout: 300_000,
    });
    rmSync(hold);
    expect(await firstExit).toEqual([0, null]);
    expect(await secondExit).toEqual([0, null]);
    expect(calls()).toHaveLength(1);
    expect(readdirSync(cache())).toEqual(["etcd"]);
  });

  it("is not disturbed by a build that was killed", async () => {
    const hold = flag("hold");
    const victim = anotherProcess();
    await vi.waitFor(() => expect(calls()).toHaveLength(1), { timeout: 300_000 });
    const compilerPid = Number.parseInt(calls()[0] ?? "", 10);
    victim.kill("SIGKILL");
    await vi.waitFor(() => expect(isRunning(compilerPid)).toBe(false), { timeout: 300_000 });
    rmSync(hold);
    const { etcd } = await findBinaries(["etcd"], { environment, progress });
    expect(readFileSync(etcd, "utf8")).toBe("half whole");
    expect(readdirSync(cache())).toEqual(["etcd"]);
  });
});
