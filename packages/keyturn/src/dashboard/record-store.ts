// All records as they are sent, and the last changes to them: what every open page is served from.
import { Buffer } from "node:buffer";
import type { DashboardRecord, StageRecord } from "@keyturn/dashboard/contract";
import type { Place, Rights } from "./viewer-rights.ts";

/** A record, serialised once for everybody. */
interface Entry {
  readonly id: string;
  readonly json: string;
  /** Undefined for steps, which everybody sees, each with what is hidden from them. */
  readonly place: Place | undefined;
  readonly step: StageRecord | undefined;
}

/** A change that took place as a whole. */
interface Batch {
  readonly seq: number;
  readonly upserts: readonly Entry[];
  readonly removals: readonly Pick<Entry, "id" | "place">[];
  readonly bytes: number;
  /** What is sent, by the rights of those that it is sent to; undefined for those that none of it is for. */
  readonly frames: Map<string, Buffer | undefined>;
}

/** Everything at one moment, in pieces. */
interface Snapshot {
  /** The last change that is in it. */
  readonly seq: number;
  readonly frames: readonly Buffer[];
}

/** How much is remembered. */
interface StoreLimits {
  /** Changes that a page can be behind by before it gets everything anew. */
  readonly maxBatches: number;
  readonly maxBytes: number;
  /** A piece of a snapshot is about as big. */
  readonly partBytes: number;
}

const usualLimits: StoreLimits = { maxBatches: 1024, maxBytes: 8 * 1024 * 1024, partBytes: 128 * 1024 };

/** Frames of the newest changes are kept for pages that read at their own pace; older ones are made anew. */
const batchesWithFrames = 8;

/** Records by id, and the changes that led to them. */
export class RecordStore {
  readonly bootId: string;
  readonly #limits: StoreLimits;
  readonly #entries = new Map<string, Entry>();
  readonly #batches: Batch[] = [];
  readonly #listeners = new Set<() => void>();
  readonly #snapshots = new Map<string, Snapshot>();
  #bytes = 0;
  #seq = 0;

  /** `bootId` distinguishes the sequence numbers of this store from those of any other. */
  constructor(bootId: string, limits: Partial<StoreLimits> = {}) {
    this.bootId = bootId;
    this.#limits = { ...usualLimits, ...limits };
  }

