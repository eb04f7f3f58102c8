// A cluster within a test, in virtual time and without faults: an operator and the simulated API server, asked through a client as a user asks.
import type { Client } from "../../client/client.ts";
import { createClient } from "../../client/kube-client.ts";
import type { Kind } from "../../client/kind.ts";
import type { Transport } from "../../client/transport.ts";
import type { ControllerDefinition } from "../../controller/controller.ts";
import type { Operator } from "../../controller/owned-objects.ts";
import type { Logger } from "../../observe/logger.ts";
import { seededRandom } from "../../random.ts";
import { VirtualClock } from "../virtual-clock.ts";
import { collectGarbage } from "./garbage-collector.ts";
import { modelOperator } from "./model-operator.ts";
import { SimulatedNetwork } from "./network.ts";
import { ProcessHost } from "./process.ts";
import { SimulatedApiServer } from "./simulated-api-server.ts";

/** What a virtual cluster is made of. */
export interface VirtualClusterOptions {
  readonly operator: Operator;
  readonly controllers: readonly ControllerDefinition[];
  /** What the API server serves besides ConfigMaps, Secrets, ServiceAccounts, Namespaces, Leases and Events; each with a status subresource. Default nothing. */
  readonly kinds?: readonly Kind[];
  /** Where the operator logs. Default nowhere. */
  readonly log?: Logger;
}

/** An operator at work in virtual time. */
export interface VirtualCluster extends AsyncDisposable {
  /** Reads and writes as a user would: at once, and without faults. */
  readonly client: Client;
  readonly clock: VirtualClock;
  readonly server: SimulatedApiServer;
  /** Lets so much time pass. Rejects with what the operator failed with. */
  advance(ms: number): Promise<void>;
  /** Lets time pass until nothing but Leases has been written for ten seconds. Rejects after ten minutes: something is written over and over. */
  settled(): Promise<void>;
  /** Ends the operator as SIGTERM would. */
  stop(): Promise<void>;
}

const quietMs = 10_000;
const settleMs = 600_000;
const stepMs = 1_000;

/** Starts the operator, with leader election, in a cluster of its own. Takes milliseconds, whatever time passes in it. */
export function startVirtualCluster({ operator, controllers, kinds = [], log }: VirtualClusterOptions): VirtualCluster {
  const clock = new VirtualClock();
  const server = new SimulatedApiServer({ clock, random: seededRandom(1) });
  for (const kind of kinds) server.serve(kind);
  const network = new SimulatedNetwork({ server, clock, random: seededRandom(2) });
  let failure: Error | undefined;
  const process = modelOperator(operator.name, { operator, controllers, ...(log && { log }) });
  const host = new ProcessHost({ process, network, clock, random: seededRandom(3), note: () => undefined, fail: (error) => (failure ??= error) });
  let writtenAtMs = 0;
  server.store.onChange(({ resource }) => {
    if (resource !== "leases.coordination.k8s.io") writtenAtMs = clock.monotonic();
  });
  const collect = (): void => {
    collectGarbage(server);
    clock.setTimer(stepMs, collect);
  };
  collect();
  host.start();
  const advance = async (ms: number): Promise<void> => {
    await clock.advance(ms);
    if (failure) throw failure;
  };
  const stop = async (): Promise<void> => {
    host.stop();
    while (host.isRunning) await advance(stepMs);
  };
  return {
    client: createClient(directTransport(server), { clock, random: seededRandom(4) }),
    clock,
    server,
    advance,
    async settled() {
      const startMs = clock.monotonic();
      do {
        if (clock.monotonic() - startMs > settleMs) throw new Error(`something is still written after ${settleMs / 60_000} minutes`);
        await advance(stepMs);
      } while (clock.monotonic() - Math.max(writtenAtMs, startMs) < quietMs);
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** Answers at once. Watches are the operator's business. */
function directTransport(server: SimulatedApiServer): Transport {
  return {
    async send(request) {
      const answer = server.handle({ ...request, headers: { "user-agent": "user", ...request.headers } });
      if (answer.type === "watch") throw new Error(`the client of a virtual cluster does not watch: ${request.path}`);
      const headers = { "content-type": answer.isText ? "text/plain; charset=utf-8" : "application/json" };
      return { status: answer.status, headers, body: ReadableStream.from([Buffer.from(answer.body)]) };
    },
    close: () => undefined,
  };
}
