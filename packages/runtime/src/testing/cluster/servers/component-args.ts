// What the servers beside kube-apiserver are told alike: how to reach it, and where to answer themselves.
import type { ClusterFiles } from "../cluster-files.ts";

/** Flags of kube-controller-manager and kube-scheduler. There is one of each, and tests are not to wait for their rate limits. */
export function componentArgs(files: ClusterFiles, port: number): readonly string[] {
  return [
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
  ];
}