  /** The number of the last change. */
  get seq(): number {
    return this.#seq;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The record as it is sent. */
  json(id: string): string | undefined {
    return this.#entries.get(id)?.json;
  }

  /** Namespaces in which there are records of a kind. */
  namespacesOf(resource: string): ReadonlySet<string> {
    const namespaces = new Set<string>();
    for (const { place } of this.#entries.values()) if (place?.resource === resource) namespaces.add(place.namespace);
    return namespaces;
  }

  /** Takes a change in. What is sent already is not sent again; a change that changes nothing is none. */
  commit(upserts: Iterable<DashboardRecord>, removals: Iterable<string>): void {
    const gone = Array.from(removals).flatMap((id) => this.#entries.get(id) ?? []);
    const changed = Array.from(upserts, entryOf).filter(({ id, json }) => this.#entries.get(id)?.json !== json);
    if (gone.length === 0 && changed.length === 0) return;
    for (const { id } of gone) this.#entries.delete(id);
    for (const entry of changed) this.#entries.set(entry.id, entry);
    const bytes = changed.reduce((sum, { json }) => sum + json.length, 0) + gone.length * 64;
    this.#batches.push({ seq: ++this.#seq, upserts: changed, removals: gone, bytes, frames: new Map() });
    this.#bytes += bytes;
    while (this.#batches.length > this.#limits.maxBatches || (this.#bytes > this.#limits.maxBytes && this.#batches.length > 1)) {
      this.#bytes -= this.#batches.shift()?.bytes ?? 0;
    }
    this.#batches.at(-1 - batchesWithFrames)?.frames.clear();
    this.#snapshots.clear();
    for (const listener of this.#listeners) listener();
  }

  /** True if everything after that change is still known. */
  covers(seq: number): boolean {
    return seq === this.#seq || (seq < this.#seq && seq + 1 >= (this.#batches[0]?.seq ?? Infinity));
  }

  /** What is sent for the change that follows `seq`; undefined if there is none. The frame is undefined if nothing of it is for these rights. */
  after(seq: number, rights: Rights): { readonly seq: number; readonly frame: Buffer | undefined } | undefined {
    const batch = this.#batches[seq + 1 - (this.#batches[0]?.seq ?? 0)];
    if (!batch) return undefined;
    if (!batch.frames.has(rights.signature)) batch.frames.set(rights.signature, this.#frameOf(batch, rights));
    return { seq: batch.seq, frame: batch.frames.get(rights.signature) };
  }

  /** Everything that these rights allow to be seen. */
  snapshot(rights: Rights): Snapshot {
    const known = this.#snapshots.get(rights.signature);
    if (known) return known;
    const made = { seq: this.#seq, frames: this.#snapshotFrames(rights) };
    this.#snapshots.set(rights.signature, made);
    return made;
  }

  /** Calls `listener` after each change. Returns the way to stop. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** The name of a change in a stream, from which a page goes on after a cut. Who had other rights then has other records, and cannot go on. */
  eventId(seq: number, { signature }: Rights): string {
    return `${this.bootId}:${seq}:${signature}`;
  }

  /** The inverse; undefined if it is not a change of this store that is still known, or was sent to somebody with other rights. */
  positionOf(eventId: string | undefined, rights: Rights): number | undefined {
    const seq = Number(/^[^:]*:(\d{1,15}):/.exec(eventId ?? "")?.[1] ?? Number.NaN);
    return eventId === this.eventId(seq, rights) && this.covers(seq) ? seq : undefined;
  }

  #frameOf({ seq, upserts, removals }: Batch, rights: Rights): Buffer | undefined {
    const seen = upserts.filter(({ place }) => !place || rights.allows(place)).map((entry) => jsonFor(entry, rights));
    const gone = removals.filter(({ place }) => !place || rights.allows(place)).map(({ id }) => JSON.stringify(id));
    if (seen.length === 0 && gone.length === 0) return undefined;
    return eventFrame("changes", `{"upserts":[${seen.join(",")}],"removals":[${gone.join(",")}]}`, this.eventId(seq, rights));
  }

  #snapshotFrames(rights: Rights): readonly Buffer[] {
    const steps: string[] = [];
    const rest: string[] = [];
    for (const entry of this.#entries.values()) {
      if (!entry.place) steps.push(jsonFor(entry, rights));
      else if (rights.allows(entry.place)) rest.push(entry.json);
    }
    const parts = partsOf([...steps, ...rest], this.#limits.partBytes);
    const total = steps.length + rest.length;
    return parts.map((records, index) => {
      const last = index === parts.length - 1;
      const data = `{"first":${index === 0},"last":${last},"total":${total},"records":[${records.join(",")}]}`;
      return eventFrame("snapshot", data, last ? this.eventId(this.#seq, rights) : undefined);
    });
  }
}

/** One server-sent event. The data is JSON, which has no line breaks. */
export function eventFrame(event: string, data: string, id?: string): Buffer {
  return Buffer.from(`event: ${event}\n${id === undefined ? "" : `id: ${id}\n`}data: ${data}\n\n`);
}

function entryOf(record: DashboardRecord): Entry {
  const { id } = record;
  const json = JSON.stringify(record);
  if (record.type === "step") return { id, json, place: undefined, step: record };
  return { id, json, place: { resource: record.ref.resource, namespace: record.ref.namespace }, step: undefined };
}

function jsonFor({ json, step }: Entry, rights: Rights): string {
  if (!step) return json;
  const hidden = step.resources.filter((resource) => rights.hides(resource));
  const limits = step.resources.flatMap((resource) => rights.shownIn(resource) ?? []);
  if (hidden.length + limits.length === 0) return json;
  return JSON.stringify({ ...step, hidden, ...(limits.length > 0 && { shownIn: [...new Set(limits)].toSorted() }) });
}

/** At least one part, which may be empty. */
function partsOf(texts: readonly string[], partBytes: number): readonly (readonly string[])[] {
  const parts: string[][] = [[]];
  let bytes = 0;
  for (const text of texts) {
    if (bytes > partBytes) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)?.push(text);
    bytes += text.length;
  }
  return parts;
}
