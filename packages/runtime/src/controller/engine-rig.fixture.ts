// For tests: the engine with one controller on a simulated API server, in virtual time. Every request is listed, and any can be answered otherwise.
import { createCaches } from "../cache/caches.ts";
import { dryRunClient } from "../client/dry-run-client.ts";
import { defineKind, type KubeObject, objectPath } from "../client/kind.ts";
import { createClient } from "../client/kube-client.ts";
import { ConnectionError, type Transport, type TransportRequest } from "../client/transport.ts";
import { sleep } from "../clock.ts";
import { isRecord } from "../json.ts";
import { silentLog } from "../manager/lease-simulation.fixture.ts";
import type { Schemas } from "../manager/schema-watch.ts";
import type { EventToRecord } from "../observe/events.ts";
import type { Logger } from "../observe/logger.ts";
import { createMetrics } from "../observe/metrics.ts";
import { seededRandom } from "../random.ts";
import { ProcessClock } from "../testing/simulation/process.ts";
import { SimulatedApiServer } from "../testing/simulation/simulated-api-server.ts";
import { SimulatedNetwork } from "../testing/simulation/network.ts";
import { VirtualClock } from "../testing/virtual-clock.ts";
import type { ControllerDefinition, ControllerScope, Reconcile, RunResult } from "./controller.ts";
import { outcomeCondition } from "./outcome-condition.ts";
import { ControllerRunner, silentObserver } from "./runner.ts";
import type { Condition } from "./status.ts";

export interface Widget extends KubeObject {
  readonly spec: { readonly text: string; readonly parts?: Readonly<Record<string, string>> };
  readonly status?: { readonly conditions?: readonly Condition[]; readonly count?: number };
}
export const Widget = defineKind<Widget>({ group: "test.dev", version: "v1", kind: "Widget", plural: "widgets", namespaced: true });

/** How a request is refused. */
export interface Refusal {
  readonly status: number;
  readonly reason: string;
  readonly retryAfterSeconds?: number;
}

const silenceMs = 30_000;

/** One controller, its world, and what came of it. */
export class EngineRig {
  readonly clock = new VirtualClock();
  readonly server = new SimulatedApiServer({ clock: this.clock, random: seededRandom(1) });
  readonly network = new SimulatedNetwork({ server: this.server, clock: this.clock, random: seededRandom(2) });
  readonly events: EventToRecord[] = [];
  readonly results: RunResult[] = [];
  readonly logs: string[] = [];
  /** Runs that were refused. */
  refused = 0;
  aheadMs = 0;
  /** How a request is refused instead of being served, or that nobody answers it. */
  refuse: (request: TransportRequest) => Refusal | "silence" | undefined = () => undefined;
  /** Called before a request is served. */
  before: (request: TransportRequest) => void = () => {};
  readonly #requests: string[] = [];
  #stop = new AbortController();

  constructor() {
    this.server.serve(Widget);
  }

  start(
    setup: (scope: ControllerScope) => Reconcile,
    { dryRun = false, schemas, ...definition }: Partial<ControllerDefinition> & { readonly dryRun?: boolean; readonly schemas?: Schemas } = {},
  ): void {
    const { clock } = this;
    const transport = this.#transport(this.network.connect({ name: "p", clock: new ProcessClock(clock) }));
    const direct = createClient(transport, { clock, random: seededRandom(3), readRetries: 0 });
    const log: Logger = { ...silentLog, info: (_: unknown, text: string) => void this.logs.push(text), child: () => log };
    const caches = createCaches({ transport, clock, random: seededRandom(4), log });
    const runner = new ControllerRunner(
      { name: "widgets", access: [], backoff: { firstMs: 1_000, maxMs: 60_000, spread: 0 }, ...definition, setup },
      {
        operator: { name: "rig", domain: "rig.dev" },
        client: dryRun ? dryRunClient(direct, ({ verb, resource, key }) => log.info({}, `withheld: ${verb} ${resource} ${key}`)) : direct,
        caches,
        clock,
        log,
        dryRun,
        ...(schemas && { schemas }),
        random: seededRandom(5),
        metrics: createMetrics(),
        events: () => ({ record: (event) => void this.events.push(event) }),
        report: outcomeCondition({
          operator: { name: "rig", domain: "rig.dev" },
          events: () => ({ record: (event) => void this.events.push(event) }),
          client: direct,
          clock,
          namespaces: [],
        }),
        serverClock: { aheadMs: () => this.aheadMs },
        observer: {
          ...silentObserver,
          finished: (_, { result, terminal }) => {
            this.results.push(result);
            if (terminal) this.refused += 1;
          },
        },
      },
    );
    const never = new AbortController().signal;
    const { signal } = this.#stop;
    void (async () => {
      caches.start(signal);
      await runner.whenSynced(signal);
      await runner.work({ drain: never, signal, isValid: () => true });
    })();
  }

