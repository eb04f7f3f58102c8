// One open page: sends it everything, then every change, at the pace at which it reads.
import type { Buffer } from "node:buffer";
import type { Writable } from "node:stream";
import type { End, Hello, Tick } from "@keyturn/dashboard/contract";
import type { Clock } from "@keyturn/runtime";
import { Signal } from "./record-keeper.ts";
import { eventFrame, type RecordStore } from "./record-store.ts";
import type { Rights } from "./viewer-rights.ts";

/** What a stream is made with. */
export interface PageStreamOptions {
  readonly store: RecordStore;
  readonly out: Writable;
  readonly clock: Clock;
  readonly hello: Pick<Hello, "cluster" | "user" | "namespaces" | "stages">;
  /** Where the page was cut off, as it says. */
  readonly lastEventId: string | undefined;
  /** What the viewer may see now; undefined if nothing any more. Asked at the start and with every tick. */
  readonly rights: () => Promise<Rights | undefined>;
  /** Called when a page that was too slow gets everything anew. */
  readonly onResync: () => void;
  /** Default 15,000. */
  readonly tickMs?: number;
  /** Default 30,000. */
  readonly stallMs?: number;
}

/** How a stream ended: the page went, the server stops, the viewer may no longer look, or the page does not read. */
export type StreamEnd = "gone" | "stopped" | "access" | "slow";

/** The page takes a stream for dead after three of these. */
const usualTickMs = 15_000;

/** A page that has taken nothing for so long is not read by anybody. */
const usualStallMs = 30_000;

/**
 * Runs until the page goes, the signal aborts or the viewer may no longer look. Nothing is queued for a page: whatever it has not read yet is taken from the
 * store when it does, and if the store has forgotten that by then, the page gets everything anew.
 */
export async function streamPage(options: PageStreamOptions, signal: AbortSignal): Promise<StreamEnd> {
  const stream = new PageStream(options, signal);
  try {
    return await stream.run();
  } catch (error) {
    if (error instanceof StreamOver) return error.end;
    throw error;
  } finally {
    stream.close();
  }
}

/** Not an error: the way out of a loop from within a write. */
class StreamOver extends Error {
  readonly end: StreamEnd;
  constructor(end: StreamEnd) {
    super(`the stream is over: ${end}`);
    this.name = "StreamOver";
    this.end = end;
  }
}

class PageStream {
  readonly #options: PageStreamOptions;
  readonly #signal: AbortSignal;
  /** Something has changed, or it is time for something. */
  readonly #bell = new Signal();
  readonly #listening: (() => void)[] = [];
  /** The last change that the page has; undefined if it is to get everything. */
  #position: number | undefined;

  constructor(options: PageStreamOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
    const { store, out } = options;
    const ring = (): void => this.#bell.ring();
    for (const event of ["drain", "close", "error"]) out.on(event, ring);
    signal.addEventListener("abort", ring);
    this.#listening.push(
      store.onChange(ring),
      () => signal.removeEventListener("abort", ring),
      () => out.off("drain", ring),
    );
  }

  close(): void {
    for (const stop of this.#listening) stop();
  }

  async run(): Promise<StreamEnd> {
    const { store, clock, tickMs = usualTickMs, lastEventId, hello } = this.#options;
    let rights = await this.#options.rights();
    if (rights) {
      this.#position = store.positionOf(lastEventId, rights);
      const mode = this.#position === undefined ? "snapshot" : "resume";
      await this.#send("hello", { bootId: store.bootId, nowMs: clock.now(), mode, ...hello } satisfies Hello);
    }
    let tickAtMs = clock.monotonic() + tickMs;
    while (rights) {
      await this.#catchUp(rights);
      if (!(await this.#isTime(tickAtMs, () => store.seq !== this.#position))) continue;
      tickAtMs = clock.monotonic() + tickMs;
      const before: Rights = rights;
      rights = await this.#options.rights();
      if (rights && rights.signature !== before.signature) this.#position = undefined;
      else if (rights) await this.#send("tick", { nowMs: clock.now() } satisfies Tick, rights);
    }
    await this.#send("end", { reason: "access", message: "the token is no longer good, or its rights are gone" } satisfies End);
    return "access";
  }

  /** Brings the page up to the newest change. */
  async #catchUp(rights: Rights): Promise<void> {
    const { store, onResync } = this.#options;
    for (;;) {
      if (this.#position !== undefined && !store.covers(this.#position)) {
        onResync();
        this.#position = undefined;
      }
      if (this.#position === undefined) {
        const { seq, frames } = store.snapshot(rights);
        for (const frame of frames) await this.#write(frame);
        this.#position = seq;
      }
      const next = store.covers(this.#position) ? store.after(this.#position, rights) : undefined;
      if (next) {
        if (next.frame) await this.#write(next.frame);
        this.#position = next.seq;
      } else if (store.seq === this.#position) return;
    }
  }

  /** With rights, the event says how far the page has come. */
  async #send(event: string, data: object, rights?: Rights): Promise<void> {
    const id = rights && this.#position !== undefined ? this.#options.store.eventId(this.#position, rights) : undefined;
    await this.#write(eventFrame(event, JSON.stringify(data), id));
  }

  /** Writes, and waits until the page has read it if there is enough on its way already. */
  async #write(frame: Buffer): Promise<void> {
    const { out, clock, stallMs = usualStallMs } = this.#options;
    this.#checkOver();
    if (out.write(frame)) return;
    if (await this.#isTime(clock.monotonic() + stallMs, () => !out.writableNeedDrain)) throw new StreamOver("slow");
  }

  /** Waits until something is so, or that time; true if it is the time that came first. */
  async #isTime(atMs: number, isSo: () => boolean): Promise<boolean> {
    const { clock } = this.#options;
    let isTime = false;
    const timer = clock.setTimer(Math.max(0, atMs - clock.monotonic()), () => {
      isTime = true;
      this.#bell.ring();
    });
    try {
      for (this.#checkOver(); !isSo(); this.#checkOver()) {
        if (isTime) return true;
        await this.#bell.heard();
      }
      return false;
    } finally {
      timer.cancel();
    }
  }

  #checkOver(): void {
    const { out } = this.#options;
    if (out.destroyed || out.errored) throw new StreamOver("gone");
    if (!this.#signal.aborted) return;
    out.write(eventFrame("end", JSON.stringify({ reason: "restart", message: "the server stops" } satisfies End)));
    throw new StreamOver("stopped");
  }
}
