// The public surface of `@keyturn/runtime/testing/vitest`: what needs vitest's hooks.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

export { soon, type Soon, soonWithin } from "./soon.ts";
export { tailOfServerLogs, useCluster, useSharedApiServer, useSharedCluster } from "./clusters.ts";

/** Makes a folder that is removed with everything in it when the running test ends. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "keyturn-test-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
