// `npm create @keyturn/operator`: the folder that it makes compiles, its tests pass, and its manifests are what its own test needs, with the package as it is installed.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { packCreator, packRuntime } from "../../tools/package.ts";
import { type Consumer, installPackage, modules } from "./consumer.ts";

let runtime: string;
let creator: string;
beforeAll(async () => {
  runtime = await packRuntime();
  creator = await packCreator();
});

/** A folder with both packages, as `npm create` has them. */
async function withCreator(): Promise<Consumer & { readonly create: (...words: readonly string[]) => Promise<string> }> {
  const consumer = await installPackage(runtime);
  await consumer.run("tar", "-xzf", creator, "-C", consumer.folder);
  return { ...consumer, create: (...words) => consumer.run(process.execPath, "package/create-operator.mjs", ...words) };
}

describe("npm create @keyturn/operator", () => {
  it("makes an operator that compiles, and whose tests pass in a simulation and on a real API server", async () => {
    const { folder, create, run } = await withCreator();
    expect(await create("shop-operator")).toContain("cd shop-operator\n  npm install\n  npm test\n");
    const own = join(folder, "shop-operator");
    expect(await readdir(own)).toEqual(expect.arrayContaining([".gitignore", "Dockerfile", "README.md", "package.json", "src", "test"]));
    await run(process.execPath, join(modules, "typescript/bin/tsc"), "-p", own);
    expect(await run(process.execPath, join(modules, "vitest/vitest.mjs"), "run", "--root", own)).toContain("4 passed");
  });

  it("gives everything the chosen name, and asks for the versions that there are", async () => {
    const { folder, create, run, manifest } = await withCreator();
    await create("shop-operator");
    const own = join(folder, "shop-operator");
    const printed = await run(process.execPath, join(own, "src/manifests.ts"), "registry.example/shop:1");
    expect(printed).toContain("name: greetings.shop-operator.example");
    expect(printed).toContain("image: registry.example/shop:1");
    const files = (await readdir(own, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
    const texts = await Promise.all(files.map((entry) => readFile(join(entry.parentPath, entry.name), "utf8")));
    expect(texts.join("\n")).not.toContain("my-operator");
    const { version } = JSON.parse(await readFile(join(folder, "node_modules/@keyturn/runtime/package.json"), "utf8")) as {
      readonly version: string;
    };
    const wanted = JSON.parse(await readFile(join(own, "package.json"), "utf8")) as { readonly dependencies: object };
    expect(wanted.dependencies).toEqual({ "@keyturn/runtime": `^${version}`, zod: manifest.peerDependencies["zod"] });
  });

  it("takes no folder that has something in it, and no name that Kubernetes would refuse", async () => {
    const { create } = await withCreator();
    await create("shop-operator");
    await expect(create("shop-operator")).rejects.toThrow("is not empty");
    await expect(create("Shop_Operator")).rejects.toThrow('"Shop_Operator" names Leases and ServiceAccounts');
    await expect(create()).rejects.toThrow("usage: npm create @keyturn/operator NAME");
  });
});

it("brings nothing but the command, the template, a licence and a manual", async () => {
  const { run } = await installPackage(runtime);
  const files = (await run("tar", "-tzf", creator)).trimEnd().split("\n");
  expect(files.filter((file) => !file.startsWith("package/template/"))).toEqual([
    "package/LICENSE",
    "package/README.md",
    "package/create-operator.mjs",
    "package/package.json",
  ]);
  const template = fileURLToPath(new URL("../../packages/runtime/create-operator/template", import.meta.url));
  expect(files.filter((file) => file.startsWith("package/template/"))).toHaveLength(
    (await readdir(template, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile()).length,
  );
});
