// What was restarted, when and for what, kept in the operator's own namespace: whoever may write a workload can take annotations off it, or put some on.
import { type Client, type DeepReadonly, defineKind, isApiError, type KubeObject, type Stored } from "@keyturn/runtime";
import * as z from "zod";
import { keyturn } from "../feature/feature.ts";
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

/** What is remembered of a restart that was begun by a version that remembered nothing. */
export function begun({ source: { uid }, generation, restartedFor }: Workload, atMs: number): Remembered {
  return { uid, atMs, generation: generation - 1, restartedFor, wasUnhealthy: false, isOver: false };
}

/** The memory once these rows are carried out. */
export function withRows(
  memory: RestartMemory,
  rows: readonly Row[],
  { workloadOf, nowMs }: { readonly workloadOf: (id: WorkloadId) => DeepReadonly<Workload> | undefined; readonly nowMs: number },
): RestartMemory {
  const next = new Map(memory);
  for (const { id, decision } of rows) {
    const known = memory.get(id);
    const workload = workloadOf(id);
    if (workload && decision.type === "restart") {
      const { generation, progress, source } = workload;
      const wasUnhealthy = progress === "unhealthy";
      next.set(id, { uid: source.uid, atMs: nowMs, generation, restartedFor: decision.digest, wasUnhealthy, isOver: false });
    } else if (workload && known && decision.type === "finish") {
      next.set(id, { ...known, restartedFor: decision.helped ? undefined : known.restartedFor, isOver: true });
    }
  }
  return next;
}

/**
 * A Lease, because the operator may write those in its own namespace anyway, and nobody else writes there. Nobody holds it.
 */
const Lease = defineKind({ group: "coordination.k8s.io", version: "v1", kind: "Lease", plural: "leases", namespaced: true });
const name = `${keyturn.name}-restarts`;
const annotation = `${keyturn.domain}/restarts`;

/** All annotations of an object take 256 KiB at most; an entry has some 150 bytes, and at most 600. */
const maxEntries = 1000;
const maxLength = 200_000;

const entrySchema = z.tuple([z.string(), z.number(), z.number(), z.string().nullable(), z.boolean(), z.boolean()]);
const memorySchema = z.record(z.string(), entrySchema);

/** Reads and writes it. What another process has written meanwhile makes a write fail with `Conflict`. */
export class RestartRecord {
  readonly #namespace: string;
  #stored: Stored<KubeObject> | undefined;

  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  /** What is remembered; `absent` if nothing ever was, `forbidden` if we may not know. Rejects if it could not be read. */
  async read(client: Client, signal: AbortSignal): Promise<RestartMemory | "absent" | "forbidden"> {
    try {
      this.#stored = await client.get(Lease, { namespace: this.#namespace, name }, signal);
    } catch (error) {
      if (isApiError(error, "Forbidden")) return "forbidden";
      throw error;
    }
    return this.#stored ? parsed(this.#stored.metadata.annotations?.[annotation]) : "absent";
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
  // What has not helped is of use for longest; then what is latest.
  const latest = [...memory].sort(([, left], [, right]) => Number(!left.restartedFor) - Number(!right.restartedFor) || right.atMs - left.atMs);
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
