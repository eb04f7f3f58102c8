// Killed before and after every write, refused at every one, asked in vain at every question, and with two leaders at once: each reason restarts a workload once.
import {
  apiVersionOf,
  ConnectionError,
  DaemonSet,
  Deployment,
  type Kind,
  MutatingWebhookConfiguration,
  objectPath,
  Pod,
  ReplicaSet,
  seededRandom,
  sleep,
  StatefulSet,
  type Transport,
  type TransportRequest,
} from "@keyturn/runtime";
import { modelOperator, objectOr, ProcessClock, SimulatedApiServer, SimulatedNetwork, stringOr, VirtualClock } from "@keyturn/runtime/testing";
import { describe, expect, test } from "vitest";
import { sidecarsFeature } from "../../packages/keyturn/src/controllers/sidecars/feature.ts";
import { keyturn } from "../../packages/keyturn/src/feature/feature.ts";
import { restartedAtAnnotation, rolloutLabel } from "../../packages/keyturn/src/workloads/annotations.ts";

const namespace = "default";
const names = ["a", "b", "c"];
const flags: Readonly<Record<string, string>> = {
  "sidecars.istiod-config-read-delay": "0",
  "sidecars.annotation-cooldown": "0",
  "sidecars.reconcile-period": "0",
  "sidecars.max-rollouts": "2",
};

/** What happens at the nth request of a sort. */
interface Fault {
  readonly sort: "write" | "question";
  readonly at: number;
  readonly what: "killed before" | "killed after" | "refused" | "unanswered";
}

/** Three Deployments whose pods have a sidecar that no webhook would inject any more, two operators, and a cluster that rolls what is restarted. */
class SweptWorld {
  readonly #clock = new VirtualClock();
  readonly #server = new SimulatedApiServer({ clock: this.#clock, random: seededRandom(1) });
  readonly #network = new SimulatedNetwork({ server: this.#server, clock: this.#clock, random: seededRandom(2) });
  readonly #fault: Fault | undefined;
  readonly #count = { write: 0, question: 0 };
  /** The times that a template ever had, by workload. */
  readonly restarts = new Map<string, Set<string>>(names.map((name) => [name, new Set()]));

