// Which requests a change costs a set of three targets, in virtual time, with and without an API server that refuses some.
import { objectPath, Secret, seededRandom, type Transport, type TransportRequest } from "@keyturn/runtime";
import { modelOperator, objectOr, ProcessClock, SimulatedApiServer, SimulatedNetwork, stringOr, VirtualClock } from "@keyturn/runtime/testing";
import { beforeEach, expect, test } from "vitest";
import { RotationTarget, rotationSetAnnotation, sourceAnnotation } from "../../packages/keyturn/src/controllers/rotation/api.ts";
import { rotationFeature } from "../../packages/keyturn/src/controllers/rotation/feature.ts";
import { keyturn } from "../../packages/keyturn/src/feature/feature.ts";

const namespace = "default";
const targets = ["a", "b", "c"];
/** Longer than all three delays together. */
const roundMs = 100_000;

interface Refusal {
  readonly status: number;
  readonly reason: string;
}

/** One operator, whose requests are listed and can be refused. */
class CountedRotation {
  readonly #clock = new VirtualClock();
  readonly #server = new SimulatedApiServer({ clock: this.#clock, random: seededRandom(1) });
  #requests: string[] = [];
  /** Since the last look: `VersionRotated a`. */
  readonly events: string[] = [];
  /** How a request is refused instead of being served. */
  refuse: (request: TransportRequest) => Refusal | undefined = () => undefined;

