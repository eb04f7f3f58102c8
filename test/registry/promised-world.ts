// One controller of the registry on a simulated API server, in virtual time: what it writes, what it says, and an API server that refuses what the test says.
import {
  apiVersionOf,
  ConfigMap,
  type ControllerDefinition,
  DaemonSet,
  Deployment,
  type Kind,
  type KubeObject,
  type Logger,
  MutatingWebhookConfiguration,
  Namespace,
  objectPath,
  Pod,
  ReplicaSet,
  resourceOf,
  Secret,
  seededRandom,
  Service,
  StatefulSet,
  type Transport,
  type TransportRequest,
} from "@keyturn/runtime";
import { modelOperator, objectOr, ProcessClock, SimulatedApiServer, SimulatedNetwork, stringOr, VirtualClock } from "@keyturn/runtime/testing";
import { SecretCheckSum } from "../../packages/keyturn/src/controllers/checksum/api.ts";
import { defaultVersionAnnotation } from "../../packages/keyturn/src/controllers/checksum/ids.ts";
import { EventingAuth, Kyma } from "../../packages/keyturn/src/controllers/eventing-auth/api.ts";
import { JWKS, JWKSConfig } from "../../packages/keyturn/src/controllers/jwks/api.ts";
import { RotationTarget, rotationSetAnnotation, sourceAnnotation } from "../../packages/keyturn/src/controllers/rotation/api.ts";
import { keyturn } from "../../packages/keyturn/src/feature/feature.ts";
import { pausedAnnotation } from "../../packages/keyturn/src/feature/pause-and-selection.ts";
import { makeCertificate, secretData } from "../../packages/keyturn/test/certificates.ts";
import { defaultSpec } from "../../packages/keyturn/test/jwks-world.ts";
import { Toy } from "./toy-feature.ts";

const namespace = "default";
const stepMs = 2_000;
const { certificate, privateKey } = makeCertificate();
const { nginxConfigMapName: _, ...jwksSpec } = defaultSpec;

/** What makes a controller write something. */
export interface Scenario {
  /** In order. The one that `tells` names can be paused. */
  readonly objects: readonly (readonly [Kind, KubeObject & Readonly<Record<string, unknown>>])[];
  /** The write that matters, as a part of its path. */
  readonly write: string;
  /** The object whose condition tells; without one, Events about `tells` do. */
  readonly condition?: readonly [Kind, string];
  /** Whom Events are about. */
  readonly tells: string;
  readonly flags?: Readonly<Record<string, string>>;
}

const named = (name: string, more: object = {}) => ({ metadata: { namespace, name, ...more } });
const tls = { ...named("tls"), data: secretData(certificate, privateKey) };
const labels = { app: "web" };
const template = { metadata: { labels }, spec: { containers: [{ name: "app", image: "app:1" }] } };
const replicaSet = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-1", uid: "", controller: true };

