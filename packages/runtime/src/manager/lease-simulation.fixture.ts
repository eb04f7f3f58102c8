// For tests: a lease server and the processes that contend for its leases, all in virtual time, with everything going wrong that can.
import { ApiError } from "../client/api-error.ts";
import type { Stored } from "../client/kind.ts";
import { ConnectionError } from "../client/transport.ts";
import type { Clock, Timer } from "../clock.ts";
import type { Logger } from "../observe/logger.ts";
import type { Random } from "../random.ts";
import type { VirtualClock } from "../testing/virtual-clock.ts";
import type { Lease, LeaseStore } from "./lease-state.ts";

/** Logs nothing. */
export const silentLog: Logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => silentLog };

/** The server's side: optimistic concurrency on a map of Leases. */
export class SimulatedLeases {
  readonly leases = new Map<string, Stored<Lease>>();
  #version = 0;

  put(lease: Lease, mode: "create" | "replace"): Stored<Lease> {
    const { name = "", resourceVersion } = lease.metadata;
    const current = this.leases.get(name);
    if (mode === "create" && current) throw new ApiError(`create ${name}`, 409, { reason: "AlreadyExists" });
    if (mode === "replace" && !current) throw new ApiError(`replace ${name}`, 404, { reason: "NotFound" });
    if (mode === "replace" && current?.metadata.resourceVersion !== resourceVersion)
      throw new ApiError(`replace ${name}`, 409, { reason: "Conflict" });
    const version = String(++this.#version);
    const stored = { ...lease, metadata: { ...lease.metadata, name, uid: current?.metadata.uid ?? version, resourceVersion: version } };
    this.leases.set(name, stored);
    return stored;
  }
}

/** A process: its own clock, which runs a little fast or slow, and its own line to the server. */
export class SimulatedProcess {
  readonly #world: VirtualClock;
  readonly #server: SimulatedLeases;
  readonly #random: Random;
  readonly #speed: number;
  /** Things that would have happened while the process stood still. */
  #missed: (() => void)[] = [];
  #life: "running" | "paused" | "dead" = "running";
  /** No request gets through, and no answer. */
  partitioned = false;
  /** Requests always get through, and quickly. */
  flawless = false;

  constructor(world: VirtualClock, server: SimulatedLeases, random: Random) {
    this.#world = world;
    this.#server = server;
    this.#random = random;
    this.#speed = 0.95 + random() * 0.1;
  }

  get alive(): boolean {
    return this.#life !== "dead";
  }

  get running(): boolean {
    return this.#life === "running";
  }

  readonly clock: Clock = {
    now: () => this.#world.now(),
    monotonic: () => this.#world.monotonic() * this.#speed,
    setTimer: (delayMs, fire) => {
      let cancelled = false;
      const timer: Timer = this.#world.setTimer(delayMs / this.#speed, () => this.#happen(() => (cancelled ? undefined : fire())));
      return {
        cancel: () => {
          cancelled = true;
          timer.cancel();
        },
      };
    },
  };

  readonly store: LeaseStore = {
    read: (name, signal) => this.#request(() => this.#server.leases.get(name), signal),
    create: (lease, signal) => this.#request(() => this.#server.put(lease, "create"), signal),
    replace: (lease, signal) => this.#request(() => this.#server.put(lease, "replace"), signal),
  };

  /** SIGSTOP. */
  pause(): void {
    if (this.#life === "running") this.#life = "paused";
  }

  /** SIGCONT: everything that was missed happens at once. */
  resume(): void {
    if (this.#life !== "paused") return;
    this.#life = "running";
    const missed = this.#missed;
    this.#missed = [];
    for (const happen of missed) happen();
  }

  /** SIGKILL. */
  kill(): void {
    this.#life = "dead";
    this.#missed = [];
  }

  #happen(what: () => void): void {
    if (this.#life === "running") what();
    else if (this.#life === "paused") this.#missed.push(what);
  }

  /** A request takes time both ways, and either way may fail. */
  #request<R>(handle: () => R, signal: AbortSignal): Promise<R> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      this.#world.setTimer(this.#latencyMs(), () => {
        if (this.partitioned) return;
        if (this.#unlucky()) return this.#happen(() => reject(new ConnectionError("refused")));
        const answer = attempt(handle);
        this.#world.setTimer(this.#latencyMs(), () => {
          // A cut line keeps the answer back; the caller's own time-out ends the wait.
          if (this.partitioned) return;
          if (this.#unlucky()) return this.#happen(() => reject(new ConnectionError("reset")));
          this.#happen(() => ("error" in answer ? reject(answer.error) : resolve(answer.value)));
        });
      });
    });
  }

  #latencyMs(): number {
    return this.#random() * (this.#unlucky() ? 3000 : 40);
  }

  #unlucky(): boolean {
    return !this.flawless && this.#random() < 0.02;
  }
}

function attempt<R>(handle: () => R): { readonly value: R } | { readonly error: Error } {
  try {
    return { value: handle() };
  } catch (error) {
    return { error: error instanceof Error ? error : new Error("not an error", { cause: error }) };
  }
}
