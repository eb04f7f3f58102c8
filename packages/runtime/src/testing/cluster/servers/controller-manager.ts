// kube-controller-manager for a local cluster: Deployments, Jobs, namespaces, garbage collection, ServiceAccounts.
import type { ServerOptions } from "../server-process.ts";
import type { ClusterFiles } from "../cluster-files.ts";
import { componentArgs } from "./component-args.ts";
import { isServing } from "./readiness.ts";

/** How to run kube-controller-manager. */
export function controllerManager(binary: string, files: ClusterFiles, port: number): ServerOptions {
  return {
    name: "kube-controller-manager",
    command: binary,
    args: [
      ...componentArgs(files, port),
      `--service-account-private-key-file=${files.serviceAccountKey}`,
      `--root-ca-file=${files.authority}`,
      `--cluster-signing-cert-file=${files.authority}`,
      `--cluster-signing-key-file=${files.authorityKey}`,
    ],
    logFile: files.log("kube-controller-manager"),
    isReady: () => isServing(port, "/healthz", files),
  };
}
