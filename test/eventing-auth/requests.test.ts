// Which requests an EventingAuth costs, to either API server and to the identity provider, in virtual time.
import { Buffer } from "node:buffer";
import {
  type Kind,
  type KubeObject,
  objectPath,
  Secret,
  seededRandom,
  type Transport,
  type TransportRequest,
  type TransportResponse,
} from "@keyturn/runtime";
import { modelOperator, objectOr, ProcessClock, SimulatedApiServer, SimulatedNetwork, stringOr, VirtualClock } from "@keyturn/runtime/testing";
import { beforeEach, expect, test } from "vitest";
import { EventingAuth, eventingAuthFinalizer } from "../../packages/keyturn/src/controllers/eventing-auth/api.ts";
import { issuingController } from "../../packages/keyturn/src/controllers/eventing-auth/controller.ts";
import { readSettings } from "../../packages/keyturn/src/controllers/eventing-auth/flags.ts";
import { ApplicationDirectory, handlers } from "../../packages/keyturn/src/dev/stand-ins/ias-directory.ts";
import { routeOf } from "../../packages/keyturn/src/dev/stand-ins/ias-failures.ts";
import { TokenSigner } from "../../packages/keyturn/src/dev/stand-ins/ias-protocol.ts";
import { keyturn } from "../../packages/keyturn/src/feature/feature.ts";
import { selectsAll } from "../../packages/keyturn/src/feature/pause-and-selection.ts";

/** The one that both API servers have. */
const namespace = "default";
const runtime = "runtime";
const tenantUrl = "https://tenant.example.com";
const flags: Readonly<Record<string, string>> = {
  "eventing-auth.credentials-namespace": namespace,
  "eventing-auth.kubeconfig-namespace": namespace,
  "eventing-auth.target-namespace": namespace,
  "eventing-auth.rotate-after": "2h",
  "eventing-auth.rotation-overlap": "30m",
  "eventing-auth.check-interval": "1h",
};
const kubeconfig = JSON.stringify({
  apiVersion: "v1",
  kind: "Config",
  "current-context": "runtime",
  contexts: [{ name: "runtime", context: { cluster: "runtime", user: "runtime" } }],
  clusters: [{ name: "runtime", cluster: { server: "https://runtime.example.com" } }],
  users: [{ name: "runtime", user: { token: "of-the-runtime" } }],
});

const base64 = (texts: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(texts).map(([key, value]) => [key, Buffer.from(value).toString("base64")]));

/** One operator, a control plane, a runtime's cluster and a tenant. All requests are listed, and those that name `refused` are answered with a 503. */
class Counted {
  readonly clock = new VirtualClock();
  readonly tenant = new ApplicationDirectory();
  readonly #controlPlane = new SimulatedApiServer({ clock: this.clock, random: seededRandom(1) });
  readonly #cluster = new SimulatedApiServer({ clock: this.clock, random: seededRandom(2) });
  readonly #signer = new TokenSigner();
  #requests: string[] = [];
  /** Reasons of all Events. */
  readonly events: string[] = [];
  refused: string | undefined;

  constructor() {
    this.#controlPlane.serve(EventingAuth);
    const controller = issuingController({
      selects: selectsAll,
      settings: readSettings((flag) => flag.parse(flags[flag.name])),
      provider: { type: "ias", allowHttp: false, timeoutMs: 10_000 },
      openTransport: ({ server }) => (server === tenantUrl ? this.#toTenant() : this.#counting("target", this.#wireTo(this.#cluster))),
    });
    const transport = this.#counting("control plane", this.#wireTo(this.#controlPlane));
    const context = { name: "one", transport, clock: this.clock, random: seededRandom(3), incarnation: 1 };
    void modelOperator("one", { controllers: [controller], operator: keyturn }).start({ ...context, signal: new AbortController().signal });
    this.apply(Secret, {
      metadata: { namespace, name: "eventing-auth-ias-creds" },
      data: base64({ url: tenantUrl, username: "admin", password: "admin" }),
    });
    this.apply(Secret, { metadata: { namespace, name: `kubeconfig-${runtime}` }, data: base64({ config: kubeconfig }) });
  }

  #wireTo(server: SimulatedApiServer): Transport {
    const network = new SimulatedNetwork({ server, clock: this.clock, random: seededRandom(4) });
    return network.connect({ name: "one", clock: new ProcessClock(this.clock) });
  }

