// Deployments that use Secrets and ConfigMaps, two operators, and a cluster that rolls what is restarted: in virtual time, with one fault at a time.
import {
  apiVersionOf,
  type Client,
  ConfigMap,
  ConnectionError,
  createClient,
  DaemonSet,
  defineKind,
  Deployment,
  type Kind,
  objectPath,
  Pod,
  seededRandom,
  Secret,
  sleep,
  StatefulSet,
  type Transport,
  type TransportRequest,
  type TransportResponse,
} from "@keyturn/runtime";
import { modelOperator, objectOr, ProcessClock, SimulatedApiServer, SimulatedNetwork, stringOr, VirtualClock } from "@keyturn/runtime/testing";
import { keyturn } from "../../packages/keyturn/src/feature/feature.ts";
import { controllersOf } from "../../packages/keyturn/src/registry.ts";
import { consumersFeature } from "../../packages/keyturn/src/controllers/consumers/feature.ts";
import { startedWithAnnotation } from "../../packages/keyturn/src/controllers/consumers/annotations.ts";
import { SecretProviderClassPodStatus } from "../../packages/keyturn/src/controllers/consumers/content.ts";
import { Rollout } from "../../packages/keyturn/src/workloads/workload.ts";
import { restartedAtAnnotation, restartedForAnnotation, rolloutLabel } from "../../packages/keyturn/src/workloads/annotations.ts";

const namespace = "default";
const CronJob = defineKind({ group: "batch", version: "v1", kind: "CronJob", plural: "cronjobs", namespaced: true });

/** What happens at the nth write on a workload or on what is remembered. */
export interface Fault {
  readonly at: number;
  /** `stale`: from then on its sender sees for 40 s what it saw. */
  readonly what: "killed before" | "killed after" | "unanswered" | "conflict" | "stale";
}

/** A Deployment of one container. */
export interface Using {
  readonly annotations?: Readonly<Record<string, string>>;
  /** Of its pods: as in a pod's spec, beside the container's name and image. */
  readonly container?: object;
  readonly volumes?: readonly object[];
  /** Default 1. */
  readonly replicas?: number;
  readonly image?: string;
  readonly initContainer?: object;
  readonly templateAnnotations?: Readonly<Record<string, string>>;
  /** With which images are pulled. */
  readonly pullSecret?: string;
}

interface Life {
  isDead: boolean;
  staleUntilMs: number;
}

const staleMs = 40_000;

export class ConsumersWorld {
  readonly clock = new VirtualClock();
  readonly #server = new SimulatedApiServer({ clock: this.clock, random: seededRandom(1) });
  readonly #network = new SimulatedNetwork({ server: this.#server, clock: this.clock, random: seededRandom(2) });
  readonly #flags: Readonly<Record<string, string>>;
  readonly #fault: Fault | undefined;
  readonly #rolled = new Map<string, string>();
  readonly #lives: { readonly life: Life; readonly stop: AbortController }[] = [];
  /** Deployments whose pods do not get available any more. */
  readonly unhealthy = new Set<string>();
  /** With this in a Secret, pods that are started do not get available, and stay like that. */
  readonly bad = "bad";
  /** For which restart their pods were started. */
  readonly #started = new Map<string, string>();
  readonly #startedBadly = new Set<string>();
  /** The times that a template ever had, in the order in which they were written. */
  readonly restarts: string[] = [];
  #reports = 0;
  writes = 0;
  /** The installation's. */
  key = new Uint8Array(32).fill(7);
  mostRolling = 0;

  readonly #elects: boolean;

