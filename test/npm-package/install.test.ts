// `@keyturn/runtime` as its users have it: installed outside the repository, compiled against, run on the oldest Node, bundled, and seen by those who check packages.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { beforeAll, describe, expect, it } from "vitest";
import { ConfigMap, Secret } from "@keyturn/runtime";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { requireBanner } from "../../tools/build/bundle.ts";
import { findOldestNode } from "../../tools/oldest-node.ts";
import { packRuntime } from "../../tools/package.ts";
import { compilerOptions, type Consumer, installPackage, modules } from "./consumer.ts";

const example = fileURLToPath(new URL("../../packages/runtime/examples/fingerprints.ts", import.meta.url));
const compiler = join(modules, "typescript/bin/tsc");

/** What `esbuild --bundle --platform=node` is. */
const bundled = { bundle: true, platform: "node", logLevel: "silent" } as const;

let archive: string;
beforeAll(async () => {
  archive = await packRuntime();
});

describe("the archive", () => {
  it("has a module, its types and its source map for each source, a licence, a manual, the modules that a control plane is built from, and no test", async () => {
    const { stdout } = await promisify(execFile)("tar", ["-tzf", archive]);
    const files = stdout.trimEnd().split("\n");
    const modules = ["containerd", "go", "oldest"].flatMap((name) => [`package/cluster/${name}.mod`, `package/cluster/${name}.sum`]);
    const others = files.filter((file) => !file.startsWith("package/dist/") && !file.startsWith("package/docs/"));
    expect(others).toEqual(["package/LICENSE", "package/README.md", "package/package.json", ...modules]);
    const compiled = files.filter((file) => file.startsWith("package/dist/"));
    const sources = compiled.filter((file) => file.endsWith(".js")).map((file) => file.slice(0, -3));
    expect(sources).toContain("package/dist/index");
    expect(compiled.sort()).toEqual(sources.flatMap((file) => [".d.ts", ".js", ".js.map"].map((ending) => file + ending)).sort());
    expect(files.filter((file) => /\.(test|fixture)\./.test(file))).toEqual([]);
  });

  it.each([
    ["publint", ["publint/src/cli.js", "--strict"]],
    // CommonJS is tested below; the profile leaves out what resolves as TypeScript did before `exports`.
    ["are-the-types-wrong", ["@arethetypeswrong/cli/dist/index.js", "--profile", "esm-only"]],
  ])("has nothing that %s finds", async (_, [program = "", ...words]) => {
    await promisify(execFile)(process.execPath, [join(modules, program), ...words, archive]);
  });

  it("names the sources that a stack leads to, with their text", async () => {
    const { folder } = await installPackage(archive);
    const map = JSON.parse(await readFile(join(folder, "node_modules/@keyturn/runtime/dist/clock.js.map"), "utf8")) as object;
    expect(map).toMatchObject({ sources: ["clock.ts"], sourcesContent: [expect.stringContaining("export interface Clock")] });
  });
});