/** By the controller's name. */
export const scenarios: Readonly<Record<string, Scenario>> = {
  toys: { objects: [[Toy, { ...named("bear"), spec: { colour: "red" } }]], write: "/configmaps/bear", condition: [Toy, "bear"], tells: "bear" },
  jwks: {
    objects: [
      [Secret, tls],
      [JWKSConfig, { ...named("site"), spec: jwksSpec }],
    ],
    write: "/configmaps/keys",
    condition: [JWKSConfig, "site"],
    tells: "site",
  },
  "jwks-rieset": {
    objects: [
      [Secret, tls],
      [JWKS, { ...named("site"), spec: jwksSpec }],
    ],
    write: "/configmaps/keys",
    condition: [JWKS, "site"],
    tells: "site",
  },
  rotation: {
    objects: [
      [
        RotationTarget,
        {
          ...named("a"),
          spec: {
            deletionMode: "keep",
            whenUnfilled: "Backfill",
            changePolicy: "Settled",
            rotationSet: "keys",
            rotationOrder: 1,
            rotationDelay: "1s",
          },
        },
      ],
      [Secret, { ...named("source", { annotations: { [rotationSetAnnotation]: "keys", [sourceAnnotation]: "true" } }), data: { value: "djE=" } }],
    ],
    write: "/secrets",
    condition: [RotationTarget, "a"],
    tells: "a",
  },
  checksum: {
    objects: [
      [Namespace, { metadata: { name: namespace, labels: { "keyturn.io/checksum": "enabled" } } }],
      [Secret, { ...named("shop-1", { annotations: { [defaultVersionAnnotation]: "1" } }), type: "kubernetes.io/tls", data: tls.data }],
    ],
    write: "/secretchecksums",
    tells: namespace,
    flags: { "checksum.kinds": "secrets" },
  },
  "eventing-auth": {
    objects: [[EventingAuth, { ...named("runtime"), spec: {} }]],
    flags: { "eventing-auth.credentials-namespace": namespace, "eventing-auth.kubeconfig-namespace": namespace },
    write: "/eventingauths/runtime",
    condition: [EventingAuth, "runtime"],
    tells: "runtime",
  },
  "eventing-auth-kyma": { objects: [[Kyma, { ...named("runtime"), spec: {} }]], write: "/eventingauths", tells: "runtime" },
  sidecars: {
    objects: [
      [
        Deployment,
        {
          ...named("web"),
          spec: { replicas: 1, selector: { matchLabels: labels }, template },
          status: { observedGeneration: 1, replicas: 1, updatedReplicas: 1, availableReplicas: 1 },
        },
      ],
      // A pod with a sidecar that no webhook would inject today.
      [
        ReplicaSet,
        { ...named("web-1", { labels, ownerReferences: [{ apiVersion: "apps/v1", kind: "Deployment", name: "web", uid: "", controller: true }] }) },
      ],
      [
        Pod,
        {
          ...named("web-1-x", { labels: { ...labels, "pod-template-hash": "1" }, ownerReferences: [replicaSet] }),
          spec: {
            containers: [
              { name: "app", image: "app:1" },
              { name: "istio-proxy", image: "istio/proxyv2:1.26.0" },
            ],
          },
        },
      ],
    ],
    write: "/deployments/web",
    tells: "web",
    flags: { "sidecars.istiod-config-read-delay": "0", "sidecars.annotation-cooldown": "0" },
  },
};

/** How writes are refused. */
export interface Refusal {
  readonly status: number;
  readonly reason: string;
}

