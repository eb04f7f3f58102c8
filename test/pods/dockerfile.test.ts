// The Dockerfile, built by a real builder (Debian's buildah) on bases that are made here: what comes out is what `make image` packs.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { hostFile, imageArchive, librariesOf } from "@keyturn/runtime/testing";
import { temporaryFolder } from "@keyturn/runtime/testing/vitest";
import { expect, it } from "vitest";
import * as z from "zod";
import { copiedFiles, lastStage, parseDockerfile, settingsOf } from "../../tools/image/dockerfile.ts";
import { nodeLayer, packImage } from "../../tools/image.ts";

const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
const run = promisify(execFile);

/** npm's own files, its cache, so that no package is fetched twice, and whom it trusts. */
async function npmPlaces(): Promise<readonly string[]> {
  const { stdout: program } = await run("sh", ["-c", 'readlink -f "$(command -v npm)"']);
  const { stdout: cache } = await run("npm", ["config", "get", "cache"], { cwd: root });
  return [`${dirname(dirname(program.trim()))}:/npm:ro`, `${cache.trim()}:/npm-cache`, "/etc/ssl/certs:/etc/ssl/certs:ro"];
}

/** A stand-in for the builder's image: Node, npm, and a shell. */
function builderImage(): Uint8Array {
  const shell = ["sh", "env"].map((name) => ({ name: `bin/${name}`, linkTo: "busybox" }));
  const npm = { name: "bin/npm", content: Buffer.from('#!/bin/sh\nexec node /npm/bin/npm-cli.js "$@"\n'), executable: true };
  // Packages with native code need more of the system than Node does.
  const native = globSync("node_modules/@rolldown/binding-linux-*/*.node", { cwd: root }).map((path) => join(root, path));
  const tools = [
    hostFile("/usr/bin/busybox", "bin/busybox"),
    ...shell,
    { name: "bin/node", linkTo: "/nodejs/bin/node" },
    npm,
    ...librariesOf(...native),
  ];
  const Env = [
    "PATH=/bin",
    "npm_config_cache=/npm-cache",
    "npm_config_prefer_offline=true",
    "NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt",
  ];
  return imageArchive({ names: ["localhost/builder:1"], layers: [nodeLayer(), tools], settings: { Env } });
}

/** In a mount namespace of its own: what buildah mounts goes with it, however it ends. */
const script = `
set -eu
cd "$1"; root=$2; shift 2
b() { buildah --root "$PWD/storage" --runroot "$PWD/run" --storage-driver overlay "$@"; }
digest() { b images --digests --format '{{.Name}} {{.Digest}}' | while read -r name digest; do if [ "$name" = "localhost/$1" ]; then echo "$digest"; fi; done; }
for image in builder base; do b pull --quiet "oci-archive:$PWD/$image.tar"; done
b build --isolation chroot --pull-never --network host "$@" --tag localhost/keyturn:1 \\
  --build-arg BUILDER=localhost/builder --build-arg "BUILDER_DIGEST=$(digest builder)" --build-arg BASE=localhost/base --build-arg "BASE_DIGEST=$(digest base)" \\
  --build-arg VERSION=1.2.3 --build-arg REVISION=abc "$root"
digest base >base.digest
b inspect --type image localhost/keyturn:1 >inspect.json
container=$(b from --pull-never localhost/keyturn:1)
mounted=$(b mount "$container")
cp -r "$mounted/app" "$mounted/licenses" .
b run --isolation chroot "$container" -- /nodejs/bin/node --max-semi-space-size=4 --disable-sigusr1 /app/keyturn.mjs --help >help.txt
`;

const inspectSchema = z.object({ OCIv1: z.object({ config: z.looseObject({ Labels: z.record(z.string(), z.string()) }) }) });

it("is packed by make image into the same bytes twice: a layer for Node, and one for the program", async () => {
  const folder = await temporaryFolder();
  const [one, two] = [join(folder, "one.tar"), join(folder, "two.tar")];
  await packImage(one);
  await packImage(two);
  expect(
    createHash("sha256")
      .update(await readFile(two))
      .digest("hex"),
  ).toBe(
    createHash("sha256")
      .update(await readFile(one))
      .digest("hex"),
  );
  const list = async (script: string): Promise<readonly string[]> => (await run("sh", ["-c", script, "sh", one])).stdout.trim().split("\n");
  const layers = await list(`tar -xOf "$1" manifest.json | tr '",' '\\n\\n' | grep ^blobs | tail -n +2`);
  expect(layers).toHaveLength(2);
  const files = await list(`tar -xOf "$1" ${layers[1]} | tar -tv | grep -v ^d | sed 's/.* //'`);
  const stage = lastStage(parseDockerfile(readFileSync(join(root, "Dockerfile"), "utf8")));
  expect(files).toEqual(copiedFiles(stage).map(({ name }) => name));
  expect(await list(`tar -xOf "$1" ${layers[0]} | tar -t`)).toContain("nodejs/bin/node");
});

it("gives an image with the files and settings that make image packs, and its program runs", async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, "builder.tar"), builderImage());
  await writeFile(join(folder, "base.tar"), imageArchive({ names: ["localhost/base:1"], layers: [nodeLayer()], settings: {} }));
  const volumes = (await npmPlaces()).map((place) => `--volume=${place}`);
  await run("unshare", ["--mount", "--propagation", "private", "sh", "-c", script, "sh", folder, root, ...volumes], { maxBuffer: 2 ** 26 });

  const stage = lastStage(parseDockerfile(readFileSync(join(root, "Dockerfile"), "utf8")));
  const values = {
    VERSION: "1.2.3",
    REVISION: "abc",
    BASE: "localhost/base",
    BASE_DIGEST: (await readFile(join(folder, "base.digest"), "utf8")).trim(),
  };
  const { config } = inspectSchema.parse(JSON.parse(await readFile(join(folder, "inspect.json"), "utf8"))).OCIv1;
  const { Labels, ...settings } = settingsOf(stage, values);
  expect(config).toMatchObject({ ...settings, Env: expect.arrayContaining([...(settings.Env ?? [])]) });
  expect(config.Labels).toMatchObject(Labels ?? {});

  const digest = (path: string): string => createHash("sha256").update(readFileSync(path)).digest("hex");
  for (const name of ["app/keyturn.mjs", "app/keyturn.cdx.json", "licenses/THIRD-PARTY-LICENSES.txt"]) {
    expect(digest(join(folder, name))).toBe(digest(join(root, "dist", name.split("/")[1] ?? "")));
  }
  expect(await readFile(join(folder, "help.txt"), "utf8")).toContain("Usage: keyturn COMMAND");
});
