// Shows what the servers of a cluster logged when a test that used them fails.
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";

const widestLine = 300;

/** The end of every server's log in the cluster's folder, with a heading each. */
export async function tailOfServerLogs(folder: string, lastLines = 30): Promise<string> {
  const logs = join(folder, "logs");
  const names = (await readdir(logs)).sort();
  const tails = names.map(async (name) => {
    const lines = (await readFile(join(logs, name), "utf8")).trimEnd().split("\n");
    return [
      `--- ${name}, last ${Math.min(lastLines, lines.length)} of ${lines.length} lines`,
      ...lines.slice(-lastLines).map((line) => line.slice(0, widestLine)),
    ].join("\n");
  });
  return `${(await Promise.all(tails)).join("\n")}\n`;
}
