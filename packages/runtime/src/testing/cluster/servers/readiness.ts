// Asks a Kubernetes server whether it is ready.
import { readFileSync } from "node:fs";
import { request } from "node:https";
import type { ClusterFiles } from "../cluster-files.ts";

/** True if the server on `port` of this machine answers 200 on `path`, with the cluster's certificate. */
export function isServing(port: number, path: "/readyz" | "/healthz", files: ClusterFiles): Promise<boolean> {
  const ca = readFileSync(files.authority, "utf8");
  return new Promise((resolve) => {
    const probe = request({ host: "127.0.0.1", port, path, ca, agent: false, timeout: 2000 }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    probe.once("timeout", () => probe.destroy());
    probe.once("error", () => resolve(false));
    probe.end();
  });
}
