// etcd for a local cluster: one member, on a socket in the cluster's folder, so that it needs no port and nobody else can reach it.
import { request } from "node:http";
import type { ServerOptions } from "../server-process.ts";
import type { ClusterFiles } from "../cluster-files.ts";

/** How to run etcd. */
export function etcdServer(binary: string, files: ClusterFiles): ServerOptions {
  // A single member never dials its peer address, but etcd insists on one.
  const peer = "http://127.0.0.1:2380";
  return {
    name: "etcd",
    command: binary,
    args: [
      "--name=keyturn",
      `--data-dir=${files.etcdData}`,
      `--listen-client-urls=unix://${files.etcdSocket}`,
      "--advertise-client-urls=http://127.0.0.1:2379",
      `--listen-peer-urls=unix://${files.etcdSocket}.peer`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=keyturn=${peer}`,
      // The data need not outlive the machine, and it outlives the process all the same: what was written stays in the page cache.
      "--unsafe-no-fsync",
      "--quota-backend-bytes=4294967296",
      "--log-level=warn",
    ],
    logFile: files.log("etcd"),
    isReady: () => isHealthy(files.etcdSocket),
  };
}

function isHealthy(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = request({ socketPath, path: "/health", timeout: 2000 }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    probe.once("timeout", () => probe.destroy());
    probe.once("error", () => resolve(false));
    probe.end();
  });
}
