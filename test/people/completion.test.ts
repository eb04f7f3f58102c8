// Completion and the kubectl plugin, by the programs that people use: bash and kubectl.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { findBinaries } from "@keyturn/runtime/testing";
import { useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { describe, expect, it } from "vitest";
import { renderCrds } from "../../packages/keyturn/src/cli/crds.ts";
import { scripts, shells } from "../../packages/keyturn/src/cli/completion/shells.ts";
import { rotationFeature } from "../../packages/keyturn/src/controllers/rotation/feature.ts";
import { typed } from "./typed-command.ts";

const cluster = useSharedCluster();
const timeout = 240_000;
const programs = fileURLToPath(new URL("../../bin", import.meta.url));
const run = promisify(execFile);

/** What bash would offer after a line, split into words as bash does. */
async function offeredByBash(words: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<readonly string[]> {
  const line = words.join(" ").replaceAll(" = ", "=").replace(/ =$/, "=");
  const script = `source <(keyturn completion bash)
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE=$LINE; COMP_POINT=\${#LINE}
    _keyturn
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  const env = {
    ...process.env,
    HOME: "/nonexistent",
    KUBECONFIG: "/nonexistent",
    ...environment,
    PATH: `${programs}:${process.env["PATH"]}`,
    LINE: line,
  };
  const { stdout } = await run("bash", ["--norc", "-c", script, "bash", ...words], { env });
  return stdout.trimEnd().split("\n");
}

describe("bash completes", () => {
  it.each([
    [["keyturn", "sta"], ["status"]],
    [["keyturn", "status", "--out"], ["--output"]],
    [
      ["keyturn", "status", "-o", ""],
      ["table", "json", "yaml"],
    ],
    [["keyturn", "status", "--output", "=", "y"], ["yaml"]],
    [
      ["keyturn", "status", "--output", "="],
      ["table", "json", "yaml"],
    ],
    [["keyturn", "run", "--controllers", "=", "jwks,ro"], ["jwks,rotation"]],
    [["keyturn", "completion", ""], [...shells]],
    [["keyturn", "checksum", "a"], ["announce"]],
    [["keyturn", "no-such-command", ""], [""]],
  ])("%o", { timeout }, async (words, expected) => {
    expect(await offeredByBash(words)).toEqual(expected);
  });

  it("names that the cluster knows", { timeout }, async () => {
    await cluster().apply(renderCrds([rotationFeature]));
    const namespace = await cluster().namespace("completed");
    const spec = { rotationSet: "signing-keys", rotationOrder: 1 };
    await cluster().apply({ apiVersion: "rotator.k8s.telekom.com/v1", kind: "RotationTarget", metadata: { namespace, name: "live" }, spec });
    const environment = { KUBECONFIG: cluster().adminKubeconfig };
    expect(await offeredByBash(["keyturn", "plan", "-n", "completed"], environment)).toContain(namespace);
    expect(await offeredByBash(["keyturn", "plan", "-n", namespace, "sig"], environment)).toEqual(["signing-keys"]);
    expect(await offeredByBash(["keyturn", "status", "-n", namespace, ""], environment)).toEqual(["live"]);
  });

  it("nothing, without a word of complaint, when there is no cluster", { timeout }, async () => {
    expect(await offeredByBash(["keyturn", "plan", ""])).toEqual([""]);
  });
});

it("the script for bash is one that bash can read, and every shell has one", { timeout }, async () => {
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

  it("is found, works, and calls itself so", { timeout }, async () => {
    expect(await kubectl("keyturn", "status", "--help")).toMatch(/^Usage: kubectl keyturn status /);
    const namespace = await cluster().namespace("plugin");
    expect(await kubectl("keyturn", "status", "-n", namespace)).toMatch(/^STEP +OBJECTS +LED BY +NEXT\nissue /);
    expect(await kubectl("plugin", "list")).toContain(`${programs}/kubectl-keyturn`);
  });

  it("is completed by kubectl itself", { timeout }, async () => {
    const offered = async (...words: readonly string[]): Promise<readonly string[]> =>
      (await kubectl("__complete", "keyturn", ...words)).split("\n").map((line) => line.split("\t")[0] ?? "");
    expect(await offered("doc")).toContain("doctor");
    expect(await offered("status", "--output", "")).toEqual(expect.arrayContaining(["table", "json", "yaml"]));
  });
});
