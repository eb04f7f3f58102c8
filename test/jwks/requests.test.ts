// Which requests a change of a JWKSConfig costs, in virtual time, with and without an API server that refuses some.
import {
  Deployment,
  type Kind,
  type KubeObject,
  objectPath,
  Secret,
  seededRandom,
  Service,
  type Transport,
  type TransportRequest,
} from "@keyturn/runtime";
import { modelOperator, ProcessClock, SimulatedApiServer, SimulatedNetwork, VirtualClock } from "@keyturn/runtime/testing";
import { beforeEach, expect, test } from "vitest";
import { JWKS, JWKSConfig } from "../../packages/keyturn/src/controllers/jwks/api.ts";
import { jwksFeature } from "../../packages/keyturn/src/controllers/jwks/feature.ts";
import { keyturn } from "../../packages/keyturn/src/feature/feature.ts";
import { makeCertificate, secretData } from "../../packages/keyturn/test/certificates.ts";
import { defaultSpec } from "../../packages/keyturn/test/jwks-world.ts";

const certificates = Array.from({ length: 3 }, () => makeCertificate());
const namespace = "default";
const limitsOff: Readonly<Record<string, string>> = {
  "jwks.reconcile-interval": "0",
  "jwks.reconciles-per-minute": "0",
  "jwks.configmap-interval": "0",
};

interface Refusal {
  readonly status: number;
  readonly reason: string;
}

/** One operator, whose requests are listed and can be refused. */
class Counted {
  readonly #clock = new VirtualClock();
  readonly #server = new SimulatedApiServer({ clock: this.#clock, random: seededRandom(1) });
  #requests: string[] = [];
  /** Reasons of all Events. */
  readonly events: string[] = [];
  refuse: (request: TransportRequest) => Refusal | undefined = () => undefined;