  /** With `elects` false, every process acts as the leader. Default true. */
  constructor({
    fault,
    flags = {},
    elects = true,
  }: { readonly fault?: Fault; readonly flags?: Readonly<Record<string, string>>; readonly elects?: boolean } = {}) {
    this.#elects = elects;
    this.#fault = fault;
    this.#flags = flags;
    for (const kind of [Deployment, StatefulSet, DaemonSet, Secret, ConfigMap, Pod, CronJob, Rollout, SecretProviderClassPodStatus])
      this.#server.serve(kind);
    const seen = new Map<string, string>();
    this.#server.store.onChange(({ resource, after }) => {
      const name = stringOr(objectOr(after?.["metadata"])["name"], "");
      if (resource !== "deployments.apps" || !after) return;
      const time = this.#restartedAt(name);
      if (time !== "" && seen.get(name) !== time) this.restarts.push(name);
      seen.set(name, time);
      this.mostRolling = Math.max(
        this.mostRolling,
        this.#deployments.filter((each) => this.#restartedAt(each) !== (this.#rolled.get(each) ?? "")).length,
      );
    });
  }

  /** Everything that somebody who looks has asked for. */
  readonly requests: TransportRequest[] = [];

  /** A client of somebody who looks; without the right to Secrets and CronJobs if they may not. */
  viewer(mayRead: boolean): Client {
    const wire = this.#network.connect({ name: "viewer", clock: new ProcessClock(this.clock) });
    const send: Transport["send"] = async (request, signal) => {
      this.requests.push(request);
      const isRefused = !mayRead && /\/(secrets|cronjobs)\b/.test(request.path);
      return isRefused ? status(403, "Forbidden", "forbidden") : this.#soon(wire.send(request, signal));
    };
    return createClient({ send, close: () => wire.close() }, { clock: this.clock, random: seededRandom(3) });
  }

  /** Starts a process of the operator. */
  start(name = `operator-${this.#lives.length}`): this {
    const life: Life = { isDead: false, staleUntilMs: 0 };
    const stop = new AbortController();
    const transport = this.#faulty(this.#network.connect({ name, clock: new ProcessClock(this.clock) }), life);
    const context = { name, clock: this.clock, random: seededRandom(this.#lives.length + 1), incarnation: 1, signal: stop.signal };
    const controllers = controllersOf([consumersFeature], this.#flags, {});
    void modelOperator(name, { controllers, operator: keyturn, elects: this.#elects, installationKey: this.key }).start({ ...context, transport });
    this.#lives.push({ life, stop });
    return this;
  }

  /** Ends all processes at once, as SIGKILL does. */
  kill(): void {
    for (const { life, stop } of this.#lives.splice(0)) {
      life.isDead = true;
      stop.abort();
    }
  }

  /** Of which there are so many, by name. */
  get restartCounts(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#deployments.map((name) => [name, this.restarts.filter((each) => each === name).length]));
  }

  get labelled(): readonly string[] {
    return this.#deployments.filter((name) => objectOr(this.#metadata(name)["labels"])[rolloutLabel] !== undefined);
  }

  /** What the operator remembers of its restarts, as text. */
  get memory(): string | undefined {
    const [text] = this.#server.store.list("leases.coordination.k8s.io").flatMap(([, { metadata }]) => {
      const { name, annotations } = objectOr(metadata);
      return name === "keyturn-restarts" ? [stringOr(objectOr(annotations)["keyturn.io/restarts"], "")] : [];
    });
    return text;
  }

  startedWith(name: string, kind: Kind = Deployment): string | undefined {
    const text = objectOr(this.#metadata(name, resourceOf(kind))["annotations"])[startedWithAnnotation];
    return typeof text === "string" ? text : undefined;
  }

  eventsAbout(name: string): readonly string[] {
    const events = this.#server.store.list("events.events.k8s.io").map(([, event]) => event);
    return events.flatMap((event) => (objectOr(event["regarding"])["name"] === name ? [stringOr(event["reason"], "")] : []));
  }

  secret(name: string, data: Readonly<Record<string, string>>, annotations: Readonly<Record<string, string>> = {}): void {
    const encoded = Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString("base64")]));
    this.apply(Secret, name, { metadata: { annotations }, data: encoded });
  }

  configMap(name: string, data: Readonly<Record<string, string>>, annotations: Readonly<Record<string, string>> = {}): void {
    this.apply(ConfigMap, name, { metadata: { annotations }, data });
  }

  remove(kind: Kind, name: string): void {
    this.#server.handle({ method: "DELETE", path: objectPath(kind, { namespace, name }) });
  }

  deployment(name: string, { annotations = {}, replicas = 1, ...using }: Using, { updated = replicas } = {}): void {
    const { container = {}, volumes = [], image = "app:1", initContainer, templateAnnotations, pullSecret } = using;
    const labels = { app: name };
    const metadata = { labels, ...(templateAnnotations && { annotations: templateAnnotations }) };
    const spec = {
      containers: [{ name: "app", image, ...container }],
      volumes,
      ...(initContainer && { initContainers: [{ name: "init", image, ...initContainer }] }),
      ...(pullSecret !== undefined && { imagePullSecrets: [{ name: pullSecret }] }),
    };
    const template = { metadata, spec };
    this.apply(Deployment, name, { metadata: { annotations }, spec: { replicas, selector: { matchLabels: labels }, template } });
    this.#report(name, updated);
  }

  /** One pod, made now, in place of the one before. */
  pod(name: string, kind: Kind = Deployment): void {
    this.remove(Pod, name);
    const uid = stringOr(this.#metadata(name, resourceOf(kind))["uid"], "");
    const owner = kind === Deployment ? { kind: "ReplicaSet", name: `${name}-1`, uid: "1" } : { kind: kind.kind, name, uid };
    const ownerReferences = [{ apiVersion: "apps/v1", controller: true, ...owner }];
    this.apply(Pod, name, { metadata: { labels: { app: name }, ownerReferences }, spec: { containers: [{ name: "app", image: "app:1" }] } });
    if (kind === StatefulSet) this.#reportSet(name);
  }

  /** Of one pod. */
  statefulSet(name: string, updateStrategy: object, { annotations = {}, container = {} }: Using): void {
    const labels = { app: name };
    const template = { metadata: { labels }, spec: { containers: [{ name: "app", image: "app:1", ...container }] } };
    this.apply(StatefulSet, name, { metadata: { annotations }, spec: { replicas: 1, selector: { matchLabels: labels }, template, updateStrategy } });
    this.pod(name, StatefulSet);
  }

  /** A workload of another kind, of one pod that is there. */
  other(kind: Kind, name: string, { annotations = {}, container = {} }: Using): void {
    const labels = { app: name };
    const template = { metadata: { labels }, spec: { containers: [{ name: "app", image: "app:1", ...container }] } };
    this.apply(kind, name, { metadata: { annotations }, spec: { selector: { matchLabels: labels }, template } });
    const { generation } = this.#metadata(name, resourceOf(kind));
    const ofPods = { replicas: 1, updatedReplicas: 1, availableReplicas: 1, currentRevision: "1", updateRevision: "1", phase: "Healthy" };
    const ofNodes = { desiredNumberScheduled: 1, updatedNumberScheduled: 1, numberAvailable: 1 };
    const observedGeneration = kind === Rollout ? String(Number(generation)) : generation;
    this.apply(kind, name, { metadata: {}, status: { observedGeneration, ...(kind === DaemonSet ? ofNodes : ofPods) } }, "/status");
  }

  /** By what it was restarted, if it was. */
  restartedBy(kind: Kind, name: string): "template" | "restartAt" | undefined {
    const spec = objectOr(this.#server.store.get(resourceOf(kind), `${namespace}/${name}`)?.["spec"]);
    const annotations = objectOr(objectOr(objectOr(spec["template"])["metadata"])["annotations"]);
    if (annotations[restartedAtAnnotation] !== undefined) return "template";
    return spec["restartAt"] === undefined ? undefined : "restartAt";
  }

  /** What the driver of secret stores has mounted into a pod. */
  mount(pod: string, secretProviderClassName: string, version: string): void {
    const status = { podName: pod, secretProviderClassName, objects: [{ id: "a", version }] };
    this.apply(SecretProviderClassPodStatus, pod, { metadata: {} });
    this.apply(SecretProviderClassPodStatus, pod, { metadata: {}, status }, "/status");
  }

  /** The Deployment as it is. */
  text(name: string): string {
    return JSON.stringify(this.#server.store.get("deployments.apps", `${namespace}/${name}`));
  }

  #reportSet(name: string): void {
    const { generation } = this.#metadata(name, resourceOf(StatefulSet));
    const collisionCount = ++this.#reports;
    const figures = { observedGeneration: generation, replicas: 1, updatedReplicas: 1, availableReplicas: 1, collisionCount };
    this.apply(StatefulSet, name, { metadata: {}, status: { ...figures, currentRevision: "1", updateRevision: "1" } }, "/status");
  }

  cronJob(name: string, container: object): void {
    const template = { spec: { containers: [{ name: "app", image: "app:1", ...container }] } };
    this.apply(CronJob, name, { metadata: {}, spec: { schedule: "@daily", jobTemplate: { spec: { template } } } });
  }

  apply(kind: Kind, name: string, { metadata, ...rest }: { readonly metadata: object; readonly [field: string]: unknown }, subresource = ""): void {
    const path = `${objectPath(kind, { namespace, name })}${subresource}?fieldManager=user&force=true`;
    const body = JSON.stringify({ apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: { ...metadata, namespace, name }, ...rest });
    const answer = this.#server.handle({ method: "PATCH", path, headers: { "content-type": "application/apply-patch+yaml" }, body });
    if (answer.type === "answer" && answer.status >= 300) throw new Error(answer.body);
  }

  /** Takes an annotation off, as somebody does who writes the whole object back. */
  strip(name: string, annotation: string): void {
    const body = JSON.stringify({ metadata: { annotations: { [annotation]: null } } });
    const path = objectPath(Deployment, { namespace, name });
    this.#server.handle({ method: "PATCH", path, headers: { "content-type": "application/merge-patch+json" }, body });
  }

  /** Writes the whole object as its owner has it: without what was added since, or with what stood there at some time. */
  writeBack(name: string, annotations: Readonly<Record<string, string>> = {}): void {
    const none = { [startedWithAnnotation]: null, [restartedForAnnotation]: null };
    const template = { metadata: { annotations: { [restartedAtAnnotation]: null } } };
    const body = JSON.stringify({ metadata: { annotations: { ...none, ...annotations }, labels: { [rolloutLabel]: null } }, spec: { template } });
    const path = objectPath(Deployment, { namespace, name });
    this.#server.handle({ method: "PATCH", path, headers: { "content-type": "application/merge-patch+json" }, body });
    if (this.#restartedAt(name) === (this.#rolled.get(name) ?? "")) this.#report(name);
  }

  /** Lets time pass; every few seconds the cluster rolls out what was restarted. */
  async pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second += 3) {
      await this.clock.advance(3_000);
      for (const name of this.#deployments) {
        const time = this.#restartedAt(name);
        if (time === (this.#rolled.get(name) ?? "")) continue;
        if (this.#started.get(name) !== time) this.#startPods(name);
        this.#started.set(name, time);
        if (!this.#isUnhealthy(name)) this.#rolled.set(name, time);
        this.#report(name);
      }
    }
  }

  /** Lets time pass until something is so; not for ever. */
  async passUntil(isSo: () => boolean): Promise<void> {
    for (let second = 0; second < 600 && !isSo(); second += 3) await this.pass(3);
  }

  /** Lets time pass until there is an answer. */
  async #soon<T>(answer: Promise<T>): Promise<T> {
    const state = { isThere: false };
    void answer.finally(() => (state.isThere = true)).catch(() => {});
    while (!state.isThere) await this.clock.advance(10);
    return answer;
  }

  get #deployments(): readonly string[] {
    return this.#server.store.list("deployments.apps").map(([, { metadata }]) => stringOr(objectOr(metadata)["name"], ""));
  }

  #faulty(wire: Transport, life: Life): Transport {
    return {
      send: async (request, signal) => {
        if (life.isDead) return silence();
        if (request.path === `/apis/${Rollout.group}/${Rollout.version}`) return answered(200, { resources: [{ name: Rollout.plural }] });
        const what = isCounted(request) && ++this.writes === this.#fault?.at ? this.#fault.what : undefined;
        if (what === "unanswered") {
          await wire.send(request, signal);
          throw new ConnectionError("the answer was lost");
        }
        if (what === "conflict") return status(409, "Conflict", "the object has been modified");
        if (what === "stale") life.staleUntilMs = this.clock.monotonic() + staleMs;
        if (what !== "killed after" && what !== "killed before") {
          const answer = await wire.send(request, signal);
          return request.path.includes("watch=") ? this.#late(answer, life) : answer;
        }
        if (what === "killed after") await wire.send(request, signal);
        life.isDead = true;
        return silence();
      },
      close: () => wire.close(),
    };
  }

  /** What a watch says, held back as long as its reader sees what it saw. */
  #late(answer: TransportResponse, life: Life): TransportResponse {
    const { clock } = this;
    const body = (async function* () {
      for await (const part of answer.body) {
        while (clock.monotonic() < life.staleUntilMs) await sleep(clock, 1000);
        yield part;
      }
    })();
    return { ...answer, body };
  }

  #report(name: string, updated = this.#replicas(name)): void {
    const { generation } = this.#metadata(name);
    const replicas = this.#replicas(name);
    const availableReplicas = this.#isUnhealthy(name) ? 0 : replicas;
    const figures = { observedGeneration: generation, replicas, updatedReplicas: updated, availableReplicas };
    this.apply(Deployment, name, { metadata: {}, status: figures }, "/status");
  }

  #startPods(name: string): void {
    const secrets = this.#server.store.list("secrets").map(([, { data }]) => Object.values(objectOr(data)));
    const isBad = secrets.some((values) => values.includes(Buffer.from(this.bad).toString("base64")));
    if (isBad) this.#startedBadly.add(name);
    else this.#startedBadly.delete(name);
  }

  #isUnhealthy(name: string): boolean {
    return this.#replicas(name) > 0 && (this.unhealthy.has(name) || this.#startedBadly.has(name));
  }

  #replicas(name: string): number {
    const spec = objectOr(this.#server.store.get("deployments.apps", `${namespace}/${name}`)?.["spec"]);
    return Number(spec["replicas"] ?? 1);
  }

  #metadata(name: string, resource = "deployments.apps") {
    return objectOr(this.#server.store.get(resource, `${namespace}/${name}`)?.["metadata"]);
  }

  #restartedAt(name: string): string {
    const spec = objectOr(this.#server.store.get("deployments.apps", `${namespace}/${name}`)?.["spec"]);
    return stringOr(objectOr(objectOr(objectOr(spec["template"])["metadata"])["annotations"])[restartedAtAnnotation], "");
  }
}

