// The public surface of `@keyturn/runtime/testing/vitest`: what needs vitest's hooks.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { systemClock } from "../../clock.ts";

export { tailOfServerLogs, useCluster, useSharedApiServer, useSharedCluster } from "./clusters.ts";

/** Makes a folder that is removed with everything in it when the running test ends. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "keyturn-test-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

// Waiting for what an operator does by itself.

/** Retries an assertion until it holds. */
export type Soon = <T>(check: () => Promise<T> | T, timeoutMs?: number) => Promise<T>;

/** Retries for that long, unless a call says otherwise. The longer it has taken, the rarer: looking costs what others could compute with. */
export function soonWithin(defaultMs: number): Soon {
  return async (check, timeoutMs = defaultMs) => {
    const startedMs = systemClock.monotonic();
    for (;;) {
      const elapsedMs = systemClock.monotonic() - startedMs;
      try {
        return await check();
      } catch (error) {
        if (elapsedMs > timeoutMs) throw error;
      }
      await delay(Math.min(Math.max(elapsedMs / 8, 10), 200));
    }
  };
}

/** For things that happen at once. Only what never happens takes this long: the machine may be busy with something else. */
export const soon: Soon = soonWithin(300_000);
