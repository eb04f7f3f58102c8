// Runs the commands of a guide as its readers do, so that the guide stays true.
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { type ClusterAccess, findBinaries } from "@keyturn/runtime/testing";

/** The shell commands that a guide shows after the comment `<!-- tested: name -->`. */
export async function shellBlock(guide: string, name: string): Promise<string> {
  const text = await readFile(new URL(`../../docs/${guide}`, import.meta.url), "utf8");
  const [, commands] = text.match(new RegExp(`<!-- tested: ${name} -->\n\`\`\`sh\n([^]*?)\`\`\``)) ?? [];
  if (commands === undefined) throw new Error(`docs/${guide} has no shell block "${name}"; the test and the guide must agree`);
  return commands;
}

/** Runs commands with the cluster's kubectl as its administrator; resolves to what they printed, and rejects if one of them fails. */
export async function runShell(cluster: ClusterAccess, commands: string): Promise<string> {
  const { kubectl } = await findBinaries(["kubectl"]);
  // A reader's machine has nothing else to do.
  const patient = commands.replaceAll(/--timeout=[1-4]m\b/g, "--timeout=5m");
  const env = { ...process.env, HOME: cluster.folder, KUBECONFIG: cluster.adminKubeconfig, PATH: `${dirname(kubectl)}:${process.env["PATH"]}` };
  const { stdout } = await promisify(execFile)("bash", ["-euo", "pipefail", "-c", patient], { env });
  return stdout;
}
