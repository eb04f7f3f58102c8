// Deployments whose pods have an old sidecar, an istiod that would inject a new one, two operators, and a cluster that rolls what is restarted: in virtual time, with
// one fault at a time.
import {
  apiVersionOf,
  ConnectionError,
  type ControllerDefinition,
  DaemonSet,
  Deployment,
  type Kind,
  MutatingWebhookConfiguration,
  objectPath,
  type Pod,
  Pod as PodKind,
  type Random,
  ReplicaSet,
  seededRandom,
  sleep,
  StatefulSet,
  type Transport,
  type TransportRequest,
} from "@keyturn/runtime";
import { modelOperator, objectOr, ProcessClock, SimulatedApiServer, SimulatedNetwork, stringOr, VirtualClock } from "@keyturn/runtime/testing";

import { sidecarsControllerOf, type SidecarsOptions } from "../../packages/keyturn/src/controllers/sidecars/controller.ts";
import { sidecarsOptions } from "../../packages/keyturn/src/controllers/sidecars/flags.ts";
import type { WebhookCaller } from "../../packages/keyturn/src/controllers/sidecars/injection/webhook.ts";
import { keyturn } from "../../packages/keyturn/src/feature/feature.ts";
import { restartedAtAnnotation, restartedForAnnotation, rolloutLabel, rolloutLabelValue } from "../../packages/keyturn/src/workloads/annotations.ts";

export const namespace = "default";

const flags: Readonly<Record<string, string>> = {
  "sidecars.istiod-config-read-delay": "0",
  "sidecars.annotation-cooldown": "0",
  "sidecars.reconcile-period": "0",
  "sidecars.probe-interval": "0",
  "sidecars.max-rollouts": "2",
};

const [oldImage, newImage] = ["istio/proxyv2:1.26.0", "istio/proxyv2:1.27.0"];

/** What happens at the nth request of a sort: a write on a workload or on what is remembered, a question to the API server, one to istiod. */
export interface Fault {
  readonly sort: "write" | "question" | "call";
  readonly at: number;
  /** `overtaken`: somebody changes all workloads right before, as an autoscaler does. `slow`: it takes 20 s. */
  readonly what:
    | "killed before"
    | "killed after"
    | "refused"
    | "unanswered"
    | "overtaken"
    | "killed before and overtaken"
    | "slow"
    | "slow, and istiod gone";
}

interface SweptOptions {
  readonly fault?: Fault | undefined;
  /** At each of these writes, whoever sends it is cut off for a minute, and comes back with what it knew. */
  readonly cuts?: readonly number[];
  readonly elects?: boolean;
  readonly restartDelay?: string;
  /** Writes whatever comes to mind on workloads of these names, every few seconds for five minutes. */
  readonly tenant?: { readonly seed: number; readonly owns: readonly string[] };
  /** By name: whether its pod has an old sidecar. */
  readonly workloads: Readonly<Record<string, boolean>>;
  /** Default: the one for sidecars. */
  readonly controller?: (options: SidecarsOptions) => ControllerDefinition;
}

interface Life {
  isDead: boolean;
  cutUntilMs: number;
}

export class SweptWorld {
  readonly #clock = new VirtualClock();
  readonly #server = new SimulatedApiServer({ clock: this.#clock, random: seededRandom(1) });
  readonly #network = new SimulatedNetwork({ server: this.#server, clock: this.#clock, random: seededRandom(2) });
  readonly #names: readonly string[];
  readonly #fault: Fault | undefined;
  readonly #cuts: readonly number[];
  readonly #count = { write: 0, question: 0, call: 0 };
  readonly #rolled = new Map<string, string>();
  /** The times that a template ever had, by workload. */
  readonly restarts: ReadonlyMap<string, Set<string>>;
  /** When each restart arrived. */
  readonly arrivedMs: number[] = [];
  /** As many as ever were rolling at once. */
  mostRolling = 0;
  /** How often the operator has restarted each, whatever others wrote. */
  readonly ownRestarts: Record<string, number> = {};
  /** As many of its restarts as were rolling at once. */
  mostOwn = 0;
  readonly #own = new Set<string>();
  readonly #rounds = new Map<string, number>();
  readonly #tenant: SweptOptions["tenant"];
  readonly #lots: Random;
  /** istiod answers nobody. */
  isSilent = false;
  /** What new pods are refused for, if they are. */
  refusal: string | undefined;

