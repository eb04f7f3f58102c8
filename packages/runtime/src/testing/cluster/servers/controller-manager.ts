// kube-controller-manager for a local cluster: Deployments, Jobs, namespaces, garbage collection, ServiceAccounts.
import type { ServerOptions } from "../server-process.ts";
import type { ClusterFiles } from "../cluster-files.ts";
import { isServing } from "./readiness.ts";

/** How to run kube-controller-manager. */
export function controllerManager(binary: string, files: ClusterFiles, port: number): ServerOptions {
  return {
    name: "kube-controller-manager",
    command: binary,
    args: [
      `--kubeconfig=${files.adminKubeconfig}`,
      `--authentication-kubeconfig=${files.adminKubeconfig}`,
      `--authorization-kubeconfig=${files.adminKubeconfig}`,
      "--bind-address=127.0.0.1",
      `--secure-port=${port}`,
      `--tls-cert-file=${files.serverCertificate}`,
      `--tls-private-key-file=${files.serverKey}`,
      `--service-account-private-key-file=${files.serviceAccountKey}`,
      `--root-ca-file=${files.authority}`,
      `--cluster-signing-cert-file=${files.authority}`,
      `--cluster-signing-key-file=${files.authorityKey}`,
      "--leader-elect=false",
      "--kube-api-qps=1000",
      "--kube-api-burst=2000",
    ],
    logFile: files.log("kube-controller-manager"),
    isReady: () => isServing(port, "/healthz", files),
  };
}