  constructor() {
    for (const kind of [JWKSConfig, JWKS, Deployment, Service]) this.#server.serve(kind);
    const network = new SimulatedNetwork({ server: this.#server, clock: this.#clock, random: seededRandom(2) });
    const wire = network.connect({ name: "one", clock: new ProcessClock(this.#clock) });
    const controllers = jwksFeature.controllers((flag) => flag.parse(limitsOff[flag.name])).slice(0, 1);
    const context = { name: "one", transport: this.#counting(wire), clock: this.#clock, random: seededRandom(3), incarnation: 1 };
    void modelOperator("one", { controllers, operator: keyturn }).start({ ...context, signal: new AbortController().signal });
  }

  #counting(wire: Transport): Transport {
    return {
      send: async (request, signal) => {
        const isList = request.method === "GET" && /[?&](watch|limit|resourceVersion)=/.test(request.path);
        if (isList || request.path.includes("/leases")) return wire.send(request, signal);
        const refusal = this.refuse(request);
        const path = request.path.replace(/\?.*/, "").replace(/.*\/namespaces\/default\//, "");
        if (path === "events") this.events.push(/"reason":"(\w+)"/.exec(request.body ?? "")?.[1] ?? "");
        this.#requests.push(`${request.method} ${path}${refusal ? ` ${refusal.status}` : ""}`);
        if (!refusal) return wire.send(request, signal);
        const body = JSON.stringify({ kind: "Status", status: "Failure", code: refusal.status, reason: refusal.reason, message: "no" });
        return { status: refusal.status, headers: { "content-type": "application/json" }, body: once(body) };
      },
      close: () => wire.close(),
    };
  }

  #apply<T extends KubeObject>(kind: Kind<T>, object: T): void {
    const path = `${objectPath(kind, { namespace, name: object.metadata.name ?? "" })}?fieldManager=user&force=true`;
    const apiVersion = kind.group === "" ? kind.version : `${kind.group}/${kind.version}`;
    const body = JSON.stringify({ apiVersion, kind: kind.kind, ...object });
    this.#ask({ method: "PATCH", path, headers: { "content-type": "application/apply-patch+yaml" }, body });
  }

  #ask(request: TransportRequest): void {
    const answer = this.#server.handle(request);
    if (answer.type === "answer" && answer.status >= 300) throw new Error(answer.body);
  }

  certificate(index: number): void {
    const { certificate, privateKey } = certificates[index] ?? makeCertificate();
    this.#apply(Secret, { metadata: { namespace, name: "tls" }, data: secretData(certificate, privateKey) });
  }

  config(spec: Partial<JWKSConfig["spec"]> = {}): void {
    const { nginxConfigMapName: _, ...plain } = defaultSpec;
    this.#apply<JWKSConfig>(JWKSConfig, { metadata: { namespace, name: "site" }, spec: { ...plain, ...spec } });
  }

  delete(): void {
    this.#ask({ method: "DELETE", path: objectPath(JWKSConfig, { namespace, name: "site" }) });
  }

  /** Lets time pass and returns the requests that were made meanwhile, without lists, watches and Leases. */
  async during(ms: number): Promise<readonly string[]> {
    this.#requests = [];
    this.events.length = 0;
    await this.#clock.advance(ms);
    return this.#requests;
  }

  /** What Ready says: `True Ready`. */
  get ready(): string | undefined {
    const text = JSON.stringify(this.#server.store.get("jwksconfigs.keyturn.io", "default/site"));
    const [condition = ""] = /\{[^{}]*"type":"Ready"[^{}]*\}/.exec(text) ?? [];
    return `${/"status":"(\w+)"/.exec(condition)?.[1]} ${/"reason":"(\w+)"/.exec(condition)?.[1]}`;
  }
}

async function* once(body: string): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  yield new TextEncoder().encode(body);
}

const isDocument = ({ path, method }: TransportRequest): boolean => path.includes("/configmaps/keys") && method !== "GET";
const isDeployment = ({ path, method }: TransportRequest): boolean => path.includes("/deployments/site") && method !== "GET";
const writesTo = (requests: readonly string[], part: string): number => requests.filter((request) => request.includes(part)).length;

let world: Counted;
beforeEach(async () => {
  world = new Counted();
  await world.during(20_000);
  world.certificate(0);
  world.config();
});

test("a publication, a rotation and a deletion cost what they must, and then nothing", async () => {
  const status = "PATCH jwksconfigs/site/status";
  const published = await world.during(60_000);
  expect(published.slice(0, 2)).toEqual(["PATCH jwksconfigs/site", "PATCH configmaps/keys"]);
  expect(published.slice(2).toSorted()).toEqual([status, "POST events"]);
  world.certificate(1);
  expect((await world.during(60_000)).toSorted()).toEqual(["PATCH configmaps/keys", status, "POST events", "POST events"]);
  expect(world.events.toSorted()).toEqual(["KeyAdded", "KeyRetired"]);
  expect(await world.during(600_000)).toEqual([]);
  world.delete();
  expect(await world.during(60_000)).toEqual(["PATCH jwksconfigs/site"]);
});

test("a conflict costs one more write, at once, and no Event is lost", async () => {
  await world.during(60_000);
  let left = 1;
  world.refuse = (request) => (isDocument(request) && left-- > 0 ? { status: 409, reason: "Conflict" } : undefined);
  world.certificate(1);
  expect(await world.during(500)).toHaveLength(5);
  expect([world.ready, world.events.toSorted()]).toEqual(["True Ready", ["KeyAdded", "KeyRetired"]]);
  expect(await world.during(60_000)).toEqual([]);
});

test.each([
  [403, "Forbidden", "Forbidden"],
  [503, "ServiceUnavailable", "ServerError"],
])("a document that is refused with %i for a minute is tried ever less often, and the object says so", async (status, reason, shown) => {
  await world.during(60_000);
  world.refuse = (request) => (isDocument(request) ? { status, reason } : undefined);
  world.certificate(1);
  const requests = await world.during(60_000);
  expect(requests.length).toBeLessThanOrEqual(7);
  expect([world.ready, world.events]).toEqual([`False ${shown}`, [shown]]);
  world.refuse = () => undefined;
  await world.during(120_000);
  expect([world.ready, world.events.toSorted()]).toEqual(["True Ready", ["KeyAdded", "KeyRetired"]]);
});

test("an nginx that is refused beside a rotation keeps nothing up, is told once, and heals by itself", async () => {
  await world.during(60_000);
  world.refuse = (request) => (isDeployment(request) ? { status: 422, reason: "Invalid" } : undefined);
  world.certificate(1);
  world.config({ nginxConfigMapName: "nginx" });
  const requests = await world.during(60_000);
  expect(requests.length).toBeLessThanOrEqual(11);
  expect(writesTo(requests, "configmaps/keys")).toBe(1);
  expect([world.ready, world.events.toSorted()]).toEqual(["False NginxRefused", ["KeyAdded", "KeyRetired", "NginxRefused"]]);
  world.refuse = () => undefined;
  expect(writesTo(await world.during(600_000), "configmaps/keys")).toBe(0);
  expect(world.ready).toBe("False PodsNotAvailable");
});
