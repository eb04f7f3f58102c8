// The machine and the versions a result belongs to.
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus, release, totalmem, type } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

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
