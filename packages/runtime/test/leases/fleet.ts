// Replicas as real processes, each behind a fault proxy of its own.
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type ClusterAccess, cutAt, type Disturbance, type FaultProxy, startFaultProxy } from "@keyturn/runtime/testing";
import { type Act, readActs } from "./activity.ts";
import type { ReplicaSettings } from "./replica-settings.ts";

/** The rights of a replica, and no more: those that elections declare, and those of its controller. */
const rules = [
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "create", "update"] },
  { apiGroups: [""], resources: ["configmaps"], verbs: ["create", "patch"] },
  { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create", "patch"] },
] as const;

/** What all replicas of a fleet have in common. */
type FleetSettings = Pick<ReplicaSettings, "keys" | "leaseTimes"> & Partial<Pick<ReplicaSettings, "concurrency" | "pauseMs">>;

/** How a replica can be cut off: nothing passes and nothing breaks; the API server hears nothing; it hears everything, but its answers do not arrive. */
export const cutOffs = ["silence", "requests are lost", "answers are lost"] as const;

type CutOff = (typeof cutOffs)[number];

/** A replica under the test's control. */
export class Replica {
  readonly name: string;
  readonly podUid: string;
  readonly proxy: FaultProxy;
  readonly #child: ChildProcess;
  readonly #activityFile: string;
  readonly #metricsFile: string;
  /** What it logged, once it has ended. */
  readonly log: Promise<string>;
  /** Resolves to the exit code, or to the signal that ended it. */
  readonly exited: Promise<number | string>;

  constructor(settings: ReplicaSettings, proxy: FaultProxy, podUid: string) {
    this.name = settings.name;
    this.podUid = podUid;
    this.proxy = proxy;
    this.#activityFile = settings.activityFile;
    this.#metricsFile = settings.metricsFile;
    this.#child = spawn(process.execPath, [join(import.meta.dirname, "replica.ts")], {
      env: { ...process.env, REPLICA_SETTINGS: JSON.stringify(settings), POD_UID: podUid },
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.log = this.#child.stdout ? text(this.#child.stdout) : Promise.resolve("");
    this.exited = once(this.#child, "exit").then(([code, signal]: readonly (number | string | null)[]) => code ?? signal ?? "");
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  acts(): readonly Act[] {
    return readActs(this.#activityFile);
  }

  /** The keys that its metrics show. */
  async shownKeys(): Promise<readonly string[]> {
    const answer = await fetch(`${await readFile(this.#metricsFile, "utf8")}/metrics`);
    return Array.from((await answer.text()).matchAll(/^pulse_key\{key="(.*)"\} 1$/gm), ([, key = ""]) => key).toSorted();
  }

  /** Cuts it off from the API server until the returned disturbance is undone. */
  cutOff(how: CutOff): Disturbance {
    if (how === "silence") return this.proxy.stall();
    const fault = this.proxy.inject(cutAt(how === "requests are lost" ? "before" : "after"));
    this.proxy.cut();
    return { undo: () => fault.remove(), [Symbol.dispose]: () => fault.remove() };
  }
}

/** Any number of replicas in a namespace of their own. */
export class Fleet implements AsyncDisposable {
  readonly namespace: string;
  readonly replicas: Replica[] = [];
  readonly #cluster: ClusterAccess;
  readonly #kubeconfig: string;
  readonly #settings: FleetSettings;
  readonly #folder = mkdtempSync(join(tmpdir(), "keyturn-leases-"));

  private constructor(cluster: ClusterAccess, namespace: string, { kubeconfig, settings }: { kubeconfig: string; settings: FleetSettings }) {
    this.#cluster = cluster;
    this.namespace = namespace;
    this.#kubeconfig = kubeconfig;
    this.#settings = settings;
  }

  static async open(cluster: ClusterAccess, settings: FleetSettings): Promise<Fleet> {
    const namespace = await cluster.namespace("leases");
    const kubeconfig = await cluster.kubeconfigFor({ serviceAccount: { namespace, name: "replica" }, namespacedRules: { [namespace]: rules } });
    return new Fleet(cluster, namespace, { kubeconfig, settings });
  }

  /** Starts a replica: a pod of its own, unless another's is given. */
  async start(podUid: string = randomUUID()): Promise<Replica> {
    const name = `replica-${this.replicas.length}`;
    const proxy = await startFaultProxy(this.#cluster);
    const files = { activityFile: join(this.#folder, name), metricsFile: join(this.#folder, `${name}-metrics`) };
    const place = { kubeconfig: proxy.through(this.#kubeconfig), namespace: this.namespace, ...files };
    const replica = new Replica({ name, ...place, concurrency: 16, pauseMs: 25, ...this.#settings }, proxy, podUid);
    this.replicas.push(replica);
    return replica;
  }

  /** Everything that any replica did. */
  acts(): readonly Act[] {
    return this.replicas.flatMap((replica) => replica.acts());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // All of them, whatever is wrong with one: what is left would be in the way of other tests.
    for (const replica of this.replicas) replica.signal("SIGKILL");
    await Promise.all(this.replicas.map(({ exited }) => exited));
    rmSync(this.#folder, { recursive: true });
    await Promise.all(this.replicas.map(({ proxy }) => proxy.stop()));
  }
}
