// A seeded run of whole operator processes against a simulated API server, in virtual time and with faults: the same seed is the same run, to the byte.
import { crc32 } from "node:zlib";
import { apiVersionOf, keyOfObject, type Kind, type KubeObject, nameOf, type ObjectName, objectPath, resourceOf } from "../../client/kind.ts";
import type { TransportRequest } from "../../client/transport.ts";
import type { JsonObject } from "../../json.ts";
import { drawInt, drawWeighted, forkRandom, type Random, type Range, seededRandom } from "../../random.ts";
import { VirtualClock } from "../virtual-clock.ts";
import { collectGarbage } from "./garbage-collector.ts";
import { type NetworkEvent, SimulatedNetwork } from "./network.ts";
import type { StoreChange } from "./object-store.ts";
import { ProcessHost, type SimulatedProcess } from "./process.ts";
import { SimulatedApiServer } from "./simulated-api-server.ts";
import { type FaultRates, manyFaults, manyWorldFaults, noFaults, type WorldFaults, WorldTrouble } from "./world-trouble.ts";

/** How many lines of the trace an error shows. */
const shownLines = 40;

/** What failed. */
interface SimulationFailure {
  readonly seed: number;
  readonly problem: string;
  readonly trace: readonly string[];
  readonly cause?: unknown;
}

/** A failed run; `seed` replays it exactly. */
export class SimulationError extends Error {
  readonly code = "Simulation";
  readonly seed: number;
  /** The whole run, line by line. */
  readonly trace: readonly string[];

  constructor({ seed, problem, trace, cause }: SimulationFailure) {
    const last = trace
      .slice(-shownLines)
      .map((line) => `  ${line}`)
      .join("\n");
    super(
      `seed ${seed}: ${problem}\nreplay it with: SEED=${seed} npx vitest run ${testFile()}\nthe last of ${trace.length} lines of its trace:\n${last}`,
      { cause },
    );
    this.name = "SimulationError";
    this.seed = seed;
    this.trace = trace;
  }
}

/** The test file under way, as vitest names it to its workers; the command is right without it too, only slower. */
function testFile(): string {
  const state: unknown = Reflect.get(globalThis, "__vitest_worker__");
  const path: unknown = typeof state === "object" && state !== null ? Reflect.get(state, "filepath") : undefined;
  return typeof path === "string" ? path.replace(`${process.cwd()}/`, "") : "";
}

/** What actions, invariants and checks see. */
export interface World {
  readonly server: SimulatedApiServer;
  readonly network: SimulatedNetwork;
  readonly clock: VirtualClock;
  /** The user's own draws. */
  readonly random: Random;
  /** The objects of a kind as the server has them. */
  readonly objects: (kind: Kind) => readonly JsonObject[];
  /** A request of the user's: served at once, without faults. Returns the status. */
  readonly request: (request: TransportRequest) => number;
  /** Server-side apply of a user's, which takes fields over. Returns the status, and throws where the request makes no sense: nothing would be tested. */
  readonly apply: <T extends KubeObject>(kind: Kind<T>, object: T) => number;
  /** A delete of a user's. Returns the status. */
  readonly delete: (kind: Kind, name: ObjectName) => number;
  /** When the store last went back to a backup, on the monotonic scale. */
  readonly lastRestoreMs: number;
}

/** A change in the store, and whose request made it. */
export interface ObservedWrite {
  readonly change: StoreChange;
  /** The process's name; `user` or `server` for those two. */
  readonly client: string;
  readonly request: TransportRequest | undefined;
  /** When the client sent the request, on the monotonic scale. */
  readonly sentAtMs: number;
}

/** Something a user does; `weight` says how often, default 1. */
export interface UserAction {
  readonly name: string;
  readonly weight?: number;
  run(world: World): void;
}

/** A simulation. */
export interface SimulationOptions {
  readonly seed: number;
  /** How many user actions and faults happen. Default 30. */
  readonly steps?: number;
  /** The time between two of them. Default 0–15 s. */
  readonly stepMs?: Range;
  readonly processes: readonly SimulatedProcess[];
  readonly actions: readonly UserAction[];
  /** Serves kinds and seeds objects before anything runs. */
  readonly setup?: (world: World) => void;
  /** Checked after every write: a string says what is violated. */
  readonly invariants?: Readonly<Record<string, (write: ObservedWrite, world: World) => string | undefined>>;
  /** What is still missing once faults have stopped; undefined when everything is as it should be. */
  readonly unsettled: (world: World) => string | undefined;
  /** How long after the last fault everything must be settled. Default 20 min. */
  readonly settleMs?: number;
  /** How many requests a settled process may make in a minute, leases and watches included. Default 120. */
  readonly maxRequestsPerMinute?: number;
  readonly faults?: Partial<FaultRates>;
  readonly worldFaults?: Partial<WorldFaults>;
  /** How old the backup is that a restore goes back to. Default up to 60 s. */
  readonly backupAgeMs?: Range;
}

/** What a run was like. */
export interface SimulationReport {
  readonly seed: number;
  readonly trace: readonly string[];
  readonly requests: number;
  readonly writes: number;
  /** The most requests that one process made in one minute of virtual time. */
  readonly busiestMinute: number;
  /** From the last fault until everything was as it should be. */
  readonly settledAfterMs: number;
}