/** The world. */
export class PromisedWorld {
  readonly #clock = new VirtualClock();
  readonly server = new SimulatedApiServer({ clock: this.#clock, random: seededRandom(1) });
  readonly #scenario: Scenario;
  /** Writes that were sent, but for Leases and Events: `PATCH configmaps/keys`. */
  readonly writes: string[] = [];
  /** Every Event: `Warning Forbidden site`. */
  readonly events: string[] = [];
  readonly logs: string[] = [];
  /** How the write that matters is refused. */
  refusal: Refusal | undefined;

  constructor(scenario: Scenario, controller: ControllerDefinition, { dryRun = false }: { readonly dryRun?: boolean } = {}) {
    this.#scenario = scenario;
    const kinds = [Toy, JWKSConfig, JWKS, RotationTarget, SecretCheckSum, EventingAuth, Kyma];
    const others = [Deployment, StatefulSet, DaemonSet, ReplicaSet, Pod, Service, ConfigMap, Namespace, Secret, MutatingWebhookConfiguration];
    for (const kind of [...kinds, ...others]) this.server.serve(kind);
    const network = new SimulatedNetwork({ server: this.server, clock: this.#clock, random: seededRandom(2) });
    const transport = this.#listing(network.connect({ name: "one", clock: new ProcessClock(this.#clock) }));
    const say = (_: unknown, text: string): void => void this.logs.push(text);
    const log: Logger = { debug() {}, info: say, warn: say, error: say, child: () => log };
    const context = { name: "one", transport, clock: this.#clock, random: seededRandom(3), incarnation: 1, signal: new AbortController().signal };
    void modelOperator("one", { controllers: [controller], operator: keyturn, elects: false, dryRun, log }).start(context);
  }

  #listing(wire: Transport): Transport {
    return {
      send: async (request, signal) => {
        const path = request.path.replace(/\?.*/, "").replace(/.*\/namespaces\/default\//, "");
        if (request.method === "GET" || path.includes("leases/") || path.endsWith("/leases")) return wire.send(request, signal);
        if (path.startsWith("events")) {
          const { type, reason, regarding } = objectOr(JSON.parse(request.body ?? "{}"));
          this.events.push(`${stringOr(type, "")} ${stringOr(reason, "")} ${stringOr(objectOr(regarding)["name"], "")}`);
          return wire.send(request, signal);
        }
        if (!request.path.includes("dryRun=All")) this.writes.push(`${request.method} ${path}`);
        if (!this.refusal || !this.#matters(request)) return wire.send(request, signal);
        const { status, reason } = this.refusal;
        const body = JSON.stringify({ kind: "Status", status: "Failure", code: status, reason, message: "no" });
        return { status, headers: { "content-type": "application/json" }, body: once(body) };
      },
      close: () => wire.close(),
    };
  }

  #matters({ path }: TransportRequest): boolean {
    const plain = path.replace(/\?.*/, "");
    return plain.includes(this.#scenario.write) && !plain.endsWith("/status");
  }

  /** Puts the scenario's objects in place. */
  put({ paused = false } = {}): void {
    const { objects, tells } = this.#scenario;
    for (const [kind, object] of objects) {
      const annotations = { ...object.metadata.annotations, ...(paused && object.metadata.name === tells && { [pausedAnnotation]: "true" }) };
      // The uids of owners are those that their objects got.
      const text = JSON.stringify({ apiVersion: apiVersionOf(kind), kind: kind.kind, ...object, metadata: { ...object.metadata, annotations } });
      const body = text.replaceAll('"uid":""', `"uid":"${this.#uidOfOwner(kind)}"`);
      const path = objectPath(kind, { ...(kind.namespaced && { namespace }), name: object.metadata.name ?? "" });
      for (const subresource of "status" in object ? ["", "/status"] : [""]) {
        this.#ask({
          method: "PATCH",
          path: `${path}${subresource}?fieldManager=user&force=true`,
          headers: { "content-type": "application/apply-patch+yaml" },
          body,
        });
      }
    }
  }

  #uidOfOwner(kind: Kind): string {
    const [owner, name] = kind === Pod ? [ReplicaSet, "web-1"] : [Deployment, "web"];
    return stringOr(objectOr(this.server.store.get(resourceOf(owner), `${namespace}/${name}`)?.["metadata"])["uid"], "none");
  }

  #ask(request: TransportRequest): void {
    const answer = this.server.handle(request);
    if (answer.type === "answer" && answer.status >= 300) throw new Error(`${request.path}: ${answer.body}`);
  }

  /** In steps, because some work, such as reading certificates, takes turns of the real event loop. */
  async pass(ms: number): Promise<void> {
    const untilMs = this.#clock.now() + ms;
    while (this.#clock.now() < untilMs) {
      await this.#clock.advance(Math.min(stepMs, untilMs - this.#clock.now()));
      await new Promise(setImmediate);
    }
  }

  /** Writes that matter. */
  get wanted(): readonly string[] {
    return this.writes.filter((write) => `/${write.split(" ")[1]}`.includes(this.#scenario.write) && !write.endsWith("/status"));
  }

  /** Whether something is told of a failure: in the condition if there is one, in Events in any case. */
  get told(): { readonly condition: boolean; readonly event: boolean } {
    const { condition, tells } = this.#scenario;
    const status = condition && JSON.stringify(this.server.store.get(resourceOf(condition[0]), `${namespace}/${condition[1]}`)?.["status"] ?? {});
    return {
      condition: status === undefined || /"status":"False"[^}]*"type":"Ready"|"type":"Ready"[^}]*"status":"False"/.test(status),
      event: this.events.some((event) => event.startsWith("Warning ") && event.endsWith(` ${tells}`)),
    };
  }
}

async function* once(body: string): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  yield new TextEncoder().encode(body);
}