  #counting(where: string, wire: Transport): Transport {
    return {
      send: async (request, signal) => {
        const isList = request.method === "GET" && /[?&](watch|limit|resourceVersion)=/.test(request.path);
        if (isList || request.path.includes("/leases")) return wire.send(request, signal);
        const path = request.path.replace(/\?.*/, "").replace(/.*\/namespaces\/[^/]+\//, "");
        if (path === "events") this.events.push(/"reason":"(\w+)"/.exec(request.body ?? "")?.[1] ?? "");
        const isRefused = this.#note(`${where}: ${request.method} ${path}`);
        return isRefused
          ? json(503, { kind: "Status", status: "Failure", code: 503, reason: "ServiceUnavailable", message: "no" })
          : wire.send(request, signal);
      },
      close: () => wire.close(),
    };
  }

  #toTenant(): Transport {
    return {
      send: async (request) => {
        const { pathname, searchParams: query } = new URL(request.path, tenantUrl);
        const route = routeOf(request.method, pathname);
        if (this.#note(`tenant: ${route?.step}`)) return json(503, { code: 503, message: "not now" });
        if (!route || route.step === "token") return json(200, { access_token: "a token" });
        const signer = this.#signer;
        const tenant = {
          url: tenantUrl,
          username: "admin",
          password: "admin",
          directory: this.tenant,
          signer,
          clientIdFrom: "first-secret",
          shownAfterMs: 0,
        } as const;
        const { authorization } = request.headers ?? {};
        const answer = await handlers[route.step](
          { ...route, query, authorization, body: request.body ?? "" },
          { ...tenant, nowMs: this.clock.now() },
        );
        return { status: answer.status, headers: answer.headers, body: once(answer.body) };
      },
      close: () => undefined,
    };
  }

