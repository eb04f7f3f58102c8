// What was restarted, when and for what, kept in the operator's own namespace: whoever may write a workload can take annotations off it, or put some on.
import {
  type AccessRule,
  type Client,
  type DeepReadonly,
  defineKind,
  isApiError,
  type KubeObject,
  type Logger,
  LruMap,
  type Stored,
} from "@keyturn/runtime";
import * as z from "zod";
import { keyturn } from "../feature/feature.ts";
import { RestartTimes } from "./annotations.ts";
import type { Row, WorkloadId } from "./rollout-plan.ts";
import type { Workload } from "./workload.ts";

/** A restart that we have made, or were about to make when this was written. */
export interface Remembered {
  readonly uid: string;
  readonly atMs: number;
  /** The generation that the workload had before. As long as it has not changed, the restart did not take place. */
  readonly generation: number;
  /** The digest of what it was to bring; undefined once it has. */
  readonly restartedFor: string | undefined;
  /** Not all of its pods were available before. */
  readonly wasUnhealthy: boolean;
  /** Its rollout was seen finished: a label that it carries from then on is somebody else's. */
  readonly isOver: boolean;
}

export type RestartMemory = ReadonlyMap<WorkloadId, Remembered>;

type Rolling = Pick<DeepReadonly<Workload>, "ref" | "source" | "generation" | "progress" | "restartedAt" | "restartedFor">;

/** What is remembered once these are restarted, or their rollouts finished. What is gone by then changes nothing. */
function rememberedAfter(
  memory: RestartMemory,
  rows: readonly Row[],
  { workloadOf, nowMs }: { readonly workloadOf: (id: WorkloadId) => Rolling | undefined; readonly nowMs: number },
): RestartMemory {
  const next = new Map(memory);
  for (const { id, decision } of rows) {
    const known = memory.get(id);
    const workload = workloadOf(id);
    if (!workload) continue;
    if (decision.type === "restart") {
      const { generation, progress, source } = workload;
      next.set(id, {
        uid: source.uid,
        atMs: nowMs,
        generation,
        restartedFor: decision.digest,
        // One that is restarted again before it was healthy is as it was before the first time.
        wasUnhealthy: known && !known.isOver && known.uid === source.uid ? known.wasUnhealthy : progress === "unhealthy",
        isOver: false,
      });
    } else if (known && decision.type === "finish") {
      next.set(id, { ...known, restartedFor: decision.helped ? undefined : known.restartedFor, isOver: true });
    }
  }
  return next;
}

/** A Lease, which no tenant has a reason to write in that namespace. Nobody holds it. */
const Lease = defineKind({ group: "coordination.k8s.io", version: "v1", kind: "Lease", plural: "leases", namespaced: true });
const name = `${keyturn.name}-restarts`;
const annotation = `${keyturn.domain}/restarts`;

/** What is needed to remember. */
export const restartMemoryAccess: readonly AccessRule[] = [
  { kind: Lease, verbs: ["get", "update"], resourceNames: [name], inOwnNamespace: true, why: "to remember what was restarted" },
  // A name cannot be asked for here.
  { kind: Lease, verbs: ["create"], inOwnNamespace: true, why: "to remember what was restarted" },
];

/** All annotations of an object take 256 KiB at most; an entry has some 150 bytes, and at most 600. */
const maxEntries = 1000;
const maxLength = 200_000;

/** So many are remembered however long their names are. */
export const maxRemembered = 300;

/** The last time that there is in JavaScript. */
const lastMs = 8.64e15;
const entrySchema = z.tuple([z.string(), z.number().min(0).max(lastMs), z.number(), z.string().nullable(), z.boolean(), z.boolean()]);
const memorySchema = z.record(z.string(), entrySchema);

/**
 * Reads and writes it. What another process has written meanwhile makes a write fail with `Conflict`. What is about to be done is written down before; what
 * then certainly did not take place is crossed out again, so that nothing passes for a restart that was none.
 */
