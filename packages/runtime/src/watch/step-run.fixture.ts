// Runs the state machine against the model server, one small move at a time, so that a test can put any fault between any two moves.
import { Store } from "../cache/store.ts";
import type { Change } from "../cache/cache.ts";
import { VirtualClock } from "../testing/virtual-clock.ts";
import type { ModelObject, ModelServer } from "./model-server.fixture.ts";
import { defaultWatchLimits } from "./watch-limits.ts";
import { idleWatch, step, type WatchEffect, type WatchInput, type WatchState } from "./step.ts";

/** How the server treats a WatchList. */
export type StreamSupport = "supported" | "refused" | "ignored" | "endless";

/** What is open between the two. */
type Connection =
  | { readonly type: "watch"; at: number }
  /** `rest` is still to be sent of what existed at `at`. */
  | { readonly type: "stream"; at: number; readonly rest: ModelObject[]; ended: boolean };

const pageSize = 3;

export class StepRun {
  readonly server: ModelServer;
  readonly store = new Store<string>({ clock: new VirtualClock(), onFault: ({ error }) => void this.faults.push(error) });
  readonly faults: unknown[] = [];
  readonly changes: Change<string>[] = [];
  support: StreamSupport;
  nowMs = 0;
  /** Requests made, with the time of each. */
  readonly requests: { readonly atMs: number; readonly effect: WatchEffect }[] = [];
  #state: WatchState = idleWatch;
  #effect: WatchEffect | undefined;
  #connection: Connection | undefined;
  #pages: { readonly at: number; readonly epoch: number; readonly objects: readonly ModelObject[] } | undefined;

  constructor(server: ModelServer, support: StreamSupport) {
    this.server = server;
    this.support = support;
    this.store.subscribe((change) => void this.changes.push(change));
  }

  get state(): WatchState {
    return this.#state;
  }

  get connected(): boolean {
    return this.#connection !== undefined;
  }

  /** True when nothing is left to be delivered. */
  get caughtUp(): boolean {
    const connection = this.#connection;
    return (
      this.#state.type === "watching" && connection !== undefined && this.server.remembers(connection.at) && !this.server.eventAfter(connection.at)
    );
  }

  async input(input: WatchInput<string>): Promise<void> {
    const { state, events, effect } = step(this.#state, input, { nowMs: this.nowMs, limits: defaultWatchLimits });
    this.#state = state;
    for (const event of events) await this.store.take(event);
    if (effect) {
      this.#effect = effect;
      this.#connection = undefined;
    }
  }

  /** Ends whatever is under way with `input`, if anything is. */
  async fault(input: WatchInput<string>): Promise<void> {
    const waiting = this.#state.type === "waiting" || this.#state.type === "idle";
    if (waiting) return;
    this.nowMs += input.type === "overdue" ? defaultWatchLimits.quietMs : 10;
    this.#effect = undefined;
    await this.input(input);
  }

  /** The next thing that happens without any fault. */
  async advance(): Promise<void> {
    this.nowMs += 5;
    if (this.#state.type === "idle") return this.input({ type: "go" });
    if (this.#connection) return this.#deliver(this.#connection);
    const effect = this.#effect;
    this.#effect = undefined;
    if (!effect) throw new Error(`nothing is under way in the state ${this.#state.type}`);
    if (effect.type !== "wait") this.requests.push({ atMs: this.nowMs, effect });
    switch (effect.type) {
      case "wait":
        this.nowMs += effect.atLeastMs + effect.spreadMs;
        return this.input({ type: "go" });
      case "openStream":
        return this.#openStream();
      case "openWatch":
        return this.#openWatch(Number(effect.resourceVersion));
      case "fetchPage":
        return this.#page(effect.token);
    }
  }

  async #openStream(): Promise<void> {
    if (this.support === "refused")
      return this.input({ type: "refused", status: 422, message: "sendInitialEvents is forbidden", retryAfterMs: undefined });
    await this.input({ type: "answered" });
    this.#connection = { type: "stream", at: this.server.resourceVersion, rest: [...this.server.objects.values()], ended: false };
  }

  async #openWatch(at: number): Promise<void> {
    if (!this.server.remembers(at)) return this.input({ type: "refused", status: 410, message: "too old", retryAfterMs: undefined });
    await this.input({ type: "answered" });
    this.#connection = { type: "watch", at };
  }

  async #page(token: string | undefined): Promise<void> {
    const { resourceVersion: current, epoch, objects } = this.server;
    if (token === undefined) this.#pages = { at: current, epoch, objects: [...objects.values()] };
    const first = this.#pages;
    // A token of the future is refused; one that a restored server has come to by itself is believed, and means other objects.
    if (first && first.at > current) return this.input({ type: "refused", status: 504, message: "too large", retryAfterMs: undefined });
    const pages = first && first.epoch !== epoch ? { at: first.at, objects: [...objects.values()] } : first;
    if (!pages || !this.server.remembers(pages.at)) return this.input({ type: "refused", status: 410, message: "expired", retryAfterMs: undefined });
    const from = Number(token ?? 0);
    await this.input({ type: "answered" });
    await this.input({ type: "pageObjects", objects: pages.objects.slice(from, from + pageSize) });
    const next = from + pageSize < pages.objects.length ? String(from + pageSize) : undefined;
    await this.input({ type: "pageEnd", resourceVersion: String(pages.at), token: next });
  }

  async #deliver(connection: Connection): Promise<void> {
    if (!this.server.remembers(connection.at)) return this.input({ type: "refused", status: 410, message: "too old", retryAfterMs: undefined });
    if (connection.type === "stream") {
      const object = connection.rest.shift();
      if (object) return this.input({ type: "applied", added: true, object });
      if (!connection.ended) {
        if (this.support === "endless") {
          this.nowMs += defaultWatchLimits.listStallMs;
          return this.input({ type: "overdue" });
        }
        const endOfInitialEvents = this.support === "supported";
        // What happened since the stream began may come before its end bookmark.
        if (endOfInitialEvents && (await this.#deliverEvent(connection))) return;
        connection.ended = true;
        return this.input({ type: "bookmark", resourceVersion: String(connection.at), endOfInitialEvents });
      }
    }
    await this.#deliverEvent(connection);
  }

  async #deliverEvent(connection: Connection): Promise<boolean> {
    const event = this.server.eventAfter(connection.at);
    if (!event) return false;
    connection.at = event.at;
    const { object } = event;
    await this.input(event.type === "deleted" ? { type: "deleted", object } : { type: "applied", added: event.type === "added", object });
    return true;
  }

  /** A bookmark on a live watch: never past an event that the watch has not got, be it in the history or already forgotten. */
  async bookmark(): Promise<void> {
    if (!this.caughtUp || !this.#connection) return;
    this.#connection.at = this.server.resourceVersion;
    await this.input({ type: "bookmark", resourceVersion: String(this.server.resourceVersion), endOfInitialEvents: false });
  }
}