function resourceOf({ plural, group }: Kind): string {
  return `${plural}.${group}`;
}

function silence(): Promise<never> {
  return new Promise(() => {});
}

function isCounted({ method, path }: TransportRequest): boolean {
  return method !== "GET" && (path.includes("/deployments/") || path.includes("keyturn-restarts"));
}

function status(code: number, reason: string, message: string): TransportResponse {
  return answered(code, { kind: "Status", status: "Failure", code, reason, message });
}

function answered(code: number, object: object): TransportResponse {
  const text = JSON.stringify(object);
  const body = (async function* () {
    yield new TextEncoder().encode(text);
  })();
  return { status: code, headers: { "content-type": "application/json" }, body };
}

// What tests of restarts begin with.

export const auto = { "reloader.stakater.com/auto": "true" };

/** Containers that use a key of the Secret `db`, and all of it. */
export const password = { env: [{ name: "PASSWORD", valueFrom: { secretKeyRef: { name: "db", key: "password" } } }] };
export const all = { envFrom: [{ secretRef: { name: "db" } }] };

/** These, with the Secret `db`, and an operator that has seen them. */
export async function started(deployments: Readonly<Record<string, Using>>, flags: Readonly<Record<string, string>> = {}): Promise<ConsumersWorld> {
  const world = new ConsumersWorld({ flags });
  world.secret("db", { password: "one", user: "app" });
  for (const [name, using] of Object.entries(deployments)) world.deployment(name, using);
  world.start();
  await world.pass(60);
  return world;
}
