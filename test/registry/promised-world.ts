// One controller of the registry in a world of its own, in virtual time: what it writes and says while users do what they do, and whoever refuses a write of it.
import {
  apiVersionOf,
  ConnectionError,
  ConfigMap,
  type ControllerDefinition,
  type createHttpTransport,
  DaemonSet,
  Deployment,
  Ingress,
  isRecord,
  type Kind,
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
  type TransportResponse,
} from "@keyturn/runtime";
import {
  type JsonObject,
  modelOperator,
  objectOr,
  ProcessClock,
  SimulatedApiServer,
  SimulatedNetwork,
  stringOr,
  VirtualClock,
} from "@keyturn/runtime/testing";
import { IngressCheckSum, SecretCheckSum } from "../../packages/keyturn/src/controllers/checksum/api.ts";
import { EventingAuth, Kyma } from "../../packages/keyturn/src/controllers/eventing-auth/api.ts";
import { JWKS, JWKSConfig } from "../../packages/keyturn/src/controllers/jwks/api.ts";
import { RotationTarget } from "../../packages/keyturn/src/controllers/rotation/api.ts";
import { ApplicationDirectory, handlers } from "../../packages/keyturn/src/dev/stand-ins/ias-directory.ts";
import { routeOf } from "../../packages/keyturn/src/dev/stand-ins/ias-failures.ts";
import { TokenSigner } from "../../packages/keyturn/src/dev/stand-ins/ias-protocol.ts";
import { keyturn } from "../../packages/keyturn/src/feature/feature.ts";
import { pausedAnnotation } from "../../packages/keyturn/src/feature/pause-and-selection.ts";
import { restartedAtAnnotation } from "../../packages/keyturn/src/workloads/annotations.ts";
import { statusResponse } from "../support/simulated-operator.ts";
import { type Change, namespace, type Scenario, tenantUrl } from "./scenarios.ts";
import { Toy } from "./toy-feature.ts";

/** What is drawn by lot is another with another seed. */
const seed = Number(process.env["SEED"] ?? 3);
/** In steps, because some work, such as reading certificates, takes turns of the real event loop. */
const stepMs = 2_000;
const installationKey = new Uint8Array(32).fill(7);

/** How a write is refused: with an HTTP status and perhaps headers, by a body that is no object's, by a connection that is cut, or by no response at all. */
export type Refusal =
  | { readonly status: number; readonly reason: string; readonly headers?: Readonly<Record<string, string>> }
  | "cut"
  | "garbage"
  | "silence";

/** How the controller is made; `open` leads to the servers outside that the world has. */
export type MakeController = (open: typeof createHttpTransport) => ControllerDefinition;

export class PromisedWorld {
  readonly #clock = new VirtualClock();
  readonly #server = new SimulatedApiServer({ clock: this.#clock, random: seededRandom(seed) });
  readonly #runtime = new SimulatedApiServer({ clock: this.#clock, random: seededRandom(1) });
  readonly #tenant = new ApplicationDirectory();
  readonly #signer = new TokenSigner();
  readonly #scenario: Scenario;
  readonly #controller: MakeController;
  #operator = new AbortController();
  /** Every write that was sent, but for Events, in the shape of `PATCH configmaps/keys`; what was refused included. */
  readonly writes: string[] = [];
  /** Every object that was asked for by its name, in the same shape; lists and watches are the caches' business. */
  readonly reads: string[] = [];
  /** Every Event: `Warning Forbidden site`. */
  readonly events: string[] = [];
  /** What Events and conditions say, word for word, as often as it is said. */
  readonly said: string[] = [];
  readonly logs: string[] = [];
  /** By what failed: how often it had in a row, at each failure. */
  readonly failures = new Map<string, number[]>();
  /** Which write or read is refused, and how. */
  refused: { readonly write: string; readonly how: Refusal } | undefined;

  constructor(scenario: Scenario, controller: MakeController, options: { readonly dryRun?: boolean } = {}) {
    this.#scenario = scenario;
    this.#controller = controller;
    const kinds = [Toy, JWKSConfig, JWKS, RotationTarget, SecretCheckSum, IngressCheckSum, EventingAuth, Kyma];
    const others = [
      Deployment,
      StatefulSet,
      DaemonSet,
      ReplicaSet,
      Pod,
      Service,
      ConfigMap,
      Ingress,
      Namespace,
      Secret,
      MutatingWebhookConfiguration,
    ];
    for (const kind of [...kinds, ...others]) this.#server.serve(kind);
    this.startOperator(options);
  }

