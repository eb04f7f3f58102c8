// Events as a real API server takes them: series, cluster-scoped objects, limits.
import { expect, test } from "vitest";
import { soon, useSharedApiServer } from "@keyturn/runtime/testing/vitest";
import { ConfigMap, Event, Namespace } from "../../src/client/builtin-kinds.ts";
import { systemClock } from "../../src/clock.ts";
import { createMetrics } from "../../src/observe/metrics.ts";
import { createLogger } from "../../src/observe/logger.ts";
import { SeriesEventRecorder } from "../../src/observe/events.ts";
import { systemRandom } from "../../src/random.ts";

const cluster = useSharedApiServer();
const lines: string[] = [];
const metrics = createMetrics();

function recorder(): SeriesEventRecorder {
  const log = createLogger({ destination: { write: (line) => lines.push(line) } });
  const { client } = cluster();
  return new SeriesEventRecorder({
    client,
    clock: systemClock,
    random: systemRandom,
    log,
    metrics,
    reportingDomain: "keyturn.io",
    reportingInstance: "x".repeat(300),
  });
}

async function notes(reason: string): Promise<readonly Event[]> {
  const { items } = await cluster().client.list(Event, { namespace: "default" });
  return items.filter((event) => event.reason === reason);
}

test("a series is one Event with a count", async () => {
  const all = recorder();
  const events = all.forController("jwks");
  const event = {
    kind: ConfigMap,
    object: { namespace: "default", name: "kube-root-ca.crt" },
    type: "Warning",
    reason: "Repeated",
    message: "again",
  } as const;
  events.record(event);
  await soon(async () => expect(await notes("Repeated")).toHaveLength(1));
  for (let i = 0; i < 6; i++) events.record(event);
  await all.close(AbortSignal.timeout(300_000));
  expect(await notes("Repeated")).toMatchObject([{ series: { count: 7 }, reportingController: "keyturn.io/jwks", type: "Warning", note: "again" }]);
  expect(await cluster().kubectl("get", "events", "-n", "default", "--field-selector", "reason=Repeated")).toContain("again");
  expect(lines).toEqual([]);
});

test("Events about cluster-scoped objects with odd names and long texts are taken", async () => {
  const all = recorder();
  const events = all.forController("sidecars");
  events.record({ kind: Namespace, object: { name: "default" }, type: "Normal", reason: "ClusterScoped", message: "hello" });
  events.record({
    kind: Namespace,
    object: { name: `system:Odd_${"n".repeat(240)}` },
    type: "Normal",
    reason: "Odd",
    action: "a".repeat(200),
    message: "é".repeat(3000),
  });
  await all.close(AbortSignal.timeout(300_000));
  expect(await notes("ClusterScoped")).toHaveLength(1);
  expect(await notes("Odd")).toHaveLength(1);
  expect(await cluster().kubectl("describe", "namespace", "default")).toBeDefined();
  expect(lines).toEqual([]);
});

test("an Event in a namespace that is not there is dropped and counted", async () => {
  const all = recorder();
  all.forController("jwks").record({ kind: ConfigMap, object: { namespace: "nowhere", name: "a" }, type: "Normal", reason: "Lost", message: "lost" });
  await all.close(AbortSignal.timeout(300_000));
  expect(await metrics.text()).toContain('runtime_events_dropped_total{cause="refused"} 1');
});
