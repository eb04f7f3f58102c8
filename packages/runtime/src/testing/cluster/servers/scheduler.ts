// kube-scheduler for a local cluster: gives pods their nodes.
import type { ServerOptions } from "../server-process.ts";
import type { ClusterFiles } from "../cluster-files.ts";
import { componentArgs } from "./component-args.ts";
import { isServing } from "./readiness.ts";

/** How to run kube-scheduler. */
export function scheduler(binary: string, files: ClusterFiles, port: number): ServerOptions {
  return {
    name: "kube-scheduler",
    command: binary,
    args: componentArgs(files, port),
    logFile: files.log("kube-scheduler"),
    isReady: () => isServing(port, "/readyz", files),
  };
}
