// kube-scheduler for a local cluster: gives pods their nodes.
import type { ServerOptions } from "../server-process.ts";
import type { ClusterFiles } from "../cluster-files.ts";
import { isServing } from "./readiness.ts";

/** How to run kube-scheduler. */
export function scheduler(binary: string, files: ClusterFiles, port: number): ServerOptions {
  return {
    name: "kube-scheduler",
    command: binary,
    args: [
      `--kubeconfig=${files.adminKubeconfig}`,
      `--authentication-kubeconfig=${files.adminKubeconfig}`,
      `--authorization-kubeconfig=${files.adminKubeconfig}`,
      "--bind-address=127.0.0.1",
      `--secure-port=${port}`,
      `--tls-cert-file=${files.serverCertificate}`,
      `--tls-private-key-file=${files.serverKey}`,
      "--leader-elect=false",
      "--kube-api-qps=1000",
      "--kube-api-burst=2000",
    ],
    logFile: files.log("kube-scheduler"),
    isReady: () => isServing(port, "/readyz", files),
  };
}