  /** Ends the process; another may be started. */
  stop(): void {
    this.#stop.abort();
    this.#stop = new AbortController();
  }

  #transport(wire: Transport): Transport {
    return {
      send: async (request, signal) => {
        if (request.method === "GET" && /[?&](watch|limit|resourceVersion)=/.test(request.path)) return wire.send(request, signal);
        const path = request.path.replace(/\?.*/, "").replace(/.*\/namespaces\/default\//, "");
        this.#requests.push(`${request.method} ${path}`);
        const refusal = this.refuse(request);
        if (!refusal) {
          this.before(request);
          return wire.send(request, signal);
        }
        if (refusal === "silence") return this.#silence(signal);
        const body = JSON.stringify({
          kind: "Status",
          apiVersion: "v1",
          status: "Failure",
          code: refusal.status,
          reason: refusal.reason,
          message: "no",
          ...(refusal.retryAfterSeconds !== undefined && { details: { retryAfterSeconds: refusal.retryAfterSeconds } }),
        });
        return { status: refusal.status, headers: { "content-type": "application/json" }, body: once(body) };
      },
      close: () => wire.close(),
    };
  }

  /** As long as the real transport waits for an answer. */
  async #silence(signal?: AbortSignal): Promise<never> {
    await sleep(this.clock, silenceMs, signal);
    throw new ConnectionError("no answer");
  }

  /** Lets time pass and returns the requests that were made meanwhile, lists and watches left out. */
  async during(ms: number): Promise<readonly string[]> {
    this.#requests.length = 0;
    await this.clock.advance(ms);
    return [...this.#requests];
  }

  put(name: string, spec: Widget["spec"]): void {
    const path = `${objectPath(Widget, { namespace: "default", name })}?fieldManager=user&force=true`;
    const object = { apiVersion: "test.dev/v1", kind: "Widget", metadata: { namespace: "default", name }, spec };
    this.#ask({ method: "PATCH", path, headers: { "content-type": "application/apply-patch+yaml" }, body: JSON.stringify(object) });
  }

  /** A ConfigMap that nobody here made. */
  putForeign(name: string): void {
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "default", name } };
    const path = `/api/v1/namespaces/default/configmaps/${name}?fieldManager=user&force=true`;
    this.#ask({ method: "PATCH", path, headers: { "content-type": "application/apply-patch+yaml" }, body: JSON.stringify(object) });
  }

  deleteForeign(name: string): void {
    this.#ask({ method: "DELETE", path: `/api/v1/namespaces/default/configmaps/${name}` });
  }

  delete(name: string): void {
    this.#ask({ method: "DELETE", path: objectPath(Widget, { namespace: "default", name }) });
  }

  /** What somebody else asks of the API server; a patch is a merge patch. */
  ask(method: "PATCH" | "DELETE", path: string, body?: object): void {
    const patch = { headers: { "content-type": "application/merge-patch+json" }, body: JSON.stringify(body) };
    this.#ask({ method, path: `${path}?fieldManager=user`, ...(body && patch) });
  }

  #ask(request: TransportRequest): void {
    const answer = this.server.handle(request);
    if (answer.type === "answer" && answer.status >= 300) throw new Error(answer.body);
  }

  stored(resource: string, name: string): unknown {
    return this.server.store.get(resource, `default/${name}`);
  }

  /** The text in the ConfigMap of this name. */
  text(name: string): unknown {
    const map = this.stored("configmaps", name);
    return isRecord(map) && isRecord(map["data"]) ? map["data"]["text"] : undefined;
  }

  status(name: string): Record<string, unknown> | undefined {
    const widget = this.stored("widgets.test.dev", name);
    return isRecord(widget) && isRecord(widget["status"]) ? widget["status"] : undefined;
  }

  /** What a condition says: `True Ready: made`. */
  condition(name: string, wanted = "Ready"): string | undefined {
    const conditions = this.status(name)?.["conditions"];
    const found: unknown = Array.isArray(conditions) ? conditions.find((each) => isRecord(each) && each["type"] === wanted) : undefined;
    return isRecord(found) ? `${String(found["status"])} ${String(found["reason"])}` : undefined;
  }

  get reasons(): readonly string[] {
    return this.events.map(({ reason }) => reason);
  }

  get warnings(): readonly string[] {
    return this.events.filter(({ type }) => type === "Warning").map(({ reason }) => reason);
  }
}

async function* once(body: string): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  yield new TextEncoder().encode(body);
}
