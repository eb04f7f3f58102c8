// Two processes on one API server, stalled and paused in turn: in the order in which the server stored them, every write is the Lease holder's.
import { ConfigMap, createHttpTransport, Lease, loadConfig, seededRandom, systemClock } from "@keyturn/runtime";
import type { ClusterAccess } from "@keyturn/runtime/testing";
import { soon, useSharedApiServer } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import type { Kind, KubeObject, Stored } from "../../src/client/kind.ts";
import { silentLog } from "../../src/manager/lease-simulation.fixture.ts";
import { Reflector, watchSource } from "../../src/watch/reflector.ts";
import { compareResourceVersions } from "../../src/watch/step.ts";
import { Fleet, type Replica } from "./fleet.ts";

/** Long enough for a busy machine to fill all sockets of a process that is cut off before it notices. */
const leaseTimes = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 500 };
/** More than a process has sockets for: some writes are stalled on theirs, and others wait for one. */
const keys = Array.from({ length: 100 }, (_, index) => `key-${index}`);
const cluster = useSharedApiServer();

/** Something that the server stored: who holds the Lease from then on, or who wrote. */
interface HistoryEntry {
  readonly resourceVersion: string;
  readonly type: "holder" | "writer";
  readonly who: string;
}

/** Follows everything that the server stores in a namespace, from now on. */
class History implements AsyncDisposable {
  readonly #stored: HistoryEntry[] = [];
  readonly #stop = new AbortController();
  readonly #running: Promise<unknown>;
  readonly #close: () => void;

  private constructor(transport: ReturnType<typeof createHttpTransport>, namespace: string) {
    const follow = (kind: Kind, type: HistoryEntry["type"], whoOf: (object: Stored<KubeObject>) => unknown): Promise<void> =>
      new Reflector<unknown>({
        source: watchSource(kind, { namespace }, "whole"),
        keep: whoOf,
        deliver: (event) => {
          if (event.type !== "apply" && event.type !== "initApply") return;
          const { resourceVersion, value } = event.object;
          if (typeof value === "string") this.#stored.push({ resourceVersion, type, who: value });
        },
        transport,
        clock: systemClock,
        random: seededRandom(1),
        log: silentLog,
      }).run(this.#stop.signal);
    this.#close = () => transport.close();
    this.#running = Promise.all([
      follow(Lease, "holder", (object) => ("spec" in object ? Object(object.spec).holderIdentity : undefined)),
      follow(ConfigMap, "writer", (object) => ("data" in object ? Object(object.data).replica : undefined)),
    ]);
  }

  static async open({ adminKubeconfig }: ClusterAccess, namespace: string): Promise<History> {
    return new History(createHttpTransport(await loadConfig({ kubeconfig: adminKubeconfig, env: {} })), namespace);
  }

  /** All until now, in the server's own order. Leases and writes come in two watches, of which one may be behind: the Lease that is renewed next shows that it is not. */
  async stored(): Promise<readonly HistoryEntry[]> {
    const last = this.#inOrder().at(-1);
    const isLater = (entry: HistoryEntry): boolean => (compareResourceVersions(entry.resourceVersion, last?.resourceVersion ?? "0") ?? 0) > 0;
    await soon(() => expect(this.#stored.some((entry) => entry.type === "holder" && isLater(entry))).toBe(true));
    return this.#inOrder().filter((entry) => !isLater(entry));
  }

  #inOrder(): readonly HistoryEntry[] {
    return this.#stored.toSorted((a, b) => compareResourceVersions(a.resourceVersion, b.resourceVersion) ?? 0);
  }

  writesOf(replica: Replica): number {
    return this.#stored.filter(({ type, who }) => type === "writer" && who === replica.name).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
    this.#close();
  }
}

/** The writes of those who did not hold the Lease, in the order in which the server stored everything. */
function withoutLease(stored: readonly HistoryEntry[], replicas: readonly Replica[]): readonly HistoryEntry[] {
  let holder: string | undefined;
  return stored.filter((entry) => {
    if (entry.type === "holder") {
      holder = replicas.find(({ podUid }) => entry.who.endsWith(podUid))?.name;
      return false;
    }
    return entry.who !== holder;
  });
}

test("every write is the Lease holder's, though writes are stalled, wait for sockets, and processes stand still", async () => {
  await using fleet = await Fleet.open(cluster(), { keys, leaseTimes, concurrency: keys.length, pauseMs: 500 });
  await using history = await History.open(cluster(), fleet.namespace);
  const writes = async (replica: Replica): Promise<void> => {
    const before = history.writesOf(replica);
    await soon(() => expect(history.writesOf(replica)).toBeGreaterThan(before + keys.length));
  };
  const first = await fleet.start();
  await writes(first);
  const second = await fleet.start();

  const patches = { method: "PATCH" };
  const stall = first.cutOff("silence");
  await soon(() => expect(first.proxy.underWay(patches)).toBeGreaterThanOrEqual(60));
  await writes(second);
  const sent = first.proxy.requests(patches).length;
  stall.undo();
  await writes(second);
  // Not one of those that had waited for a socket.
  expect(first.proxy.requests(patches)).toHaveLength(sent);

  second.signal("SIGSTOP");
  await writes(first);
  second.signal("SIGCONT");
  await writes(first);

  const stored = await history.stored();
  const holders = stored.filter(({ type }) => type === "holder").map(({ who }) => who);
  // A machine that is busy may have let it pass on once more.
  expect(holders.filter((who, index) => who !== holders[index - 1]).length).toBeGreaterThanOrEqual(3);
  expect(withoutLease(stored, fleet.replicas)).toEqual([]);
});

test("a write of another than the holder is noticed", () => {
  const replicas = [{ name: "a", podUid: "1" } as Replica, { name: "b", podUid: "2" } as Replica];
  const late = { resourceVersion: "4", type: "writer", who: "a" } as const;
  const stored: readonly HistoryEntry[] = [
    { resourceVersion: "1", type: "holder", who: "host_1" },
    { resourceVersion: "2", type: "writer", who: "a" },
    { resourceVersion: "3", type: "holder", who: "host_2" },
    late,
    { resourceVersion: "5", type: "writer", who: "b" },
  ];
  expect(withoutLease(stored, replicas)).toEqual([late]);
});
