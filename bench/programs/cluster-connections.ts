// Opens connections to many clusters in two goes, and reports the memory of JavaScript after each.
import { readFileSync } from "node:fs";
import { endWithInput, report } from "./contestant-line.ts";

/** Connections that are opened at the same time. */
const atOnce = 32;

/** Opens the first `warmUp` clusters of the file, and the others when told to. */
export async function openClusters(open: (kubeconfig: string) => Promise<void>): Promise<void> {
  const [file = "", warmUp = "0"] = process.argv.slice(2);
  endWithInput();
  const { kubeconfigs } = JSON.parse(readFileSync(file, "utf8")) as { readonly kubeconfigs: readonly string[] };
  const openAll = async (some: readonly string[]): Promise<void> => {
    for (let start = 0; start < some.length; start += atOnce) await Promise.all(some.slice(start, start + atOnce).map(open));
  };
  await openAll(kubeconfigs.slice(0, Number(warmUp)));
  report({ type: "ready", heapBytes: await heapBytes() });
  process.stdin.once(
    "data",
    () => void openAll(kubeconfigs.slice(Number(warmUp))).then(async () => report({ type: "open", heapBytes: await heapBytes() })),
  );
}

/** What JavaScript's objects and buffers take, once all that is no longer used has been collected. */
async function heapBytes(): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, 1000));
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
