// The images that pods of these tests run: the product, and nginx.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliDecompress } from "node:zlib";
import { imageArchive } from "@keyturn/runtime/testing";
import { idleImage, nginxImage } from "../../packages/keyturn/src/dev/images.ts";
import { imageName, nodeLayer, packImage } from "../../tools/image.ts";

/** The product's image, which has a Node too: for clients. */
export const keyturnImage = imageName;

/** The names of the image with nginx. */
export const nginxImages = ["keyturn.local/nginx:1", "keyturn.local/nginx:2"] as const;

/** The images of the imitated sidecars, by Istio's release, and of a workload that does nothing. */
export const sidecarTags = ["1.27.0", "1.27.1"] as const;
export const workloadImage = "keyturn.local/workload:1";

/** The release before this one, as its chart asks for it. */
export const previous = { version: "0.2.0", tag: "before", image: keyturnImage.replace(/:[^:]*$/, ":before") } as const;

/** A file of the release before this one. */
export function previousFile(name: string): string {
  return fileURLToPath(new URL(`../upgrade/${previous.version}/${name}`, import.meta.url));
}

/** The program of the release before this one, on the Node of this one. */
async function previousImage(): Promise<Uint8Array> {
  const program = await promisify(brotliDecompress)(await readFile(previousFile("keyturn.mjs.br")));
  const settings = { Entrypoint: ["/nodejs/bin/node", "/app/keyturn.mjs"], Env: ["NODE_ENV=production"], User: "65532:65532" };
  return imageArchive({
    names: [previous.image],
    layers: [nodeLayer(), [{ name: "app/keyturn.mjs", content: program, executable: true }]],
    settings,
  });
}

/** Packs all images into `folder` and resolves to the paths of the archives. */
export async function packImages(folder: string): Promise<readonly string[]> {
  const [keyturn = "", before = "", nginx = "", idle = ""] = ["keyturn", "before", "nginx", "idle"].map((name) => join(folder, `${name}.tar`));
  await packImage(keyturn);
  await writeFile(before, await previousImage());
  await writeFile(nginx, imageArchive(nginxImage(nginxImages)));
  const idleNames = [workloadImage, ...sidecarTags.map((tag) => `docker.io/istio/proxyv2:${tag}`)];
  await writeFile(idle, imageArchive(idleImage(idleNames)));
  return [keyturn, before, nginx, idle];
}
