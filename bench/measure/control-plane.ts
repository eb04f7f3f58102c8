// The machine and the control plane that a result belongs to: their versions, how many requests the API server has served, and its garbage.
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus, release, totalmem, type } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Bed } from "../scenario.ts";

/** One line each, for the head of the results. */
export async function describeMachine(): Promise<readonly string[]> {
  const processors = cpus();
  const run = promisify(execFile);
  const { stdout: go } = await run("go", ["env", "GOVERSION"]);
  const { stdout: rust } = await run("rustc", ["--version"]);
  return [
    `${processors.length} × ${processors[0]?.model.trim() ?? "unknown processor"}, ${Math.round(totalmem() / 2 ** 30)} GB of memory, ${type()} ${release()}`,
    `Node ${process.version}, Go ${go.trim().replace(/^go/, "")}, Rust ${rust.split(" ")[1] ?? "unknown"}`,
  ];
}

/** The control plane of all contestants, by the versions that it is built from. */
export function describeControlPlane(): string {
  const modules = readFileSync(join(import.meta.dirname, "..", "..", "cluster", "go.mod"), "utf8");
  const versionOf = (module: string): string => new RegExp(`\\s${module} (v\\S+)`).exec(modules)?.[1] ?? "of an unknown version";
  return `Kubernetes ${versionOf("k8s.io/kubernetes")} and etcd ${versionOf("go.etcd.io/etcd/server/v3")}, one of each on the same machine, at 127.0.0.1`;
}

/** How many requests for these resources the API server has served, by its own count (`apiserver_request_total`). A watch counts only when it ends, so watches are left out. */
export function requestsIn(metrics: string, resources: readonly string[]): number {
  let sum = 0;
  for (const [, labels = "", value = "0"] of metrics.matchAll(/^apiserver_request_total\{([^}]*)\} (\S+)$/gm)) {
    const resource = /resource="([^"]*)"/.exec(labels)?.[1] ?? "";
    if (resources.includes(resource) && !labels.includes('verb="WATCH"')) sum += Number(value);
  }
  return sum;
}

/** The API server's processor time in milliseconds since it began, by its own count. */
export function serverCpuIn(metrics: string): number {
  return Number(/^process_cpu_seconds_total (\S+)$/m.exec(metrics)?.[1]) * 1000;
}

/**
 * Lets the API server collect what is no longer used, before a run that is timed; resolves when it has. Who comes next would pay for it otherwise, or not, as chance will have it: one collection of its own takes hundreds of milliseconds of processor time once it has seen thousands of
 * objects, a tenth of a run of the common job and more.
 */
export async function collectServerGarbage({ cluster }: Pick<Bed, "cluster">): Promise<void> {
  // Go's profile of the heap begins with a collection if it is asked to; the profile itself is of no interest.
  await cluster.kubectl("get", "--raw", "/debug/pprof/heap?gc=1&debug=1");
}
