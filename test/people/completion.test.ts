// Completion and the kubectl plugin, by the programs that people use: bash and kubectl.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { findBinaries } from "@keyturn/runtime/testing";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { describe, expect, it } from "vitest";
import { renderCrds } from "../../packages/keyturn/src/cli/manifests.ts";
import { scripts, shells } from "../../packages/keyturn/src/cli/completion-scripts.ts";
import { RotationTarget } from "../../packages/keyturn/src/controllers/rotation/api.ts";
import { rotationFeature } from "../../packages/keyturn/src/controllers/rotation/feature.ts";
import { typed } from "../support/typed-command.ts";

const cluster = useSharedCluster();
const programs = fileURLToPath(new URL("../../bin", import.meta.url));
const run = promisify(execFile);

/** Lines as bash splits them into words, and what it should offer. What can be typed at all is in cli/completion.test.ts. */
const lines: readonly { readonly words: readonly string[]; readonly line: string; readonly offered: readonly string[] }[] = [
  { words: ["keyturn", "sta"], line: "keyturn sta", offered: ["status"] },
  { words: ["keyturn", "status", "-o", ""], line: "keyturn status -o ", offered: ["table", "wide", "json", "yaml"] },
  { words: ["keyturn", "status", "--output", "="], line: "keyturn status --output=", offered: ["table", "wide", "json", "yaml"] },
  { words: ["keyturn", "run", "--controllers", "=", "jwks,ro"], line: "keyturn run --controllers=jwks,ro", offered: ["jwks,rotation"] },
];

it("bash offers what can be typed next", async () => {
  const cases = lines.map(
    ({ words, line }) =>
      `COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length - 1}; COMP_LINE='${line}'; COMP_POINT=${line.length}; _keyturn; echo "\${COMPREPLY[*]}"`,
  );
  const env = { ...process.env, HOME: "/nonexistent", PATH: `${programs}:${process.env["PATH"]}` };
  const { stdout } = await run("bash", ["--norc", "-c", [scripts.bash, ...cases].join("\n")], { env });
  expect(stdout.trimEnd().split("\n")).toEqual(lines.map(({ offered }) => offered.join(" ")));
});

it("names that the cluster knows are offered too", async () => {
  await cluster().apply(renderCrds([rotationFeature]));
  const namespace = await cluster().namespace("completed");
  const target: RotationTarget = {
    apiVersion: "rotator.k8s.telekom.com/v1",
    kind: "RotationTarget",
    metadata: { namespace, name: "live" },
    spec: RotationTarget.definition.versions[0].spec.parse({ rotationSet: "signing-keys", rotationOrder: 1 }),
  };
  await cluster().apply(target);
  const where = ["--kubeconfig", cluster().adminKubeconfig, "-n", namespace];
  // A cluster that takes its time has nothing to offer, so that nobody waits; and the machine may be busy.
  const offers = (words: readonly string[], expected: string): Promise<void> =>
    soon(async () => expect((await typed("__complete", ...words)).out).toBe(expected));
  await offers(["plan", ...where, "sig"], "signing-keys\tsubjects\n:4\n");
  await offers(["status", ...where, ""], "live\tobjects\n:4\n");
  // Everywhere, whichever namespace was given besides.
  await offers(["status", "--kubeconfig", cluster().adminKubeconfig, "-n", "default", "-A", "liv"], "live\tobjects\n:4\n");
  await offers(["status", "--kubeconfig", cluster().adminKubeconfig, `--namespace=${namespace}`], `--namespace=${namespace}\tnamespaces\n:4\n`);
});

it("nothing is offered, without a word of complaint, when there is no cluster", async () => {
  expect(await typed("__complete", "plan", "--kubeconfig=/nonexistent", "")).toEqual({ code: 0, out: ":4\n", err: "" });
});

it("the script for bash is one that bash can read, and every shell has one", async () => {
  await run("bash", ["-n", "-c", scripts.bash]);
  for (const shell of shells) expect((await typed("completion", shell)).out).toBe(scripts[shell]);
  expect(await typed("completion", "tcsh")).toMatchObject({
    code: 2,
    err: 'keyturn: completion: there is no script for "tcsh"; there are bash, zsh, fish, powershell\n',
  });
});

describe("kubectl keyturn", () => {
  const kubectl = async (...words: readonly string[]): Promise<string> => {
    const binaries = await findBinaries(["kubectl"]);
    const env = { ...process.env, HOME: "/nonexistent", KUBECONFIG: cluster().adminKubeconfig, PATH: `${programs}:${process.env["PATH"]}` };
    return (await run(binaries.kubectl, words, { env })).stdout;
  };

  it("is found, works, and calls itself so", async () => {
    expect(await kubectl("keyturn", "status", "--help")).toMatch(/^Usage: kubectl keyturn status /);
    const namespace = await cluster().namespace("plugin");
    expect(await kubectl("keyturn", "status", "-n", namespace)).toMatch(/^STEP +OBJECTS +LED BY +NEXT\nissue /);
    expect(await kubectl("plugin", "list")).toContain(`${programs}/kubectl-keyturn`);
  });

  it("is completed by kubectl itself", async () => {
    const offered = async (...words: readonly string[]): Promise<readonly string[]> =>
      (await kubectl("__complete", "keyturn", ...words)).split("\n").map((line) => line.split("\t")[0] ?? "");
    expect(await offered("doc")).toContain("doctor");
    expect(await offered("status", "--output", "")).toEqual(expect.arrayContaining(["table", "json", "yaml"]));
  });
});
