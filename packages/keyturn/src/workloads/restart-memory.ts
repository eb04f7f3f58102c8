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
export function rememberedAfter(
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
        wasUnhealthy: progress === "unhealthy",
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

/** The last time that there is in JavaScript. */
const lastMs = 8.64e15;
const entrySchema = z.tuple([z.string(), z.number().min(0).max(lastMs), z.number(), z.string().nullable(), z.boolean(), z.boolean()]);
const memorySchema = z.record(z.string(), entrySchema);

/** Reads and writes it. What another process has written meanwhile makes a write fail with `Conflict`. */
export class RestartRecord {
  readonly #namespace: string;
  #stored: Stored<KubeObject> | undefined;
  /** Clocks have been wrong before: what is ahead of ours counts from when it was first read, and ends a delay neither early nor years late. */
  readonly #times = new RestartTimes();

  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  /** What is remembered; `absent` if nothing ever was, `forbidden` if we may not know. Rejects if it could not be read. */
  async read(
    client: Client,
    { nowMs, signal }: { readonly nowMs: number; readonly signal: AbortSignal },
  ): Promise<RestartMemory | "absent" | "forbidden"> {
    try {
      this.#stored = await client.get(Lease, { namespace: this.#namespace, name }, signal);
    } catch (error) {
      if (isApiError(error, "Forbidden")) return "forbidden";
      throw error;
    }
    if (!this.#stored) return "absent";
    const entries = Array.from(parsed(this.#stored.metadata.annotations?.[annotation]), ([id, entry]) => {
      const atMs = this.#times.timeOf(id, new Date(entry.atMs).toISOString(), nowMs) ?? nowMs;
      return [id, { ...entry, atMs }] as const;
    });
    return new Map(entries);
  }

  /** Replaces what was read. False if we may not. */
  async write(client: Client, memory: RestartMemory): Promise<boolean> {
    const stored = this.#stored;
    const annotations = { ...stored?.metadata.annotations, [annotation]: serialized(memory) };
    const metadata = { namespace: this.#namespace, name };
    try {
      this.#stored = stored
        ? await client.replace(Lease, { ...stored, metadata: { ...stored.metadata, annotations } })
        : await client.create(Lease, { metadata: { ...metadata, annotations } });
      return true;
    } catch (error) {
      if (isApiError(error, "Forbidden")) return false;
      throw error;
    }
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

/** What cannot be read counts as nothing: annotations on workloads say the same as long as nobody meddles. */
function parsed(text: string | undefined): RestartMemory {
  let value: unknown;
  try {
    value = JSON.parse(text ?? "{}");
  } catch {
    return new Map();
  }
  const { data = {} } = memorySchema.safeParse(value);
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
