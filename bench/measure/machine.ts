// The machine and the versions a result belongs to.
import { execFile } from "node:child_process";
import { cpus, release, totalmem, type } from "node:os";
import { promisify } from "node:util";

/** One line each, for the head of the results. */
export async function describeMachine(): Promise<readonly string[]> {
  const processors = cpus();
  const { stdout: go } = await promisify(execFile)("go", ["env", "GOVERSION"]);
  return [
    `${processors.length} × ${processors[0]?.model.trim() ?? "unknown processor"}, ${Math.round(totalmem() / 2 ** 30)} GB of memory, ${type()} ${release()}`,
    `Node ${process.version}, Go ${go.trim().replace(/^go/, "")}`,
  ];
}
