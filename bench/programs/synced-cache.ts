// Opens one cache of the seeded Secrets, as every sync program does, and says when it is synced.
import { type Cache, type Caches, createCaches, createHttpTransport, createLogger, loadConfig, systemClock, systemRandom } from "@keyturn/runtime";
import { endWithInput, report } from "./contestant-line.ts";
import { probeLoopIfAsked } from "./loop-probe.ts";

/** What the sync programs watch. */
export const seeded = { labels: "bench=sync" } as const;

/** Syncs what `watch` declares and reports it. */
export async function reportSync(watch: (caches: Caches) => Cache<unknown>): Promise<void> {
  endWithInput();
  const kubeconfig = process.env["BENCH_KUBECONFIG"] ?? "";
  const connection = await loadConfig({ kubeconfig, env: {} });
  const endProbe = probeLoopIfAsked();
  const startedMs = performance.now();
  const caches = createCaches({
    transport: createHttpTransport(connection),
    clock: systemClock,
    random: systemRandom,
    log: createLogger({ destination: process.stderr }),
  });
  const cache = watch(caches);
  caches.start(new AbortController().signal);
  await cache.whenSynced();
  const ms = performance.now() - startedMs;
  report({ type: "synced", objects: cache.size, ms, hold: endProbe?.() });
}
