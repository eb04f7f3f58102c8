// promtool, built from its Go module: what Prometheus itself says about rules and metrics.
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { findBinaries } from "@keyturn/runtime/testing";
import { temporaryFolder } from "@keyturn/runtime/testing/vitest";

/** Runs promtool in a folder with these files, and gives it `input` to read. Returns what it says; throws that if it finds anything wrong. */
export async function promtool(command: readonly string[], files: Readonly<Record<string, string>>, input = ""): Promise<string> {
  const { promtool: program } = await findBinaries(["promtool"]);
  const folder = await temporaryFolder();
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  const running = promisify(execFile)(program, [...command], { cwd: folder });
  // One that ends before it has read everything says by itself why.
  running.child.stdin?.on("error", () => {}).end(input);
  const { stdout, stderr } = await running.catch((error: unknown) => {
    throw new Error(`promtool ${command.join(" ")}: ${String(Reflect.get(Object(error), "stdout"))}${String(Reflect.get(Object(error), "stderr"))}`);
  });
  return stdout + stderr;
}