  /** In the place of the one before. */
  startOperator({ dryRun = false }: { readonly dryRun?: boolean } = {}): void {
    this.#operator.abort();
    this.#operator = new AbortController();
    const say = (fields: unknown, text: string): void => {
      this.logs.push(text);
      const { key, part, failures } = isRecord(fields) ? fields : {};
      if (typeof failures !== "number") return;
      const which = `${String(key)} ${String(part)}`;
      this.failures.set(which, [...(this.failures.get(which) ?? []), failures]);
    };
    const log: Logger = { debug() {}, info: say, warn: say, error: say, child: () => log };
    const open = ({ server }: { readonly server: string }): Transport =>
      server === tenantUrl ? this.#toTenant() : this.#listing("runtime's ", this.#wireTo(this.#runtime));
    const transport = this.#listing("", this.#wireTo(this.#server));
    const { signal } = this.#operator;
    const context = { name: "one", transport, clock: this.#clock, random: seededRandom(seed), incarnation: 1, signal };
    const controllers = [this.#controller(open)];
    void modelOperator("one", { controllers, operator: keyturn, elects: false, dryRun, log, installationKey }).start(context);
  }

  #wireTo(server: SimulatedApiServer): Transport {
    const network = new SimulatedNetwork({ server, clock: this.#clock, random: seededRandom(2) });
    return network.connect({ name: "one", clock: new ProcessClock(this.#clock) });
  }

  #listing(where: string, wire: Transport): Transport {
    return {
      send: async (request, signal) => {
        const path = request.path.replace(/\?.*/, "").replace(/.*\/namespaces\/[^/]+\//, "");
        if (request.method === "GET" && isOfCaches(request)) return wire.send(request, signal);
        if (isDryRun(request)) return wire.send(request, signal);
        if (path.startsWith("events")) {
          const { type, reason, regarding, note } = objectOr(JSON.parse(request.body ?? "{}"));
          const event = `${stringOr(type, "")} ${stringOr(reason, "")} ${stringOr(objectOr(regarding)["name"], "")}`;
          this.events.push(event);
          this.said.push(`${event}: ${stringOr(note, "again")}`);
          return wire.send(request, signal);
        }
        const write = this.#shapeOf(`${where}${request.method} ${path}`, request);
        const answer = await this.#answerOf(write, nameIn(request), signal);
        if (!answer) this.said.push(...conditionsIn(request).map((condition) => `${path}: ${condition}`));
        return answer ?? wire.send(request, signal);
      },
      close: () => wire.close(),
    };
  }

  #toTenant(): Transport {
    return {
      send: async (request, signal) => {
        const { pathname, searchParams: query } = new URL(request.path, tenantUrl);
        const route = routeOf(request.method, pathname);
        if (!route || route.step === "token") return answer(200, JSON.stringify({ access_token: "a token" }));
        const refused = await this.#answerOf(`tenant's ${request.method === "GET" ? "GET " : ""}${route.step}`, "", signal);
        if (refused) return refused;
        const tenant = {
          url: tenantUrl,
          username: "admin",
          password: "admin",
          directory: this.#tenant,
          signer: this.#signer,
          shownAfterMs: 0,
        } as const;
        const { authorization } = request.headers ?? {};
        const given = { ...route, query, authorization, body: request.body ?? "" };
        const { status, body, headers } = await handlers[route.step](given, { ...tenant, clientIdFrom: "first-secret", nowMs: this.#clock.now() });
        return answer(status, body, headers);
      },
      close: () => undefined,
    };
  }

  /** Lists a write or read of the object of a name. How it is refused, if it is. */
  #answerOf(write: string, name: string, signal?: AbortSignal): TransportResponse | Promise<TransportResponse> | undefined {
    (/\bGET /.test(write) ? this.reads : this.writes).push(write);
    if (this.refused?.write !== write) return undefined;
    const { how } = this.refused;
    if (how === "cut") throw new ConnectionError("cut");
    if (how === "garbage") return answer(200, "<html>");
    if (how === "silence") return this.#silence(signal);
    return { ...statusResponse({ ...how, name }), headers: { "content-type": "application/json", ...how.headers } };
  }

  /** As the transport ends it. */
  #silence(signal?: AbortSignal): Promise<never> {
    return new Promise((_, reject) => {
      const giveUp = (): void => reject(new ConnectionError("no answer"));
      this.#clock.setTimer(30_000, giveUp);
      signal?.addEventListener("abort", giveUp, { once: true });
    });
  }

  /** Names that are made up are all the same, and a name that is only in the body is shown. */
  #shapeOf(line: string, { body }: TransportRequest): string {
    const name = line.includes("POST ") ? `/${stringOr(objectOr(objectOr(JSON.parse(body ?? "{}"))["metadata"])["name"], "")}` : "";
    return `${line}${name}`.replace(this.#scenario.madeUp ?? /$^/, "…");
  }

  /** What users do, in the order of the scenario. */
  change(changes: readonly Change[], { paused = false } = {}): void {
    for (const { kind, object, isGone } of changes) {
      const path = objectPath(kind, { ...(kind.namespaced && { namespace }), name: object.metadata.name ?? "" });
      if (isGone) {
        this.#ask({ method: "DELETE", path });
        continue;
      }
      const annotations = {
        ...object.metadata.annotations,
        ...(paused && object.metadata.name === this.#scenario.tells && { [pausedAnnotation]: "true" }),
      };
      const text = JSON.stringify({ apiVersion: apiVersionOf(kind), kind: kind.kind, ...object, metadata: { ...object.metadata, annotations } });
      const body = text
        .replaceAll('"uid":""', `"uid":"${this.#uidOfOwner(kind)}"`)
        .replaceAll('restartedAt":""', `restartedAt":"${this.#restartedAt}"`);
      for (const subresource of "status" in object ? ["", "/status"] : [""]) {
        const headers = { "content-type": "application/apply-patch+yaml" };
        this.#ask({ method: "PATCH", path: `${path}${subresource}?fieldManager=user&force=true`, headers, body });
      }
    }
  }

  /** A change that is another for each count, and brings a run. */
  churn(count: number): void {
    const { churn, life } = this.#scenario;
    const annotated = ({ kind, object: { metadata, ...rest } }: Change): Change => ({
      kind,
      object: { ...rest, metadata: { ...metadata, annotations: { ...metadata.annotations, "example.com/count": String(count) } } },
    });
    this.change(churn?.(count) ?? (life[0] ?? []).map(annotated));
  }

  /** Owners have the uids that they were given. */
  #uidOfOwner(kind: Kind): string {
    const [owner, name] = kind === Pod ? [ReplicaSet, "web-1"] : [Deployment, "web"];
    return stringOr(objectOr(this.#server.store.get(resourceOf(owner), `${namespace}/${name}`)?.["metadata"])["uid"], "none");
  }

  /** New pods of a restarted workload have its template's annotation. */
  get #restartedAt(): string {
    const template = objectOr(objectOr(this.#server.store.get(resourceOf(Deployment), `${namespace}/web`)?.["spec"])["template"]);
    return stringOr(objectOr(objectOr(template["metadata"])["annotations"])[restartedAtAnnotation], "");
  }

  #ask(request: TransportRequest): void {
    const answer = this.#server.handle(request);
    if (answer.type === "answer" && answer.status >= 300) throw new Error(`${request.path}: ${answer.body}`);
  }

  async pass(ms: number): Promise<void> {
    const untilMs = this.#clock.now() + ms;
    while (this.#clock.now() < untilMs) {
      await this.#clock.advance(Math.min(stepMs, untilMs - this.#clock.now()));
      await new Promise(setImmediate);
    }
  }

  /** What Ready says of the object that has conditions: `False Forbidden`. Undefined if there is none, or no condition. */
  get ready(): string | undefined {
    const { condition, tells } = this.#scenario;
    return condition && readyOf(this.#server.store.get(resourceOf(condition), `${namespace}/${tells}`));
  }

  /** What Ready says of every object of that kind that has it. */
  get allReady(): readonly string[] {
    const { condition } = this.#scenario;
    const objects = condition ? this.#server.store.list(resourceOf(condition)) : [];
    return objects.flatMap(([, object]) => readyOf(object) ?? []);
  }
}

function readyOf(object: JsonObject | undefined): string | undefined {
  const { conditions } = objectOr(object?.["status"]);
  const ready = (Array.isArray(conditions) ? conditions : []).map(objectOr).find(({ type }) => type === "Ready");
  return ready && `${stringOr(ready["status"], "")} ${stringOr(ready["reason"], "")}`;
}

/** A list or a watch; of a Lease, and of what lies in no namespace, there is more than one reader. */
function isOfCaches({ path }: TransportRequest): boolean {
  return /[?&](?:watch|limit|resourceVersion|labelSelector)=/.test(path) || !path.includes("/namespaces/") || path.includes("/leases/");
}

/** The name of what is written, also of what is created. */
function nameIn({ method, path, body }: TransportRequest): string {
  if (method === "POST") return stringOr(objectOr(objectOr(JSON.parse(body ?? "{}"))["metadata"])["name"], "");
  return /^[^?]*\/namespaces\/[^/]+\/[^/]+\/([^/?]+)/.exec(path)?.[1] ?? "";
}

/** What a status that is written says: `Ready False Forbidden: no`. */
function conditionsIn({ path, body }: TransportRequest): readonly string[] {
  const { conditions } = path.includes("/status?") ? objectOr(objectOr(JSON.parse(body ?? "{}"))["status"]) : {};
  return (Array.isArray(conditions) ? conditions : [])
    .map(objectOr)
    .map((condition) => ["type", "status", "reason", "message"].map((member) => stringOr(condition[member], "")).join(" "));
}

/** Of a deletion the body says so. */
function isDryRun({ path, body }: TransportRequest): boolean {
  return path.includes("dryRun=All") || body?.includes('"dryRun":["All"]') === true;
}

function answer(status: number, body: string, headers: Readonly<Record<string, string>> = { "content-type": "application/json" }): TransportResponse {
  return { status, headers, body: ReadableStream.from([new TextEncoder().encode(body)]) };
}
