// One replica of a small operator, as a process of its own: it writes down every moment at which it acts.
import { appendFileSync, renameSync, writeFileSync } from "node:fs";
import { ConfigMap, type ControllerDefinition, loadConfig, metricsOf, runOperator, sleep, systemClock } from "@keyturn/runtime";
import type { Act } from "./activity.ts";
import { replicaSettingsSchema } from "./replica-settings.ts";

const { name, namespace, keys, concurrency, pauseMs, leaseTimes, kubeconfig, activityFile, metricsFile } = replicaSettingsSchema.parse(
  JSON.parse(process.env["REPLICA_SETTINGS"] ?? "{}"),
);

const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;
const note = (act: Omit<Act, "replica">): void => appendFileSync(activityFile, `${JSON.stringify({ replica: name, ...act })}\n`);

/** Acts on each key again and again: at the start of a run, and with a write some time later. Shows the keys that it acts on. */
const pulse: ControllerDefinition = {
  name: "pulse",
  access: [],
  concurrency,
  setup(scope) {
    for (const key of keys) scope.enqueue(key);
    const { pulse_key: gauge } = metricsOf(scope.metrics, { pulse_key: { type: "gauge", help: "1 for a key that is acted on.", labels: ["key"] } });
    const show = scope.show<true>({ show: (key) => gauge.set({ key }, 1), hide: (key) => gauge.remove({ key }) });
    return async ({ key, client, signal }) => {
      const beganMs = nowMs();
      show(key, true);
      note({ key, type: "run", atMs: beganMs });
      await sleep(systemClock, 25, signal);
      const sentMs = nowMs();
      const trace = { metadata: { namespace, name: `pulse-${key}` }, data: { replica: name, sentMs: String(sentMs) } };
      await client.apply(ConfigMap, trace, { fieldManager: "pulse", force: true }, signal);
      note({ key, type: "write", atMs: sentMs });
      return { requeueAfterMs: pauseMs };
    };
  },
};

const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());
await runOperator(
  {
    operator: { name: "replica", domain: "replica.test" },
    connection: await loadConfig({ kubeconfig, env: {} }),
    controllers: [pulse],
    leaderElection: { namespace, durations: leaseTimes },
    metricsBindAddress: "127.0.0.1:0",
    healthBindAddress: "0",
    onStarted: ({ metricsUrl = "" }) => {
      // In one step, so that nobody reads half of it.
      writeFileSync(`${metricsFile}.new`, metricsUrl);
      renameSync(`${metricsFile}.new`, metricsFile);
    },
  },
  stop.signal,
);
