// A whole operator as a process of a simulation: caches, election, queue, Events and metrics, wired as in production but for the probes.
import { createCaches } from "../../cache/caches.ts";
import { dryRunClient } from "../../client/dry-run-client.ts";
import { createClient } from "../../client/kube-client.ts";
import type { Transport } from "../../client/transport.ts";
import { outcomeCondition } from "../../controller/outcome-condition.ts";
import type { ControllerDefinition } from "../../controller/controller.ts";
import { createManager, type Manager } from "../../manager/manager.ts";
import type { Logger } from "../../observe/logger.ts";
import { createMetrics } from "../../observe/metrics.ts";
import { type EventRecorder, SeriesEventRecorder } from "../../observe/events.ts";
import type { Operator } from "../../controller/owned-objects.ts";
import { objectOr, stringOr } from "../../json.ts";
import type { SimulatedProcess } from "./process.ts";
import type { ObservedWrite, World } from "./simulation.ts";

const silentLog: Logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => silentLog };

/** How a process of the model operator is set up. */
export interface ModelOperatorOptions {
  readonly controllers: readonly ControllerDefinition[];
  /** Whose controllers they are. */
  readonly operator: Operator;
  /** Called at each start. */
  readonly onStart?: (manager: Manager) => void;
  readonly log?: Logger;
  /** Nothing is changed; see `OperatorOptions`. Default false. */
  readonly dryRun?: boolean;
  /** Without election every process acts. Default true. */
  readonly elects?: boolean;
  /** The installation's own key. Default: it cannot be had. */
  readonly installationKey?: Uint8Array;
  /** Stands between the process and the wire. */
  readonly wrap?: (transport: Transport) => Transport;
}

/** A process that runs the controllers with leader election. */
export function modelOperator(name: string, options: ModelOperatorOptions): SimulatedProcess {
  const { controllers, operator, onStart, log = silentLog, elects = true, dryRun = false, wrap = (transport) => transport } = options;
  const { installationKey } = options;
  return {
    name,
    async start({ transport: wire, clock, random, signal, incarnation }) {
      const transport = wrap(wire);
      const direct = createClient(transport, { clock, random });
      const client = dryRun ? dryRunClient(direct, (write) => log.info(write, "dry run: this write is withheld")) : direct;
      const caches = createCaches({ transport, clock, random, log });
      const metrics = createMetrics();
      const identity = `${name}/${incarnation}`;
      const recorder = new SeriesEventRecorder({
        client,
        clock,
        random,
        log,
        metrics,
        reportingDomain: operator.domain,
        reportingInstance: identity,
      });
      const events = (controller: string): EventRecorder => (dryRun ? { record() {} } : recorder.forController(controller));
      const manager = createManager({
        operator,
        client,
        caches,
        clock,
        random,
        log,
        metrics,
        events,
        controllers,
        dryRun,
        installationKey: () => Promise.resolve(installationKey),
        report: outcomeCondition({ operator, events, client, clock, namespaces: [] }),
        leaderElection: { enabled: elects && !dryRun, namespace: "kube-system", identity },
      });
      onStart?.(manager);
      await manager.run(signal);
      const lastEvents = new AbortController();
      const timer = clock.setTimer(2_000, () => lastEvents.abort());
      await recorder.close(lastEvents.signal);
      timer.cancel();
    },
  };
}

// The promise of an election, as an invariant of a simulation: who writes held the Lease when the write was sent.

/** How long after a restore nobody can promise anything: a holder may act for a renew deadline on a Lease that is no longer there, and finish what runs. */
const restoredMs = 30_000;

interface Tenure {
  readonly fromMs: number;
  readonly holder: string;
}

/** Watches one Lease, and says which write of a process to `resources` was sent without it. */
export function oneWriter(lease: string, resources: readonly string[]): (write: ObservedWrite, world: World) => string | undefined {
  const tenures: Tenure[] = [{ fromMs: 0, holder: "" }];
  return ({ change: { resource, key, after }, client, sentAtMs }, { clock, lastRestoreMs }) => {
    if (resource === "leases.coordination.k8s.io" && key === lease) {
      tenures.push({ fromMs: clock.monotonic(), holder: stringOr(objectOr(after?.["spec"])["holderIdentity"], "") });
      return undefined;
    }
    if (client === "user" || client === "server" || !resources.includes(resource)) return undefined;
    if (sentAtMs - lastRestoreMs < restoredMs) return undefined;
    const { holder, fromMs } = tenures.findLast((tenure) => tenure.fromMs <= sentAtMs) ?? { holder: "", fromMs: 0 };
    if (holder.startsWith(`${client}/`)) return undefined;
    return `${client} sent a write of ${resource} ${key} at ${sentAtMs} ms, but the lease was held by "${holder}" since ${fromMs} ms`;
  };
}