describe("the installed package", () => {
  const cluster = useSharedCluster();

  it("is asked to be run on the oldest Node that it is tested with", async () => {
    const { manifest } = await installPackage(archive);
    expect(manifest.engines.node).toBe(">=22.12.0");
    expect(await promisify(execFile)(findOldestNode(), ["--version"])).toMatchObject({ stdout: expect.stringMatching(/^v22\./) });
  });

  it.each(["nodenext", "bundler"] as const)("compiles under the resolution %s, strict, with all types checked", async (resolution) => {
    const { write, run } = await withExample();
    await write("kit.ts", await readFile(new URL("kit.txt", import.meta.url), "utf8"));
    const definitions = fileURLToPath(new URL("../../config/crd/keyturn.yaml", import.meta.url));
    await write("crds.ts", await run(process.execPath, "node_modules/@keyturn/runtime/dist/main.js", "types", definitions));
    await write("tsconfig.json", JSON.stringify(compilerOptions(resolution, "out")));
    await run(process.execPath, compiler);
  });

  it("works on a real API server, compiled without vitest, on the oldest Node", async () => {
    const { folder, write, run } = await withExample("no optional peers");
    await write("tsconfig.json", JSON.stringify(compilerOptions("nodenext", "out")));
    await run(process.execPath, compiler);
    await expectToWork(findOldestNode(), join(folder, "out/operator.js"), "compiled");
  });

  it("works on a real API server as one file that esbuild made", async () => {
    const { folder } = await withExample("no optional peers");
    await build({
      ...bundled,
      absWorkingDir: folder,
      entryPoints: ["operator.ts"],
      outfile: "out/operator.mjs",
      format: "esm",
      banner: { js: requireBanner },
    });
    await rm(join(folder, "node_modules"), { recursive: true });
    await expectToWork(process.execPath, join(folder, "out/operator.mjs"), "bundled");
  });

  it("starts a real API server, of the same build as the checkout", async () => {
    const { write, run } = await installPackage(archive);
    const lines = [
      'import { startCluster } from "@keyturn/runtime/testing";',
      "await using cluster = await startCluster({ progress: { write: (text) => console.log(text) } });",
      'console.log((await cluster.client.request({ method: "GET", path: "/version" })).gitVersion);',
    ];
    await write("version.mjs", `${lines.join("\n")}\n`);
    const { gitVersion } = (await cluster().client.request({ method: "GET", path: "/version" })) as { readonly gitVersion: string };
    expect(await run(process.execPath, "version.mjs")).toBe(`${gitVersion}\n`);
  });

  it("has a command that says how it is used, and what it cannot read", async () => {
    const { run } = await installPackage(archive);
    const command = (...words: readonly string[]): Promise<string> => run(process.execPath, "node_modules/@keyturn/runtime/dist/main.js", ...words);
    expect(await command("--help")).toContain("keyturn-runtime types FILE...");
    await expect(command()).rejects.toThrow("keyturn-runtime types FILE...");
    await expect(command("types", "package.json")).rejects.toThrow("keyturn-runtime: there is no CustomResourceDefinition");
  });

  it("is bundled into CommonJS without any setting", async () => {
    const { folder, write, run } = await installPackage(archive, "no optional peers");
    await write("names.ts", 'import { createMetrics, nameOf } from "@keyturn/runtime";\ncreateMetrics();\nconsole.log(nameOf("shop/till").name);\n');
    await build({ ...bundled, absWorkingDir: folder, entryPoints: ["names.ts"], outfile: "out/names.cjs" });
    await rm(join(folder, "node_modules"), { recursive: true });
    expect(await run(findOldestNode(), "out/names.cjs")).toBe("till\n");
  });

  it("costs nobody a kind that is not imported", async () => {
    const { folder, write } = await installPackage(archive, "no optional peers");
    const code = 'import { Deployment } from "@keyturn/runtime/kubernetes/apps/v1";\nconsole.log(Deployment.plural);\n';
    await write("kinds.ts", code);
    const { outputFiles } = await build({ ...bundled, absWorkingDir: folder, entryPoints: ["kinds.ts"], write: false, outfile: "kinds.cjs" });
    const text = outputFiles.map((file) => file.text).join("");
    expect(text).toContain('plural: "deployments"');
    expect(text).not.toContain("statefulsets");
    expect(text.length).toBeLessThan(1000);
  });

  it("is required by CommonJS, and where Node can not, the error says what to do", async () => {
    const { write, run } = await installPackage(archive);
    await write("names.cjs", 'const { nameOf } = require("@keyturn/runtime");\nconsole.log(nameOf("shop/till").name);\n');
    expect(await run(process.execPath, "names.cjs")).toBe("till\n");
    expect(await run(findOldestNode(), "--no-warnings", "names.cjs")).toBe("till\n");
    const refused = run(findOldestNode(), "--no-experimental-require-module", "names.cjs");
    await expect(refused).rejects.toThrow(/change the require of index\.js .* to a dynamic import\(\)/);
  });

  /** The example, limited to the namespace that its environment names: other tests run on the cluster, too. */
  async function withExample(company?: "no optional peers"): Promise<Consumer> {
    const consumer = await installPackage(archive, company);
    const text = await readFile(example, "utf8");
    const limited = text.replace("{ operator, connection", "{ operator, namespaces: [namespace], leaderElection: { namespace }, connection");
    expect(limited).not.toBe(text);
    await consumer.write("operator.ts", limited.replace(/^(?=const operator)/m, 'const namespace = process.env["NAMESPACE"] ?? "";\n'));
    return consumer;
  }

  /** Starts an operator like the example, sees it work, and ends it. */
  async function expectToWork(program: string, file: string, name: string): Promise<void> {
    const { client } = cluster();
    const namespace = await cluster().namespace(name);
    const kubeconfig = await cluster().kubeconfigFor({
      serviceAccount: { namespace, name: "fingerprints" },
      namespacedRules: {
        [namespace]: [
          { apiGroups: [""], resources: ["secrets"], verbs: ["list", "watch"] },
          { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch", "create", "patch", "delete"] },
          { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "create", "update"] },
        ],
      },
    });
    await client.create(Secret, { metadata: { namespace, name: "site", labels: { fingerprint: "yes" } }, data: { "tls.crt": "YQ==" } });
    const operator = spawn(program, [file], { env: { KUBECONFIG: kubeconfig, NAMESPACE: namespace }, stdio: ["ignore", "pipe", "inherit"] });
    try {
      await soon(async () => expect((await client.get(ConfigMap, { namespace, name: "site" }))?.data?.["sha256"]).toMatch(/^[0-9a-f]{64}$/));
    } finally {
      operator.kill("SIGTERM");
    }
    expect(await once(operator, "exit")).toEqual([0, null]);
  }
});