  constructor({ fault, cuts = [], elects = true, workloads, restartDelay = "0", tenant, controller = sidecarsControllerOf }: SweptOptions) {
    this.#fault = fault;
    this.#cuts = cuts;
    this.#tenant = tenant;
    this.#lots = seededRandom(tenant?.seed ?? 1);
    this.#names = Object.keys(workloads);
    this.restarts = new Map(this.#names.map((name) => [name, new Set()]));
    for (const kind of [Deployment, StatefulSet, DaemonSet, ReplicaSet, PodKind, MutatingWebhookConfiguration]) this.#server.serve(kind);
    this.#server.store.onChange(({ resource, after }) => {
      const { metadata, spec } = after ?? {};
      const template = objectOr(objectOr(objectOr(spec)["template"])["metadata"]);
      const time = stringOr(objectOr(template["annotations"])[restartedAtAnnotation], "");
      const times = resource === "deployments.apps" && time !== "" ? this.restarts.get(stringOr(objectOr(metadata)["name"], "")) : undefined;
      if (times && !times.has(time)) this.arrivedMs.push(this.#clock.monotonic());
      times?.add(time);
      this.mostRolling = Math.max(this.mostRolling, this.#names.filter((name) => this.#restartedAt(name) !== (this.#rolled.get(name) ?? "")).length);
    });
    const webhook = {
      name: "sidecar-injector.istio.io",
      clientConfig: { url: "https://istiod.example.com/inject" },
      rules: [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"], scope: "*" }],
      sideEffects: "None",
      admissionReviewVersions: ["v1"],
    };
    this.#ask(MutatingWebhookConfiguration, "istio-sidecar-injector", { metadata: { name: "istio-sidecar-injector" }, webhooks: [webhook] });
    for (const [name, isOld] of Object.entries(workloads)) this.#deploy(name, isOld ? oldImage : newImage);
    for (const process of ["one", "two"]) {
      const stop = new AbortController();
      const life: Life = { isDead: false, cutUntilMs: 0 };
      const wire = this.#faulty(this.#network.connect({ name: process, clock: new ProcessClock(this.#clock) }), life);
      const options = {
        ...sidecarsOptions((flag) => flag.parse(flag.name === "sidecars.restart-delay" ? restartDelay : flags[flag.name])),
        asksWebhooks: this.#istiod(life),
      };
      const context = { name: process, clock: this.#clock, random: seededRandom(process.length), incarnation: 1, signal: stop.signal };
      void modelOperator(process, { controllers: [controller(options)], operator: keyturn, elects }).start({ ...context, transport: wire });
    }
  }

  get counted(): Readonly<Record<Fault["sort"], number>> {
    return this.#count;
  }

  /** Workloads that still carry our label. */
  get labelled(): readonly string[] {
    return this.#names.filter((name) => objectOr(this.#metadata(name)["labels"])[rolloutLabel] !== undefined);
  }

  /** How often each was restarted. */
  get restartCounts(): Readonly<Record<string, number>> {
    return Object.fromEntries(Array.from(this.restarts, ([name, times]) => [name, times.size]));
  }

  /** Reasons of Events about a workload. */
  eventsAbout(name: string): readonly string[] {
    const events = this.#server.store.list("events.events.k8s.io").map(([, event]) => event);
    return events.flatMap((event) => (objectOr(event["regarding"])["name"] === name ? [stringOr(event["reason"], "")] : []));
  }

  /** Lets time pass; every few seconds the cluster rolls out what was restarted. */
  async pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second += 3) {
      await this.#clock.advance(3_000);
      if (this.#tenant && this.#clock.monotonic() < 300_000) this.#meddle(this.#tenant.owns);
      for (const name of this.#names) this.#roll(name);
    }
  }

  /** With a tenant, who would have no time to interfere otherwise, a rollout takes five rounds. */
  #roll(name: string): void {
    const time = this.#restartedAt(name);
    const rounds = (this.#rounds.get(name) ?? 0) + 1;
    const isNew = time !== (this.#rolled.get(name) ?? "");
    this.#rounds.set(name, isNew && this.#tenant && rounds < 5 ? rounds : 0);
    if (isNew && this.#rounds.get(name) !== 0) return;
    this.#own.delete(name);
    if (!isNew) return;
    this.#rolled.set(name, time);
    this.#pod(name, newImage);
    this.#report(name);
  }

  /** A restart is what sets the label; the end of one takes it off. */
  #counted<A extends { readonly status: number }>({ method, path, body }: TransportRequest, answer: A): A {
    const name = path.split("?")[0]?.split("/").at(-1) ?? "";
    if (method !== "PATCH" || !path.includes("/deployments/") || answer.status >= 300 || !String(body).includes(`"${rolloutLabel}"`)) return answer;
    this.ownRestarts[name] = (this.ownRestarts[name] ?? 0) + 1;
    this.#own.add(name);
    this.mostOwn = Math.max(this.mostOwn, this.#own.size);
    return answer;
  }

  #meddle(names: readonly string[]): void {
    const pick = <T>(choices: readonly T[]): T | undefined => choices[Math.floor(this.#lots() * choices.length)];
    const name = pick(names);
    if (name === undefined) return;
    const timed = (time: string | null) => ({ spec: { template: { metadata: { annotations: { [restartedAtAnnotation]: time } } } } });
    const change = pick<object>([
      { metadata: { labels: { [rolloutLabel]: null } } },
      { metadata: { labels: { [rolloutLabel]: rolloutLabelValue } } },
      { metadata: { annotations: { [restartedForAnnotation]: null } } },
      { metadata: { annotations: { [restartedForAnnotation]: null }, labels: { [rolloutLabel]: null } }, ...timed(null) },
      timed(null),
      timed("2199-01-01T00:00:00Z"),
      timed("1970-01-01T00:00:00Z"),
      { spec: { minReadySeconds: Math.floor(this.#lots() * 10) } },
      { spec: { paused: this.#lots() < 0.3 } },
    ]);
    const headers = { "content-type": "application/merge-patch+json" };
    this.#server.handle({ method: "PATCH", path: objectPath(Deployment, { namespace, name }), headers, body: JSON.stringify(change) });
    if (this.#restartedAt(name) === (this.#rolled.get(name) ?? "")) this.#report(name);
  }

  /** What happens to this request; undefined if nothing does. */
  #hit(sort: Fault["sort"]): Fault["what"] | undefined {
    return ++this.#count[sort] === this.#fault?.at && sort === this.#fault.sort ? this.#fault.what : undefined;
  }

  /** One process's wire. Once it is dead, nothing that it sends arrives, and it hears of nothing any more. */
  #faulty(wire: Transport, life: Life): Transport {
    return {
      send: async (request, signal) => {
        if (life.isDead) return silence();
        const sort = sortOf(request);
        const what = sort && this.#hit(sort);
        if (sort === "write" && this.#cuts.includes(this.#count.write)) life.cutUntilMs = this.#clock.monotonic() + 60_000;
        if (life.cutUntilMs > this.#clock.monotonic()) throw new ConnectionError("nobody can be reached");
        if (what === "overtaken" || what === "killed before and overtaken") this.#overtake(what === "overtaken" ? 3 : 1);
        if (what === "overtaken") return wire.send(request, signal);
        if (what === "refused") return status(503, "ServiceUnavailable", "not now");
        // As long as the transport waits for an answer to a write.
        if (what === "unanswered") {
          await sleep(this.#clock, 30_000);
          throw new ConnectionError("no answer within 30 s");
        }
        if (what !== "killed before" && sort === "question" && this.refusal !== undefined) return status(403, "Forbidden", this.refusal);
        const sent = sort === "question" ? { ...request, body: JSON.stringify(injected(JSON.parse(String(request.body)))) } : request;
        if (what === "slow, and istiod gone") this.isSilent = true;
        if (what === "slow" || what === "slow, and istiod gone") await sleep(this.#clock, 20_000);
        if (what !== "killed before" && what !== "killed after") return this.#counted(request, await wire.send(sent, signal));
        if (what === "killed after") await wire.send(sent, signal);
        life.isDead = true;
        return silence();
      },
      close: () => wire.close(),
    };
  }

  /** What one process hears of istiod. */
  #istiod(life: Life): WebhookCaller {
    return {
      review: async (_webhook, pod) => {
        if (life.isDead) return silence();
        const what = this.#hit("call");
        if (what === "refused") return { type: "refused", message: "bad annotation" };
        if (what === "unanswered" || this.isSilent) {
          await sleep(this.#clock, 10_000);
          return { type: "failed", message: "no whole answer within 10 s" };
        }
        if (what === undefined) return { type: "allowed", pod: injected(pod), changed: true };
        life.isDead = true;
        return silence();
      },
      close() {},
    };
  }

  #ask(kind: Kind, name: string, object: object, subresource = ""): void {
    const path = `${objectPath(kind, kind.namespaced ? { namespace, name } : { name })}${subresource}?fieldManager=user&force=true`;
    const body = JSON.stringify({ apiVersion: apiVersionOf(kind), kind: kind.kind, ...object });
    const answer = this.#server.handle({ method: "PATCH", path, headers: { "content-type": "application/apply-patch+yaml" }, body });
    if (answer.type === "answer" && answer.status >= 300) throw new Error(answer.body);
  }

  #deploy(name: string, image: string): void {
    const labels = { app: name };
    const template = { metadata: { labels }, spec: { containers: [{ name: "app", image: "app:1" }] } };
    this.#ask(Deployment, name, { metadata: { namespace, name }, spec: { replicas: 1, selector: { matchLabels: labels }, template } });
    this.#pod(name, image);
    this.#report(name);
  }

  #pod(name: string, image: string): void {
    const { uid: owning } = this.#metadata(name);
    const restartedAt = this.#restartedAt(name);
    const owner = { apiVersion: "apps/v1", kind: "Deployment", name, uid: owning, controller: true };
    const set = `${name}-1`;
    this.#ask(ReplicaSet, set, { metadata: { namespace, name: set, ownerReferences: [owner] } });
    const { uid } = objectOr(this.#server.store.get("replicasets.apps", `${namespace}/${set}`)?.["metadata"]);
    this.#server.handle({ method: "DELETE", path: objectPath(PodKind, { namespace, name: `${set}-x` }) });
    const metadata = {
      namespace,
      name: `${set}-x`,
      labels: { app: name, "pod-template-hash": "1" },
      annotations: restartedAt === "" ? {} : { [restartedAtAnnotation]: restartedAt },
      ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: set, uid, controller: true }],
    };
    const containers = [
      { name: "app", image: "app:1" },
      { name: "istio-proxy", image },
    ];
    this.#ask(PodKind, `${set}-x`, { metadata, spec: { containers } });
  }

  #report(name: string): void {
    const { generation } = this.#metadata(name);
    const figures = { observedGeneration: generation, replicas: 1, updatedReplicas: 1, availableReplicas: 1 };
    this.#ask(Deployment, name, { metadata: { namespace, name }, status: figures }, "/status");
  }

  /** Changes of the workloads that are no restarts. */
  #overtake(times: number): void {
    for (const name of this.#names) {
      for (let time = 1; time <= times; time++) {
        const body = JSON.stringify({ spec: { minReadySeconds: time } });
        const headers = { "content-type": "application/merge-patch+json" };
        this.#server.handle({ method: "PATCH", path: objectPath(Deployment, { namespace, name }), headers, body });
      }
      this.#report(name);
    }
  }

  #metadata(name: string) {
    return objectOr(this.#server.store.get("deployments.apps", `${namespace}/${name}`)?.["metadata"]);
  }

  #restartedAt(name: string): string {
    const spec = objectOr(this.#server.store.get("deployments.apps", `${namespace}/${name}`)?.["spec"]);
    const template = objectOr(objectOr(spec["template"])["metadata"]);
    return stringOr(objectOr(template["annotations"])[restartedAtAnnotation], "");
  }
}

function silence(): Promise<never> {
  return new Promise(() => {});
}

/** As istiod leaves it, asked by us or by the API server. */
function injected(pod: Pod): Pod {
  const { containers = [] } = pod.spec ?? {};
  return { ...pod, spec: { ...pod.spec, containers: [...containers, { name: "istio-proxy", image: newImage }] } };
}

function sortOf({ method, path }: TransportRequest): "write" | "question" | undefined {
  if (method === "GET" || path.includes("/events")) return undefined;
  if (path.includes("/pods") && path.includes("dryRun=All")) return "question";
  return path.includes("/deployments/") || path.includes("leases/keyturn-restarts") || /\/leases\?/.test(path) ? "write" : undefined;
}

function status(code: number, reason: string, message: string) {
  const text = JSON.stringify({ kind: "Status", status: "Failure", code, reason, message });
  const body = (async function* () {
    yield new TextEncoder().encode(text);
  })();
  return { status: code, headers: { "content-type": "application/json" }, body };
}
