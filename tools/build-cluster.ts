// Builds programs from Go modules if they are not in the cache, so that no test has to wait for a compiler: those named, else the local control plane.
import { clusterToolNames, findBinaries, toolNames } from "@keyturn/runtime/testing";

const named = toolNames.filter((tool) => process.argv.slice(2).includes(tool));

try {
  await findBinaries(named.length > 0 ? named : clusterToolNames);
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
