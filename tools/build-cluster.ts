// Builds programs from Go modules if they are not in the cache, so that no test has to wait for a compiler: those named, else the local control plane and, where this machine can have one, a real node.
import { clusterToolNames, findBinaries, nodeToolNames, realNodeObstacle, toolNames } from "@keyturn/runtime/testing";

const named = toolNames.filter((tool) => process.argv.slice(2).includes(tool));

const all = [...clusterToolNames, ...(realNodeObstacle() === undefined ? nodeToolNames : [])];

try {
  await findBinaries(named.length > 0 ? named : all);
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