export class RestartRecord {
  readonly #namespace: string;
  #stored: Stored<KubeObject> | undefined;
  #memory: RestartMemory | undefined;
  /** Written down and not sent yet, with what was remembered before. */
  #unsent = new Map<WorkloadId, Remembered | undefined>();
  /** Clocks have been wrong before: what is ahead of ours counts from when it was first read, and ends a delay neither early nor years late. */
  readonly #times = new RestartTimes();

  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  /** What is remembered, as of the last of these; undefined before the first. */
  get memory(): RestartMemory | undefined {
    return this.#memory;
  }

  /** What is remembered, nothing if nothing ever was; undefined if we may not know. Rejects if it could not be read. */
  async read(client: Client, { nowMs, signal }: { readonly nowMs: number; readonly signal: AbortSignal }): Promise<RestartMemory | undefined> {
    try {
      this.#stored = await client.get(Lease, { namespace: this.#namespace, name }, signal);
    } catch (error) {
      if (isApiError(error, "Forbidden")) return undefined;
      throw error;
    }
    const stored = parsed(this.#stored?.metadata.annotations?.[annotation]);
    // Somebody may have deleted it, with the Leases of elections; then what this process knows is written again.
    if (!stored) return (this.#memory ??= new Map());
    const entries = Array.from(stored, ([id, entry]) => {
      const atMs = this.#times.timeOf(id, new Date(entry.atMs).toISOString(), nowMs) ?? nowMs;
      return [id, { ...entry, atMs }] as const;
    });
    return (this.#memory = new Map(entries));
  }

  /** Another process will write it from now on. */
  forget(): void {
    this.#memory = undefined;
    this.#unsent.clear();
  }

  /** Writes down what is about to be done. Resolves to what is remembered then, which is as before if we may not write. */
  async keep(client: Client, rows: readonly Row[], context: Parameters<typeof rememberedAfter>[2]): Promise<RestartMemory | undefined> {
    const memory = this.#memory;
    if (!memory) return undefined;
    await this.#write(client, rememberedAfter(memory, rows, context));
    const restarts = rows.filter(({ decision }) => decision.type === "restart");
    this.#unsent = new Map(restarts.map(({ id }) => [id, memory.get(id)]));
    return this.#memory;
  }

  /**
   * Sends what was written down. If that fails, nothing of what is still unsent follows, and that is crossed out; and so is this restart, if the API server
   * said that it did not take it. Rejects with what `send` does.
   */
  async sent(client: Client, id: WorkloadId, send: () => Promise<unknown>): Promise<void> {
    const isRestart = this.#unsent.has(id);
    const before = this.#unsent.get(id);
    this.#unsent.delete(id);
    try {
      await send();
    } catch (error) {
      if (isRestart && isApiError(error) && error.status < 500) this.#unsent.set(id, before);
      if (this.#unsent.size > 0) await this.#crossOut(client);
      throw error;
    }
  }

  async #crossOut(client: Client): Promise<void> {
    const memory = new Map(this.#memory);
    for (const [id, before] of this.#unsent) {
      if (before) memory.set(id, before);
      else memory.delete(id);
    }
    this.#unsent.clear();
    // If it cannot be written now, the generations of the workloads tell as much, unless somebody else changes them more than once.
    await this.#write(client, memory).catch(() => {});
  }

  /** Replaces what was read, unless we may not. */
  async #write(client: Client, memory: RestartMemory): Promise<void> {
    const stored = this.#stored;
    const annotations = { ...stored?.metadata.annotations, [annotation]: serialized(memory) };
    const metadata = { namespace: this.#namespace, name };
    try {
      this.#stored = stored
        ? await client.replace(Lease, { ...stored, metadata: { ...stored.metadata, annotations } })
        : await client.create(Lease, { metadata: { ...metadata, annotations } });
      this.#memory = memory;
    } catch (error) {
      if (!isApiError(error, "Forbidden")) throw error;
    }
  }
}

/**
 * What the operator remembers, for somebody who only looks: in this namespace, or without one wherever there is one. Undefined if it may not be read; and if
 * several are found, of which anybody may have written one.
 */
export async function recallRestarts(
  client: Client,
  { operatorNamespace, nowMs, signal }: { readonly operatorNamespace: string | undefined; readonly nowMs: number; readonly signal: AbortSignal },
): Promise<RestartMemory | undefined> {
  try {
    const found =
      operatorNamespace === undefined
        ? (await client.list(Lease, { fields: `metadata.name=${name}` }, signal)).items.map(({ metadata }) => metadata.namespace)
        : [operatorNamespace];
    const [namespace, ...others] = found;
    if (others.length > 0) return undefined;
    return namespace === undefined ? new Map() : await new RestartRecord(namespace).read(client, { nowMs, signal });
  } catch (error) {
    if (isApiError(error, "Forbidden")) return undefined;
    throw error;
  }
}

function serialized(memory: RestartMemory): string {
  // Whoever has many restarts displaces none that is under way. What has not helped is of use for longest; then what is latest.
  const rank = ({ isOver, restartedFor }: Remembered): number => (isOver ? (restartedFor === undefined ? 2 : 1) : 0);
  const latest = [...memory].sort(([, left], [, right]) => rank(left) - rank(right) || right.atMs - left.atMs);
  let entries = latest.slice(0, maxEntries);
  for (;;) {
    const text = JSON.stringify(
      Object.fromEntries(
        entries.map(([id, { uid, atMs, generation, restartedFor, wasUnhealthy, isOver }]) => [
          id,
          [uid, atMs, generation, restartedFor ?? null, wasUnhealthy, isOver],
        ]),
      ),
    );
    if (text.length <= maxLength) return text;
    entries = entries.slice(0, Math.floor(entries.length * 0.9));
  }
}

/** Undefined if it cannot be read, which is as good as nothing: annotations on workloads say the same as long as nobody meddles. */
function parsed(text: string | undefined): RestartMemory | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text ?? "");
  } catch {
    return undefined;
  }
  const { data } = memorySchema.safeParse(value);
  if (!data) return undefined;
  return new Map(
    Object.entries(data).map(([id, [uid, atMs, generation, restartedFor, wasUnhealthy, isOver]]) => [
      id,
      { uid, atMs, generation, restartedFor: restartedFor ?? undefined, wasUnhealthy, isOver },
    ]),
  );
}

// What a dry run has to remember, because nothing that it plans ever shows in the cluster: what it has logged, and which restarts it has made sure of.

/** The longest that it is believed that a workload would be restarted; then it is looked at once more. */
const believedForMs = 300_000;
const maxKept = 10_000;

/** Of one controller. */
export class DryRunMemory {
  readonly #log: Pick<Logger, "info">;
  readonly #told = new LruMap<string, true>(maxKept);
  readonly #looked = new LruMap<WorkloadId, { readonly input: string; readonly atMs: number }>(maxKept);

  constructor(log: Pick<Logger, "info">) {
    this.#log = log;
  }

  /** Logs what would be done, unless that is logged already: the same is planned again and again. */
  tell(done: string, fields: Readonly<Record<string, unknown>> = {}): void {
    const text = `${done} ${JSON.stringify(fields)}`;
    if (!this.#told.get(text)) this.#log.info(fields, `would have ${done}; withheld by dry run`);
    this.#told.set(text, true);
  }

  /** On a last look it was found that the workload would be restarted for this. */
  looked(id: WorkloadId, input: string, atMs: number): void {
    this.#looked.set(id, { input, atMs });
  }

  /** It is known that the workload would be restarted for this. */
  isSure(id: WorkloadId, input: string, nowMs: number): boolean {
    const looked = this.#looked.get(id);
    return looked?.input === input && nowMs < looked.atMs + believedForMs;
  }
}
