// Builds the local control plane if it is not in the cache, so that no test has to wait for a compiler.
import { findBinaries, toolNames } from "@keyturn/runtime/testing";

try {
  await findBinaries(toolNames);
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
