// Packs an image of the product from what `make build` made: dist/keyturn.oci.tar, without a container engine and without a registry.
// A layer for Node, which is the checkout's own with the libraries of this machine, and one for the program. Files and settings are those of the Dockerfile.
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { commonFiles, hostFile, imageArchive, librariesOf } from "@keyturn/runtime/testing";
import { parse } from "yaml";
import * as z from "zod";
import { version } from "../packages/keyturn/src/cli/command-line.ts";
import { copiedFiles, lastStage, parseDockerfile, settingsOf } from "./image/dockerfile.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const valuesSchema = z.object({ image: z.object({ registry: z.string(), repository: z.string() }) });
const { image } = valuesSchema.parse(parse(readFileSync(join(root, "charts/keyturn/values.yaml"), "utf8")));

/** What the image is called: the name that the chart's pods ask for by default. */
export const imageName = `${image.registry}/${image.repository}:${version}`;

/** The image's files for Node: the program, where the distroless image has it, and what it needs. */
export function nodeLayer() {
  const node = join(root, "node_modules/node/bin/node");
  return [...commonFiles(), hostFile(node, "nodejs/bin/node"), ...librariesOf(node)];
}

/** Packs what is in dist/ into an archive at `path`. Nobody sees half of it. */
export async function packImage(path: string, name: string = imageName): Promise<void> {
  const stage = lastStage(parseDockerfile(await readFile(join(root, "Dockerfile"), "utf8")));
  const program = await Promise.all(
    copiedFiles(stage).map(async ({ source, name }) => ({
      name,
      content: await readFile(join(root, source.replace(/^\/source\//, ""))),
      executable: name.endsWith(".mjs"),
    })),
  );
  const archive = imageArchive({ names: [name], layers: [nodeLayer(), program], settings: settingsOf(stage, { VERSION: version }) });
  const draft = `${path}.${process.pid}`;
  await mkdir(dirname(path), { recursive: true });
  await writeFile(draft, archive);
  await rename(draft, path);
}

if (import.meta.main) {
  await packImage(join(root, "dist/keyturn.oci.tar"));
  console.log(`dist/keyturn.oci.tar: ${imageName}`);
}