  constructor() {
    this.#server.serve(RotationTarget);
    const network = new SimulatedNetwork({ server: this.#server, clock: this.#clock, random: seededRandom(2) });
    const transport = this.#counting(network.connect({ name: "one", clock: new ProcessClock(this.#clock) }));
    const controllers = rotationFeature.controllers((flag) => flag.parse(undefined));
    const context = { name: "one", transport, clock: this.#clock, random: seededRandom(3), incarnation: 1, signal: new AbortController().signal };
    void modelOperator("one", { controllers, operator: keyturn }).start(context);
  }

  #counting(wire: Transport): Transport {
    return {
      send: async (request, signal) => {
        const isList = request.method === "GET" && /[?&](watch|limit|resourceVersion)=/.test(request.path);
        if (isList || request.path.includes("/leases")) return wire.send(request, signal);
        const refusal = this.refuse(request);
        const path = request.path.replace(/\?.*/, "").replace(/.*\/namespaces\/default\//, "");
        if (path.startsWith("events") && !refusal) {
          const event = objectOr(JSON.parse(request.body ?? "{}"));
          this.events.push(`${stringOr(event["reason"], "")} ${stringOr(objectOr(event["regarding"])["name"], "")}`);
        }
        this.#requests.push(`${request.method} ${path}${refusal ? ` ${refusal.status}` : ""}`);
        if (!refusal) return wire.send(request, signal);
        const body = JSON.stringify({ kind: "Status", status: "Failure", code: refusal.status, reason: refusal.reason, message: "no" });
        return { status: refusal.status, headers: { "content-type": "application/json" }, body: once(body) };
      },
      close: () => wire.close(),
    };
  }

  #apply(path: string, object: object): void {
    const headers = { "content-type": "application/apply-patch+yaml" };
    const answer = this.#server.handle({ method: "PATCH", path: `${path}?fieldManager=user&force=true`, headers, body: JSON.stringify(object) });
    if (answer.type === "answer" && answer.status >= 300) throw new Error(answer.body);
  }

  putTargets(): void {
    for (const [index, name] of targets.entries()) {
      const defaults = { deletionMode: "keep", whenUnfilled: "Backfill", changePolicy: "Settled" };
      const spec = { ...defaults, rotationSet: "keys", rotationOrder: index + 1, rotationDelay: "10s" };
      const object = { apiVersion: "rotator.k8s.telekom.com/v1", kind: "RotationTarget", metadata: { namespace, name }, spec };
      this.#apply(objectPath(RotationTarget, { namespace, name }), object);
    }
  }

  putSource(value: string): void {
    const annotations = { [rotationSetAnnotation]: "keys", [sourceAnnotation]: "true" };
    const metadata = { namespace, name: "source", annotations };
    this.#apply(objectPath(Secret, { namespace, name: "source" }), { apiVersion: "v1", kind: "Secret", metadata, data: { value } });
  }

  /** Lets time pass and returns the requests that were made meanwhile, without lists, watches and Leases. */
  async during(ms: number): Promise<readonly string[]> {
    this.#requests = [];
    this.events.length = 0;
    await this.#clock.advance(ms);
    return this.#requests;
  }

  /** What the targets hold. */
  get held(): readonly string[] {
    return targets.map((name) => stringOr(objectOr(this.#server.store.get("secrets", `${namespace}/${name}`)?.["data"])["value"], ""));
  }

  /** What the targets' Ready says: `True UpToDate`. */
  get ready(): readonly string[] {
    return targets.map((name) => {
      const { conditions } = objectOr(this.#server.store.get("rotationtargets.rotator.k8s.telekom.com", `${namespace}/${name}`)?.["status"]);
      const ready = objectOr((Array.isArray(conditions) ? conditions : []).find((each) => objectOr(each)["type"] === "Ready"));
      return `${stringOr(ready["status"], "")} ${stringOr(ready["reason"], "")}`;
    });
  }
}

async function* once(body: string): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  yield new TextEncoder().encode(body);
}

const isWrite = ({ path, method }: TransportRequest, to: string): boolean => method !== "GET" && path.replace(/\?.*/, "").endsWith(to);
const refusals = (requests: readonly string[]): number => requests.filter((request) => / \d+$/.test(request)).length;
const upToDate = ["True UpToDate", "True UpToDate", "True UpToDate"];
const forbidden: Refusal = { status: 403, reason: "Forbidden" };

let world: CountedRotation;
beforeEach(async () => {
  world = new CountedRotation();
  await world.during(20_000);
});

/** Each target has a version of its own: a is v3, b is v2, c is v1. */
async function fill(): Promise<void> {
  world.putTargets();
  for (const version of ["v1", "v2", "v3"]) {
    world.putSource(version);
    await world.during(roundMs);
  }
  expect(world.held).toEqual(["v3", "v2", "v1"]);
}

test("a new set, its first version and the next cost what they must, and then nothing", async () => {
  world.putTargets();
  expect(await world.during(20_000)).toHaveLength(6);
  world.putSource("v1");
  expect(await world.during(roundMs)).toHaveLength(12);
  expect(world.events.toSorted()).toEqual(["VersionFilled a", "VersionFilled b", "VersionFilled c"]);
  world.putSource("v2");
  expect(await world.during(roundMs)).toHaveLength(9);
  expect(world.events).toEqual(["VersionRotated a"]);
  expect(world.ready).toEqual(upToDate);
  expect(await world.during(3_600_000)).toEqual([]);
});

test("a conflict costs a note and a try, and no Event is lost", async () => {
  await fill();
  world.putSource("v4");
  const plain = (await world.during(roundMs)).length;
  const rotated = ["VersionRotated a", "VersionRotated b", "VersionRotated c"];
  expect(world.events.toSorted()).toEqual(rotated);
  let left = 1;
  world.refuse = (request) => (isWrite(request, "/secrets/a") && left-- > 0 ? { status: 409, reason: "Conflict" } : undefined);
  world.putSource("v5");
  const requests = await world.during(roundMs);
  expect(refusals(requests)).toBe(1);
  expect(requests.length).toBeLessThanOrEqual(plain + 3);
  expect(world.events.toSorted()).toEqual(rotated);
  expect(world.held).toEqual(["v5", "v4", "v3"]);
});

test("a target that is refused is set aside, the rest goes on, and it gets its version when that is taken", async () => {
  await fill();
  world.refuse = (request) => (isWrite(request, "/secrets/a") ? forbidden : undefined);
  world.putSource("v4");
  const requests = await world.during(roundMs);
  expect(requests.length).toBeLessThanOrEqual(19);
  expect(refusals(requests)).toBe(1);
  expect(world.events.toSorted()).toEqual(["VersionRotated b", "VersionRotated c", "WriteRefused a"]);
  expect(world.held).toEqual(["v3", "v3", "v2"]);
  expect(world.ready).toEqual(["False WriteRefused", "True UpToDate", "True UpToDate"]);
  // Another version is tried at once.
  world.putSource("v5");
  expect(refusals(await world.during(roundMs))).toBe(1);
  world.refuse = () => undefined;
  await world.during(600_000);
  expect(world.events).toEqual(["VersionRotated a"]);
  expect(world.held[0]).toBe("v5");
  expect(world.ready).toEqual(upToDate);
});

test("a history that cannot be written stops the set, and costs little", async () => {
  await fill();
  world.refuse = (request) => (isWrite(request, "/secrets") ? forbidden : undefined);
  world.putSource("v4");
  expect((await world.during(60_000)).length).toBeLessThanOrEqual(16);
  expect(world.events.toSorted()).toEqual(["WriteRefused a", "WriteRefused b", "WriteRefused c"]);
  expect(world.ready).toEqual(Array(3).fill("False WriteRefused"));
  expect(world.held).toEqual(["v3", "v2", "v1"]);
  expect(refusals(await world.during(3_600_000))).toBeLessThanOrEqual(10);
  world.refuse = () => undefined;
  await world.during(600_000 + roundMs);
  expect(world.held).toEqual(["v4", "v3", "v2"]);
  expect(world.ready).toEqual(upToDate);
});

test("old records that cannot be deleted show, and versions move all the same", async () => {
  await fill();
  world.refuse = ({ method, path }) => (method === "DELETE" && path.includes("/secrets/keys-") ? forbidden : undefined);
  for (const version of ["v4", "v5"]) {
    world.putSource(version);
    await world.during(roundMs);
  }
  expect(world.held).toEqual(["v5", "v4", "v3"]);
  expect(world.ready).toEqual(Array(3).fill("False WriteRefused"));
  world.refuse = () => undefined;
  await world.during(600_000);
  expect(world.ready).toEqual(upToDate);
});

test.each([
  [500, "InternalError", "ServerError"],
  [503, "ServiceUnavailable", "ServerError"],
  [429, "TooManyRequests", "TooManyRequests"],
])("a failure with status %s shows within a minute, in every target", async (status, reason, shown) => {
  await fill();
  world.refuse = ({ method, path }) => (method !== "GET" && path.includes("/secrets") ? { status, reason } : undefined);
  world.putSource("v4");
  await world.during(60_000);
  expect(world.ready).toEqual(Array(3).fill(`False ${shown}`));
  expect(world.events.toSorted()).toEqual(targets.map((name) => `${shown} ${name}`));
  world.refuse = () => undefined;
  await world.during(300_000 + roundMs);
  expect(world.held).toEqual(["v4", "v3", "v2"]);
  expect(world.ready).toEqual(upToDate);
});