  constructor(fault: Fault | undefined, { elects = true } = {}) {
    this.#fault = fault;
    for (const kind of [Deployment, StatefulSet, DaemonSet, ReplicaSet, Pod, MutatingWebhookConfiguration]) this.#server.serve(kind);
    this.#server.store.onChange(({ resource, after }) => {
      const { metadata, spec } = after ?? {};
      const template = objectOr(objectOr(objectOr(spec)["template"])["metadata"]);
      const time = stringOr(objectOr(template["annotations"])[restartedAtAnnotation], "");
      if (resource === "deployments.apps" && time !== "") this.restarts.get(stringOr(objectOr(metadata)["name"], ""))?.add(time);
    });
    for (const name of names) this.#deploy(name);
    for (const process of ["one", "two"]) {
      const stop = new AbortController();
      const wire = this.#network.connect({ name: process, clock: new ProcessClock(this.#clock) });
      const controllers = sidecarsFeature.controllers((flag) => flag.parse(flags[flag.name]));
      const context = { name: process, clock: this.#clock, random: seededRandom(process.length), incarnation: 1, signal: stop.signal };
      void modelOperator(process, { controllers, operator: keyturn, elects }).start({ ...context, transport: this.#faulty(wire) });
    }
  }

  get counted(): Readonly<Record<Fault["sort"], number>> {
    return this.#count;
  }

  /** One process's wire. Once it is dead, nothing that it sends arrives, and it hears of nothing any more. */
  #faulty(wire: Transport): Transport {
    let isDead = false;
    const silence = (): Promise<never> => new Promise(() => {});
    return {
      send: async (request, signal) => {
        if (isDead) return silence();
        const sort = sortOf(request);
        const isHit = sort !== undefined && sort === this.#fault?.sort && ++this.#count[sort] === this.#fault.at;
        if (sort !== undefined && sort !== this.#fault?.sort) this.#count[sort]++;
        if (!isHit) return wire.send(request, signal);
        const { what } = this.#fault;
        if (what === "refused") return status(503);
        // As long as the transport waits for an answer to a write.
        if (what === "unanswered") {
          await sleep(this.#clock, 30_000);
          throw new ConnectionError("no answer within 30 s");
        }
        if (what === "killed after") await wire.send(request, signal);
        isDead = true;
        return silence();
      },
      close: () => wire.close(),
    };
  }

  #ask(kind: Kind, name: string, object: object, subresource = ""): void {
    const path = `${objectPath(kind, { namespace, name })}${subresource}?fieldManager=user&force=true`;
    const body = JSON.stringify({ apiVersion: apiVersionOf(kind), kind: kind.kind, ...object });
    const answer = this.#server.handle({ method: "PATCH", path, headers: { "content-type": "application/apply-patch+yaml" }, body });
    if (answer.type === "answer" && answer.status >= 300) throw new Error(answer.body);
  }

  #deploy(name: string): void {
    const labels = { app: name };
    const template = { metadata: { labels }, spec: { containers: [{ name: "app", image: "app:1" }] } };
    this.#ask(Deployment, name, { metadata: { namespace, name }, spec: { replicas: 1, selector: { matchLabels: labels }, template } });
    this.#pod(name, [
      { name: "app", image: "app:1" },
      { name: "istio-proxy", image: "istio/proxyv2:1.26.0" },
    ]);
    this.#report(name);
  }

  #pod(name: string, containers: readonly object[]): void {
    const deployment = this.#stored(name);
    const restartedAt = this.#restartedAt(name);
    const owner = { apiVersion: "apps/v1", kind: "Deployment", name, uid: deployment.uid, controller: true };
    const set = `${name}-1`;
    this.#ask(ReplicaSet, set, { metadata: { namespace, name: set, ownerReferences: [owner] } });
    const { uid } = objectOr(this.#server.store.get("replicasets.apps", `${namespace}/${set}`)?.["metadata"]);
    this.#server.handle({ method: "DELETE", path: objectPath(Pod, { namespace, name: `${set}-x` }) });
    const metadata = {
      namespace,
      name: `${set}-x`,
      labels: { app: name, "pod-template-hash": "1" },
      annotations: restartedAt === "" ? {} : { [restartedAtAnnotation]: restartedAt },
      ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: set, uid, controller: true }],
    };
    this.#ask(Pod, `${set}-x`, { metadata, spec: { containers } });
  }

  #report(name: string): void {
    const { generation } = this.#stored(name);
    const figures = { observedGeneration: generation, replicas: 1, updatedReplicas: 1, availableReplicas: 1 };
    this.#ask(Deployment, name, { metadata: { namespace, name }, status: figures }, "/status");
  }

  #stored(name: string) {
    return objectOr(this.#server.store.get("deployments.apps", `${namespace}/${name}`)?.["metadata"]);
  }

  #restartedAt(name: string): string {
    const spec = objectOr(this.#server.store.get("deployments.apps", `${namespace}/${name}`)?.["spec"]);
    const template = objectOr(objectOr(spec["template"])["metadata"]);
    return stringOr(objectOr(template["annotations"])[restartedAtAnnotation], "");
  }

  #rolled = new Map<string, string>();

  /** Lets time pass; every few seconds the cluster rolls out what was restarted. */
  async pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second += 3) {
      await this.#clock.advance(3_000);
      for (const name of names) {
        const time = this.#restartedAt(name);
        if (time === (this.#rolled.get(name) ?? "")) continue;
        this.#rolled.set(name, time);
        this.#pod(name, [{ name: "app", image: "app:1" }]);
        this.#report(name);
      }
    }
  }

  /** Workloads that still carry our label. */
  get labelled(): readonly string[] {
    return names.filter((name) => objectOr(this.#stored(name)["labels"])[rolloutLabel] !== undefined);
  }
}

function sortOf({ method, path }: TransportRequest): Fault["sort"] | undefined {
  if (method === "GET" || path.includes("/events")) return undefined;
  if (path.includes("/pods") && path.includes("dryRun=All")) return "question";
  return path.includes("/deployments/") || path.includes("leases/keyturn-restarts") || /\/leases\?/.test(path) ? "write" : undefined;
}

function status(code: number) {
  const text = JSON.stringify({ kind: "Status", status: "Failure", code, reason: "ServiceUnavailable", message: "not now" });
  const body = (async function* () {
    yield new TextEncoder().encode(text);
  })();
  return { status: code, headers: { "content-type": "application/json" }, body };
}

const once = Object.fromEntries(names.map((name) => [name, 1]));
const restartsIn = (world: SweptWorld) => Object.fromEntries(Array.from(world.restarts, ([name, times]) => [name, times.size]));

describe("each workload is restarted once, and in the end nothing is left to do", () => {
  test("without a fault, and there is something to sweep", async () => {
    const world = new SweptWorld(undefined);
    await world.pass(180);
    expect([restartsIn(world), world.labelled]).toEqual([once, []]);
    expect(world.counted.write).toBeGreaterThanOrEqual(8);
    expect(world.counted.question).toBeGreaterThanOrEqual(3);
  });

  test("by two leaders at once", async () => {
    const world = new SweptWorld(undefined, { elects: false });
    await world.pass(240);
    expect([restartsIn(world), world.labelled]).toEqual([once, []]);
  });

  const writes = Array.from({ length: 12 }, (_, index) => index + 1);
  const faults = writes.flatMap((at) => (["killed before", "killed after", "refused"] as const).map((what): Fault => ({ sort: "write", at, what })));
  const questions = [1, 2, 3].flatMap((at) =>
    (["unanswered", "refused", "killed after"] as const).map((what): Fault => ({ sort: "question", at, what })),
  );
  test.each([...faults, ...questions])("$what at $sort $at", async (fault) => {
    const world = new SweptWorld(fault);
    await world.pass(600);
    expect([restartsIn(world), world.labelled]).toEqual([once, []]);
  });
});
