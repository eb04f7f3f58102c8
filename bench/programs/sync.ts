// One cache of the seeded Secrets, from nothing to synced: of `digest`, of `metadata` alone, or of `whole` objects, as the argument says.
import { hash } from "node:crypto";
import { type Cache, type Caches, createCaches, createHttpTransport, createLogger, Secret, systemClock, systemRandom } from "@keyturn/runtime";
import { benchConnection, endWithInput, probeLoopIfAsked, report } from "./contestant.ts";

const seeded = { labels: "bench=sync" } as const;
const certificateDigest = (secret: Secret): string => hash("sha256", Buffer.from(secret.data?.["tls.crt"] ?? "", "base64"), "hex");

const modes: Readonly<Record<string, (caches: Caches) => Cache<unknown>>> = {
  /** The SHA-256 of each Secret's certificate, and nothing else of it. */
  digest: (caches) => caches.watch(Secret, { ...seeded, keep: certificateDigest }),
  /** The rest is not even transferred. */
  metadata: (caches) => caches.watch(Secret, { ...seeded, only: "metadata" }),
  /** Less managedFields: the runtime's default, and what the peers keep. */
  whole: (caches) => caches.watch(Secret, { ...seeded, whole: true }),
};
const watch = modes[process.argv[2] ?? ""];
if (!watch) throw new Error(`usage: sync ${Object.keys(modes).join("|")}`);

endWithInput();
const connection = await benchConnection();
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
