// The images that pods of these tests run: the product, and nginx.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { imageArchive } from "@keyturn/runtime/testing";
import { idleImage, nginxImage } from "../../packages/keyturn/src/dev/images.ts";
import { imageName, packImage } from "../../tools/image.ts";

/** The product's image, which has a Node too: for clients. */
export const keyturnImage = imageName;

/** The names of the image with nginx. */
export const nginxImages = ["keyturn.local/nginx:1", "keyturn.local/nginx:2"] as const;

/** The images of the imitated sidecars, by Istio's release, and of a workload that does nothing. */
export const sidecarTags = ["1.27.0", "1.27.1"] as const;
export const workloadImage = "keyturn.local/workload:1";

/** Packs all images into `folder` and resolves to the paths of the archives. */
export async function packImages(folder: string): Promise<readonly string[]> {
  const [keyturn = "", nginx = "", idle = ""] = ["keyturn", "nginx", "idle"].map((name) => join(folder, `${name}.tar`));
  await packImage(keyturn);
  await writeFile(nginx, imageArchive(nginxImage(nginxImages)));
  const idleNames = [workloadImage, ...sidecarTags.map((tag) => `docker.io/istio/proxyv2:${tag}`)];
  await writeFile(idle, imageArchive(idleImage(idleNames)));
  return [keyturn, nginx, idle];
}
