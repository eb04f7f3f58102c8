// The public surface of `@keyturn/runtime/testing/vitest`: what needs vitest's hooks.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished, vi } from "vitest";

export { tailOfServerLogs, useCluster, useSharedApiServer, useSharedCluster } from "./clusters.ts";

/** Retries an assertion until it holds. */
export type Soon = <T>(check: () => Promise<T> | T, timeoutMs?: number) => Promise<T>;

/** Retries for that long, unless a call says otherwise. */
export function soonWithin(defaultMs: number): Soon {
  return (check, timeoutMs = defaultMs) => vi.waitFor(check, { timeout: timeoutMs, interval: 50 });
}

/** For things that happen at once. Only what never happens takes this long: the machine may be busy with something else. */
export const soon: Soon = soonWithin(120_000);

/** Makes a folder that is removed with everything in it when the running test ends. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "keyturn-test-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