  /** Lists a request. True if it is to be refused. */
  #note(request: string): boolean {
    const isRefused = this.refused !== undefined && request.startsWith(this.refused);
    this.#requests.push(`${request}${isRefused ? " 503" : ""}`);
    return isRefused;
  }

  apply<T extends KubeObject>(kind: Kind<T>, object: T): void {
    const path = `${objectPath(kind, { namespace, name: object.metadata.name ?? "" })}?fieldManager=user&force=true`;
    const apiVersion = kind.group === "" ? kind.version : `${kind.group}/${kind.version}`;
    const body = JSON.stringify({ apiVersion, kind: kind.kind, ...object });
    this.#ask({ method: "PATCH", path, headers: { "content-type": "application/apply-patch+yaml" }, body });
  }

  #ask(request: TransportRequest): void {
    const answer = this.#controlPlane.handle(request);
    if (answer.type === "answer" && answer.status >= 300) throw new Error(answer.body);
  }

  /** As the controller of Kymas makes it, or as somebody by hand. */
  create(finalizers: readonly string[] = [eventingAuthFinalizer]): void {
    this.apply<EventingAuth>(EventingAuth, { metadata: { namespace, name: runtime, finalizers }, spec: {} });
  }

  touch(): void {
    const headers = { "content-type": "application/merge-patch+json" };
    const body = JSON.stringify({ metadata: { labels: { touched: "yes" } } });
    this.#ask({ method: "PATCH", path: objectPath(EventingAuth, { namespace, name: runtime }), headers, body });
  }

  delete(): void {
    this.#ask({ method: "DELETE", path: objectPath(EventingAuth, { namespace, name: runtime }) });
  }

  /** Lets time pass and returns the requests that were made meanwhile, without lists, watches and Leases. */
  async during(ms: number): Promise<readonly string[]> {
    this.#requests = [];
    this.events.length = 0;
    await this.clock.advance(ms);
    return this.#requests;
  }

  /** Lets a day pass at most, until the requests are these. */
  async duringUntil(isOver: (requests: readonly string[]) => boolean): Promise<void> {
    this.#requests = [];
    for (let seconds = 0; seconds < 86_400 && !isOver(this.#requests); seconds++) await this.clock.advance(1_000);
  }

  get #object() {
    return this.#controlPlane.store.get("eventingauths.operator.kyma-project.io", `${namespace}/${runtime}`);
  }

  /** What the object's state is; undefined if there is none, or no object. */
  get state(): string | undefined {
    return stringOr(objectOr(objectOr(this.#object)["status"])["state"], "") || undefined;
  }

  /** The conditions in their order: `Ready False InProgress`. */
  get conditions(): readonly string[] {
    const conditions = objectOr(objectOr(this.#object)["status"])["conditions"];
    return Array.isArray(conditions)
      ? conditions.map(objectOr).map(({ type, status, reason }) => `${stringOr(type, "")} ${stringOr(status, "")} ${stringOr(reason, "")}`)
      : [];
  }

  get isLeft(): boolean {
    return (
      this.#object !== undefined ||
      this.#cluster.store.get("secrets", `${namespace}/eventing-webhook-auth`) !== undefined ||
      this.tenant.list().length > 0
    );
  }
}

function json(status: number, body: object): TransportResponse {
  return { status, headers: { "content-type": "application/json" }, body: once(JSON.stringify(body)) };
}

async function* once(body: string): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  yield new TextEncoder().encode(body);
}

const times = (requests: readonly string[], part: string): number => requests.filter((request) => request.startsWith(part)).length;

const metadata = "control plane: PATCH eventingauths/runtime";
const status = "control plane: PATCH eventingauths/runtime/status";
const event = "control plane: POST events";
const kubeconfigRead = "control plane: GET secrets/kubeconfig-runtime";
const look = ["tenant: read", "tenant: list-secrets"];
const check = ["target: GET secrets/eventing-webhook-auth", "tenant: token"];
const creation = [
  "tenant: find",
  metadata,
  "tenant: create",
  status,
  event,
  "tenant: read",
  "tenant: discover",
  "tenant: create-secret",
  "tenant: read",
  "target: POST secrets",
  event,
  ...check,
  status,
];
/** Half a minute after a creation, and after the minute: whether the request has made two. */
const sweep = [...look, "tenant: find"];
const allIsWell = [
  "IASApplicationReady True IASApplicationCreated",
  "SecretReady True SecretCreated",
  "TargetReachable True TargetReached",
  "CredentialsValid True TokenIssued",
  "Ready True Ready",
];

let world: Counted;
beforeEach(async () => {
  world = new Counted();
  await world.during(20_000);
});

test("a creation, a rotation and a deletion cost what they must, and nothing to do costs nothing", async () => {
  world.create();
  expect(await world.during(60_000)).toEqual([kubeconfigRead, ...creation, ...sweep]);
  expect([world.events, world.state, world.conditions]).toEqual([["ApplicationCreated", "SecretIssued"], "Ready", allIsWell]);

  expect(await world.during(600_000)).toEqual([...sweep, metadata]);
  world.touch();
  expect(await world.during(60_000)).toEqual([]);
  // The check of every hour, the list of all applications, and the rotation after two.
  expect((await world.during(3_600_000)).toSorted()).toEqual([...look, "tenant: find"].toSorted());
  await world.during(7_200_000 - 3_600_000 - 720_000 - 1_000);
  expect(await world.during(60_000)).toEqual([
    ...look,
    "tenant: create-secret",
    "target: PATCH secrets/eventing-webhook-auth",
    event,
    ...check,
    status,
  ]);
  expect([world.events, world.conditions]).toEqual([["SecretRotated"], allIsWell]);
  expect(await world.during(1_700_000)).toEqual([]);
  expect(await world.during(100_000)).toEqual([...look, "tenant: delete-secret", event]);

  world.delete();
  const target = "target: DELETE secrets/eventing-webhook-auth";
  expect(await world.during(60_000)).toEqual(["tenant: read", "tenant: delete", "tenant: read", "tenant: find", "tenant: find", target, metadata]);
  expect(world.isLeft).toBe(false);
  expect(await world.during(600_000)).toEqual([]);
});

test("an object that was made by hand costs one request more, for its finalizer", async () => {
  world.create([]);
  expect(await world.during(60_000)).toEqual([kubeconfigRead, metadata, ...creation, ...sweep]);
});

test.each([
  // The most that there were when every controller had its own way to try again; the jitter of the pauses makes a try of four requests more or less.
  ["the time of a creation cannot be written down", metadata, 42, ["ControlPlaneRefused"], []],
  ["the status cannot be written", status, 50, ["ControlPlaneRefused"], []],
  ["the tenant finds nothing", "tenant: find", 42, ["IASApplicationCreationFailed"], ["Ready False IASApplicationCreationFailed"]],
  ["the tenant makes nothing", "tenant: create", 15, ["IASApplicationCreationFailed"], ["Ready False IASApplicationCreationFailed"]],
  ["the runtime's cluster takes nothing", "target: POST", 80, ["ApplicationCreated", "SecretCreationFailed"], ["Ready False SecretCreationFailed"]],
])(
  "with a 503 for a minute because %s, it is tried ever less often, said once, and goes on by itself",
  async (_why, refused, most, said, conditions) => {
    world.refused = refused;
    world.create();
    const requests = await world.during(60_000);
    expect(requests.length).toBeLessThanOrEqual(most);
    expect(times(requests, "tenant: create") - times(requests, "tenant: create-secret")).toBeLessThanOrEqual(1);
    expect(world.events.filter((reason) => reason !== "OldSecretsDeleted")).toEqual(said);
    expect(world.conditions.filter((condition) => condition.startsWith("Ready"))).toEqual(conditions);
    world.refused = undefined;
    const after = await world.during(600_000);
    expect([after.length <= 22, world.state, world.conditions, world.tenant.list().length]).toEqual([true, "Ready", allIsWell, 1]);
  },
);

test("a minute of 503s at the tenant is told of an object that was ready, four seconds are not", async () => {
  world.create();
  await world.during(60_000);
  world.refused = "tenant: read";
  await world.duringUntil((requests) => times(requests, "tenant: read") > 0);
  await world.during(4_000);
  world.refused = undefined;
  await world.during(60_000);
  expect([world.events, world.state]).toEqual([[], "Ready"]);
  world.refused = "tenant: read";
  await world.duringUntil((requests) => times(requests, "tenant: read") > 0);
  const requests = await world.during(60_000);
  expect(requests.length).toBeLessThanOrEqual(42);
  expect([world.events, world.state]).toEqual([["IASApplicationCreationFailed"], "NotReady"]);
});

test("whoever makes and deletes an object in a loop uses up no more than its share of the identity provider", async () => {
  let asked = 0;
  for (let seconds = 0; seconds < 120; seconds++) {
    if (!world.isLeft) world.create();
    asked += times(await world.during(500), "tenant:");
    if (world.isLeft) world.delete();
    asked += times(await world.during(500), "tenant:");
  }
  // A creation and a deletion are eleven requests in two runs: twenty runs, and one every 5 s.
  expect(asked).toBeLessThanOrEqual((20 + 120 / 5) * 6);
  expect(world.tenant.counters.created).toBeLessThanOrEqual(20 + 120 / 5);
});
