// The set-up script for the system's parts, with package managers of our own.
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const script = join(import.meta.dirname, "../../tools/install-system-parts");
let bin: string;

beforeEach(() => {
  bin = mkdtempSync(join(tmpdir(), "keyturn-parts-test-"));
  for (const program of ["sh", "mktemp", "tail", "rm", "chmod", "cat", "cp"]) symlinkSync(`/bin/${program}`, join(bin, program));
});
afterEach(() => rmSync(bin, { recursive: true }));

const program = (name: string, body: string): void => {
  writeFileSync(join(bin, name), `#!/bin/sh\n${body}\n`);
  chmodSync(join(bin, name), 0o755);
};
const asUser = (id: number): void => program("id", `echo ${id}`);
const run = (...parts: readonly string[]): { readonly status: number | null; readonly said: string } => {
  const { status, stdout, stderr } = spawnSync("/bin/sh", [script, ...parts], {
    env: { PATH: bin, FOLDER: bin, POLICY_RC_D: join(bin, "policy-rc.d") },
    encoding: "utf8",
  });
  return { status, said: stdout + stderr };
};
const part = "keyturn-no-such-program:its-package:its-formula";

describe("install-system-parts", () => {
  it("says nothing and does nothing when all is there", () => {
    program("apt-get", "exit 9");
    expect(run("sh:dash:dash")).toEqual({ status: 0, said: "" });
  });

  it("installs what is missing where it may, without starting services", () => {
    asUser(0);
    program("apt-get", `echo "$*" >> "$FOLDER/calls"; "$POLICY_RC_D"; echo "services: $?" >> "$FOLDER/calls"`);
    expect(run(part)).toEqual({ status: 0, said: "installing keyturn-no-such-program with apt-get (once)\n" });
    // 101 means that the action is not allowed (policy-rc.d(8)).
    const forbidden = "services: 101";
    const calls = readFileSync(join(bin, "calls"), "utf8").trim().split("\n");
    expect(calls).toEqual(["update", forbidden, "install --yes --no-install-recommends its-package", forbidden]);
    expect(existsSync(join(bin, "policy-rc.d"))).toBe(false);
  });

  it("names the command where it may not", () => {
    asUser(1000);
    program("apt-get", "exit 9");
    const { status, said } = run(part);
    expect(status).toBe(1);
    expect(said).toContain("missing: keyturn-no-such-program");
    expect(said).toContain("sudo apt-get update && sudo apt-get install --no-install-recommends its-package");
  });

  it("names Homebrew's command where that is the package manager", () => {
    program("brew", "exit 9");
    expect(run(part)).toMatchObject({ status: 1, said: expect.stringContaining("brew install its-formula") });
  });

  it("shows why the package manager failed", () => {
    asUser(0);
    program("apt-get", "echo E: no network; exit 100");
    expect(run(part)).toMatchObject({ status: 1, said: expect.stringContaining("E: no network") });
  });
});
