// kube-apiserver for a local cluster: TLS and RBAC as in production, without what only delays its start or slows a benchmark.
import type { ServerOptions } from "../server-process.ts";
import type { ClusterFiles } from "../cluster-files.ts";
import { isServing } from "./readiness.ts";

/** Who may speak for others with `X-Remote-User`: the fault proxy, for clients that log in with a certificate. */
export const frontProxyUser = "keyturn-fault-proxy";

/** What varies between clusters. */
export interface ApiServerOptions {
  readonly port: number;
  /** Without kube-controller-manager nobody makes the `default` ServiceAccount that pods need, so pods must do without. */
  readonly hasControllerManager: boolean;
  /** More flags, after ours. */
  readonly extraArgs: readonly string[];
}

/** How to run kube-apiserver. */
export function apiServer(binary: string, files: ClusterFiles, { port, hasControllerManager, extraArgs }: ApiServerOptions): ServerOptions {
  return {
    name: "kube-apiserver",
    command: binary,
    args: [
      `--etcd-servers=unix://${files.etcdSocket}`,
      "--bind-address=127.0.0.1",
      "--advertise-address=127.0.0.1",
      `--secure-port=${port}`,
      `--tls-cert-file=${files.serverCertificate}`,
      `--tls-private-key-file=${files.serverKey}`,
      `--client-ca-file=${files.authority}`,
      `--requestheader-client-ca-file=${files.authority}`,
      `--requestheader-allowed-names=${frontProxyUser}`,
      "--requestheader-username-headers=X-Remote-User",
      "--requestheader-group-headers=X-Remote-Group",
      "--authorization-mode=Node,RBAC",
      "--service-account-issuer=https://kubernetes.default.svc",
      `--service-account-key-file=${files.serviceAccountKey}`,
      `--service-account-signing-key-file=${files.serviceAccountKey}`,
      "--service-cluster-ip-range=10.0.0.0/16",
      "--allow-privileged=true",
      "--endpoint-reconciler-type=none",
      // Neither a queue nor a limit: a benchmark measures the client, and tests get their 429s from the fault proxy.
      "--enable-priority-and-fairness=false",
      "--max-requests-inflight=0",
      "--max-mutating-requests-inflight=0",
      ...(hasControllerManager ? [] : ["--disable-admission-plugins=ServiceAccount"]),
      ...extraArgs,
    ],
    logFile: files.log("kube-apiserver"),
    isReady: () => isServing(port, "/readyz", files),
  };
}
