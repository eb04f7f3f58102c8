// What people see when they type something wrong, and when they ask for help.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "@keyturn/runtime/testing/vitest";
import { runKeyturn } from "../support/keyturn-process.ts";

describe("keyturn, typed wrong, says one clear line and exits with 2", () => {
  it.each([
    [["run", "--log-level=loud"], 'keyturn: --log-level: "loud" is not one of debug, info, warn, error\n'],
    [["run", "--leader-elect=perhaps"], 'keyturn: --leader-elect: "perhaps" is neither true nor false\n'],
    [
      ["run", "--controllers=jwks,jwsk"],
      'keyturn: --controllers: there is no controller "jwsk"; there are eventing-auth, rotation, jwks, checksum, sidecars, consumers (or all)\n',
    ],
    [["run", "--kubeconfig=/nonexistent/config"], "keyturn: kubeconfig /nonexistent/config does not exist\n"],
    [["run", "--resync-period=30s"], 'keyturn: --resync-period: "30s" is less than 1m\n'],
    [
      ["run", "--leader-elect-lease-duration=1500ms"],
      'keyturn: --leader-elect-lease-duration: "1500ms" is not a whole number of seconds from 3s to 24h\n',
    ],
    [
      ["run", "--leader-elect-lease-duration=876000h"],
      'keyturn: --leader-elect-lease-duration: "876000h" is not a whole number of seconds from 3s to 24h\n',
    ],
    [["run", "--jwks.configmap-interval=99999999h"], 'keyturn: --jwks.configmap-interval: "99999999h" is longer than 876000h (100 years)\n'],
    [["run", "--metrics-bind-address=eighty"], 'keyturn: --metrics-bind-address: cannot read the bind address "eighty"'],
    [["run", "--no-such-flag"], "keyturn: unknown option '--no-such-flag'\n"],
    [["fly"], "keyturn: unknown command 'fly'\n"],
  ])("%o", async (argumentsGiven, message) => {
    const { code, out, err } = await runKeyturn(...argumentsGiven);
    expect(err).toContain(message);
    expect(err.trimEnd().split("\n")).toHaveLength(1);
    expect(out).toBe("");
    expect(code).toBe(2);
  });

  it("a kubeconfig that is no YAML, without showing what is in it", async () => {
    const file = join(await temporaryFolder(), "config");
    await writeFile(file, "token: very-secret\n  users: [");
    const { code, err } = await runKeyturn("run", `--kubeconfig=${file}`);
    expect(code).toBe(2);
    expect(err).toContain(file);
    expect(err).not.toContain("very-secret");
    expect(err.trimEnd().split("\n")).toHaveLength(1);
  });
});

describe("keyturn --help", () => {
  it("lists the commands", async () => {
    const { code, out } = await runKeyturn("--help");
    expect(code).toBe(0);
    for (const command of ["run", "dev", "crds", "rbac"]) expect(out).toMatch(new RegExp(`^  ${command} `, "m"));
  });

  it("tells each flag's environment variable and default", async () => {
    const { out } = await runKeyturn("run", "--help");
    expect(out.replaceAll(/\s+/g, " ")).toContain("where /metrics is served; 0 = off ($KEYTURN_METRICS_BIND_ADDRESS, default :8443)");
  });

  it("knows its version", async () => {
    expect((await runKeyturn("--version")).out).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

it("keyturn rbac prints manifests that name the operator's ServiceAccount", async () => {
  const { code, out } = await runKeyturn("rbac", "--namespace=ops", "--service-account=me");
  expect(code).toBe(0);
  expect(out).toContain("namespace: ops");
  expect(out).toContain("name: me");
});
