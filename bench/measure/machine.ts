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

/** The control plane of all contestants; `version` is what the API server says of itself. */
export function describeControlPlane(version: string): string {
  const modules = readFileSync(join(import.meta.dirname, "..", "..", "cluster", "go.mod"), "utf8");
  const etcd = /go\.etcd\.io\/etcd\/server\/v3 (v\S+)/.exec(modules)?.[1] ?? "of an unknown version";
  return `Kubernetes ${version} and etcd ${etcd}, one of each on the same machine, at 127.0.0.1`;
}