/** How often `unsettled` is asked. */
const pollMs = 1_000;
/** How long a settled world is watched for processes that keep busy. */
const watchedMs = 120_000;

/** Runs the simulation; rejects with a `SimulationError` if anything promised does not hold. */
export async function simulate(options: SimulationOptions): Promise<SimulationReport> {
  const run = new SimulationRun(options);
  try {
    return await run.run();
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw new SimulationError({ seed: options.seed, problem, trace: run.trace, cause: error });
  } finally {
    run.end();
  }
}

class SimulationRun {
  readonly trace: string[] = [];
  readonly #options: SimulationOptions;
  readonly #clock = new VirtualClock();
  readonly #random: Random;
  readonly #world: World;
  readonly #server: SimulatedApiServer;
  readonly #network: SimulatedNetwork;
  readonly #hosts: readonly ProcessHost[];
  readonly #trouble: WorldTrouble;
  readonly #sentAtMs = new WeakMap<TransportRequest, number>();
  readonly #requests = new Map<string, number>();
  readonly #requestsByMinute = new Map<string, number>();
  #serving: { readonly client: string; readonly request?: TransportRequest } = { client: "server" };
  #writes = 0;
  #failure: Error | undefined;

  constructor(options: SimulationOptions) {
    this.#options = options;
    this.#random = seededRandom(options.seed);
    this.#server = new SimulatedApiServer({ clock: this.#clock, random: forkRandom(this.#random), revision: drawInt(this.#random, [90, 9_990]) });
    this.#network = new SimulatedNetwork({
      server: this.#server,
      clock: this.#clock,
      random: forkRandom(this.#random),
      observe: (event) => this.#onNetwork(event),
    });
    const note = (line: string): void => this.#note(line);
    const fail = (error: Error): void => this.#fail(error);
    const [network, clock] = [this.#network, this.#clock];
    this.#hosts = options.processes.map((process) => new ProcessHost({ process, network, clock, random: forkRandom(this.#random), note, fail }));
    this.#trouble = new WorldTrouble({
      server: this.#server,
      network,
      clock,
      hosts: this.#hosts,
      random: forkRandom(this.#random),
      note,
      backupAgeMs: options.backupAgeMs ?? [0, 60_000],
    });
    this.#world = this.#makeWorld(forkRandom(this.#random));
    this.#server.store.onChange((change) => this.#onWrite(change));
  }

  async run(): Promise<SimulationReport> {
    const { steps = 30, stepMs = [0, 15_000], actions } = this.#options;
    this.#options.setup?.(this.#world);
    this.#network.faults = { ...manyFaults, ...this.#options.faults };
    this.#collectGarbageForever();
    for (const host of this.#hosts) host.start();
    for (let step = 0; step < steps; step += 1) {
      await this.#advance(drawInt(this.#random, stepMs));
      const troubles = this.#trouble.alternatives({ ...manyWorldFaults, ...this.#options.worldFaults });
      const moves = actions.map((action) => [action.weight ?? 1, () => this.#act(action)] as const);
      // Users and faults take turns about evenly, whatever the number of kinds of each.
      drawWeighted(this.#random, this.#random() < 0.5 ? troubles : moves)?.();
    }
    return this.#settle();
  }

  /** Lets the processes of this run go without a trace. */
  end(): void {
    for (const host of this.#hosts) host.crash();
  }

  async #settle(): Promise<SimulationReport> {
    const { settleMs = 20 * 60_000, maxRequestsPerMinute = 120 } = this.#options;
    this.#note("faults stop");
    this.#network.faults = noFaults;
    this.#trouble.stop();
    const startMs = this.#clock.monotonic();
    let missing = this.#options.unsettled(this.#world);
    for (; missing !== undefined; missing = this.#options.unsettled(this.#world)) {
      if (this.#clock.monotonic() - startMs > settleMs) throw new Error(`not settled ${settleMs} ms after the last fault: ${missing}`);
      await this.#advance(pollMs);
    }
    const settledAfterMs = this.#clock.monotonic() - startMs;
    this.#note("settled");
    const before = new Map(this.#requests);
    await this.#advance(watchedMs);
    missing = this.#options.unsettled(this.#world);
    if (missing !== undefined) throw new Error(`settled, and then no longer: ${missing}`);
    for (const { name } of this.#hosts) {
      const perMinute = ((this.#requests.get(name) ?? 0) - (before.get(name) ?? 0)) / (watchedMs / 60_000);
      if (perMinute > maxRequestsPerMinute) throw new Error(`${name} makes ${perMinute.toFixed(0)} requests a minute though everything is settled`);
    }
    await this.#stopAll();
    const requests = [...this.#requests.values()].reduce((sum, count) => sum + count, 0);
    return {
      seed: this.#options.seed,
      trace: this.trace,
      requests,
      writes: this.#writes,
      busiestMinute: Math.max(0, ...this.#requestsByMinute.values()),
      settledAfterMs,
    };
  }

  async #stopAll(): Promise<void> {
    for (const host of this.#hosts) host.stop();
    while (this.#hosts.some((host) => host.isRunning)) await this.#advance(pollMs);
  }

  async #advance(byMs: number): Promise<void> {
    await this.#clock.advance(byMs);
    if (this.#failure) throw this.#failure;
  }

  #makeWorld(random: Random): World {
    const [server, network, clock, trouble] = [this.#server, this.#network, this.#clock, this.#trouble];
    return {
      server,
      network,
      clock,
      random,
      objects: (kind) => server.store.list(resourceOf(kind)).map(([, object]) => object),
      request: (request) => this.#asUser(request),
      apply: (kind, object) => this.#apply(kind, object),
      delete: (kind, name) => this.#asUser({ method: "DELETE", path: objectPath(kind, name) }),
      get lastRestoreMs() {
        return trouble.lastRestoreMs;
      },
    };
  }

  #asUser(request: TransportRequest): number {
    this.#serving = { client: "user", request };
    const answer = this.#server.handle(request);
    this.#serving = { client: "server" };
    const status = answer.type === "answer" ? answer.status : 200;
    this.#note(`user ${request.method} ${request.path} → ${status}`);
    return status;
  }

  #apply(kind: Kind, object: KubeObject): number {
    const path = `${objectPath(kind, nameOf(keyOfObject(object)))}?fieldManager=user&force=true`;
    const headers = { "content-type": "application/apply-patch+yaml" };
    const status = this.#asUser({
      method: "PATCH",
      path,
      headers,
      body: JSON.stringify({ apiVersion: apiVersionOf(kind), kind: kind.kind, ...object }),
    });
    if (status === 400 || status === 404)
      throw new Error(`applying ${kind.kind} ${keyOfObject(object)}: ${status}; is its kind served, and is it whole?`);
    return status;
  }

  #act(action: UserAction): void {
    this.#note(`user: ${action.name}`);
    action.run(this.#world);
  }

  #onNetwork(event: NetworkEvent): void {
    const { client, request } = event;
    if (event.type === "sent") {
      this.#sentAtMs.set(request, this.#clock.monotonic());
      count(this.#requests, client);
      count(this.#requestsByMinute, `${client} ${Math.floor(this.#clock.monotonic() / 60_000)}`);
      this.#note(`${client} sends ${request.method} ${request.path} ${request.body === undefined ? "" : crc32(request.body).toString(16)}`);
    } else if (event.type === "serving") {
      this.#serving = { client, request };
    } else {
      this.#serving = { client: "server" };
      this.#note(`${client} served ${request.method} ${request.path.split("?")[0]} → ${event.status}`);
    }
  }

  #onWrite(change: StoreChange): void {
    this.#writes += 1;
    const { client, request } = this.#serving;
    const what = change.before ? (change.after ? "changed" : "removed") : "added";
    this.#note(`${change.resource} ${change.key} ${what} by ${client} at ${change.revision}`);
    const sentAtMs = (request && this.#sentAtMs.get(request)) ?? this.#clock.monotonic();
    for (const [name, check] of Object.entries(this.#options.invariants ?? {})) {
      const problem = check({ change, client, request, sentAtMs }, this.#world);
      if (problem !== undefined) this.#fail(new Error(`${name} is violated: ${problem}`));
    }
  }

  #collectGarbageForever(): void {
    this.#clock.setTimer(drawInt(this.#random, [500, 5_000]), () => {
      collectGarbage(this.#server);
      this.#collectGarbageForever();
    });
  }

  #fail(error: Error): void {
    if (this.#failure) return;
    this.#note(`failure: ${error.message}`);
    this.#failure = error;
  }

  #note(line: string): void {
    this.trace.push(`${(this.#clock.monotonic() / 1_000).toFixed(3)} ${line}`);
  }
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** The first seed; the others follow. Fixed, so that a run in CI and one at a desk are the same. */
const firstSeed = 1;

/**
 * Calls `run` with `count` seeds, one after the other. With `SEED` in the environment only that one; with `SEEDS` that many instead of `count`.
 * What `run` throws is thrown on; a simulation's error names its seed itself, any other gets it here.
 */
export async function forEachSeed(count: number, run: (seed: number) => Promise<void> | void): Promise<void> {
  for (const seed of seedsFor(count, process.env)) {
    try {
      await run(seed);
    } catch (error) {
      if (error instanceof Error && error.message.startsWith(`seed ${seed}:`)) throw error;
      throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}\nreplay it with: SEED=${seed} npx vitest run`, {
        cause: error,
      });
    }
  }
}

/** The seeds to run. */
export function seedsFor(count: number, environment: Readonly<Record<string, string | undefined>>): readonly number[] {
  const only = environment["SEED"];
  if (only !== undefined && only !== "") return [wholeNumber("SEED", only)];
  const many = environment["SEEDS"];
  const length = many === undefined || many === "" ? count : wholeNumber("SEEDS", many);
  return Array.from({ length }, (_, index) => firstSeed + index);
}

function wholeNumber(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0) throw new Error(`${name} must be a whole number that is not negative, but is "${text}"`);
  return value;
}
