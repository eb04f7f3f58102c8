// What people who come from operators made with kubebuilder type: make install, deploy, undeploy, uninstall, docker-build, docker-push; and the samples.
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { apiVersionOf } from "@keyturn/runtime";
import { findBinaries } from "@keyturn/runtime/testing";
import { temporaryFolder, useCluster } from "@keyturn/runtime/testing/vitest";
import { describe, expect, it } from "vitest";
import { features } from "../../packages/keyturn/src/registry.ts";
import { readObjects } from "../../tools/chart-rendering.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Runs make as somebody would in a checkout; `path` comes first among the places of programs. */
async function make(environment: Readonly<Record<string, string>>, path: string, ...words: readonly string[]) {
  // The tests themselves may be run by make: its own settings are not for this one.
  const { MAKEFLAGS: _flags, MAKELEVEL: _level, MFLAGS: _oldFlags, ...own } = process.env;
  const env = { ...own, ...environment, PATH: `${path}:${process.env["PATH"]}` };
  return new Promise<{ readonly code: number; readonly out: string; readonly err: string }>((resolve) => {
    execFile("make", words, { cwd: root, env }, (error, out, err) => resolve({ code: error === null ? 0 : 1, out, err }));
  });
}

describe("against a cluster", () => {
  const cluster = useCluster({ controllerManager: true });
  const target = async (...words: readonly string[]) => {
    const { kubectl } = await findBinaries(["kubectl"]);
    return make({ KUBECONFIG: cluster().adminKubeconfig, HOME: cluster().folder }, dirname(kubectl), ...words);
  };
  const crds = async (): Promise<readonly string[]> =>
    (await cluster().kubectl("get", "crd", "--output=name")).split("\n").filter((name) => name !== "");
  const kinds = features.flatMap((feature) => feature.kinds);

  it("installs, deploys an image, undeploys and uninstalls; objects go only if that is said", async () => {
    expect(await target("uninstall")).toMatchObject({ code: 0 });
    expect(await target("install")).toMatchObject({ code: 0 });
    expect((await crds()).toSorted()).toEqual(
      kinds.map(({ plural, group }) => `customresourcedefinition.apiextensions.k8s.io/${plural}.${group}`).toSorted(),
    );

    const samples = readObjects(await cluster().kubectl("kustomize", join(root, "config/samples")));
    expect(samples.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`).toSorted()).toEqual(
      kinds.map((kind) => `${apiVersionOf(kind)} ${kind.kind}`).toSorted(),
    );
    const applied = await cluster().kubectl("apply", "--server-side", "--validate=strict", "-k", join(root, "config/samples"));
    expect(applied.trim().split("\n")).toHaveLength(kinds.length);

    expect(await target("deploy", "IMG=registry.example:5000/team/keyturn:v7")).toMatchObject({ code: 0 });
    const image = "--output=jsonpath={.spec.template.spec.containers[*].image}";
    const deployment = ["deployment", "keyturn", "--namespace=keyturn-system"];
    expect(await cluster().kubectl("get", ...deployment, image)).toBe("registry.example:5000/team/keyturn:v7");
    expect(await target("deploy")).toMatchObject({ code: 0 });
    expect(await cluster().kubectl("get", ...deployment, image)).toMatch(/^ghcr\.io\/keyturn\/keyturn:\d/);

    const refused = await target("uninstall");
    expect(refused.code).toBe(1);
    expect(refused.err).toContain("rotationtarget.rotator.k8s.telekom.com/rotationtarget-sample");
    expect(refused.err).toContain("make uninstall OBJECTS=delete");

    expect(await target("undeploy")).toMatchObject({ code: 0 });
    await expect(cluster().kubectl("get", ...deployment)).rejects.toThrow(/not found/i);
    expect(await cluster().kubectl("get", "clusterrole,clusterrolebinding", "--output=name")).not.toContain("/keyturn");
    expect(await cluster().kubectl("get", "keyturn", "--namespace=default", "--output=name")).toContain("rotationtarget-sample");

    expect(await target("uninstall", "OBJECTS=delete")).toMatchObject({ code: 0 });
    expect(await crds()).toEqual([]);
  });

  it("uninstalls nothing where it cannot be known what would go with it", async () => {
    const broken = await make(
      { KUBECONFIG: "/nonexistent", HOME: cluster().folder },
      dirname((await findBinaries(["kubectl"])).kubectl),
      "uninstall",
    );
    expect(broken.code).toBe(1);
    expect(broken.out).toBe("");
  });
});

it("builds the image on the digests that the bases have now, and pushes it, with any container engine", async () => {
  const folder = await temporaryFolder();
  const log = join(folder, "log");
  const script = `#!/bin/sh\necho "$*" >>"${log}"\nif [ "$1" = buildx ]; then echo "sha256:digest-of-$4"; fi\n`;
  await writeFile(join(folder, "engine"), script, { mode: 0o755 });
  const words = ["IMG=registry.example/keyturn:v7", `CONTAINER_TOOL=${join(folder, "engine")}`];
  expect(await make({}, folder, "docker-build", "docker-push", ...words)).toMatchObject({ code: 0 });
  const [builder, base, build, push, ...more] = (await readFile(log, "utf8")).trim().split("\n");
  expect([builder, base]).toEqual([
    expect.stringMatching(/^buildx imagetools inspect docker\.io\/library\/node:24/),
    expect.stringMatching(/^buildx imagetools inspect gcr\.io\/distroless\/nodejs24/),
  ]);
  expect(build).toMatch(
    /^build --build-arg BUILDER_DIGEST=sha256:digest-of-docker\.io\S* --build-arg BASE_DIGEST=sha256:digest-of-gcr\.io\S* --tag registry\.example\/keyturn:v7 \.$/,
  );
  expect([push, ...more]).toEqual(["push registry.example/keyturn:v7"]);
});

it("does not build where a base's digest cannot be had", async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, "engine"), '#!/bin/sh\nif [ "$1" = build ]; then exit 0; fi\nexit 3\n', { mode: 0o755 });
  expect((await make({}, folder, "docker-build", `CONTAINER_TOOL=${join(folder, "engine")}`)).code).toBe(1);
});
