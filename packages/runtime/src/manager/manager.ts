// Runs all controllers of a process: caches first, then elections, then work; and the way back at shutdown.
import type { WatchStatus } from "../cache/caches.ts";
import { type Clock, sleep, checkNumbers } from "../clock.ts";
import type { Activity, ControllerDefinition } from "../controller/controller.ts";
import { failureOf } from "../controller/failure.ts";
import { ControllerRunner, type RunnerOptions, silentObserver } from "../controller/runner.ts";
import { TermEndedError } from "../controller/run.ts";
import type { Logger } from "../observe/logger.ts";
import { checkLeaseTimes, defaultLeaseTimes, type ElectionProblem, type ElectorOptions, LeaseElector, type LeaseTimes } from "./lease-elector.ts";
import { leaseStore } from "./lease-state.ts";

/** How replicas agree on who acts. */
interface LeaderElectionOptions {
  /** Without election this process always acts; then there must be only one. */
  readonly enabled: boolean;
  /** Where the Leases are kept. */
  readonly namespace: string;
  /** Unique among all processes that take part at a time; see `claimIdentity`. */
  readonly identity: string;
  /** Default 15 s, 10 s, 2 s. */
  readonly durations?: LeaseTimes;
  /** What the names of Leases start with; the controller's name follows. Default empty. */
  readonly leasePrefix?: string;
  /** What each Lease says besides, for whoever looks at it. Default nothing. */
  readonly annotations?: Readonly<Record<string, string>>;
}

/** What a manager is made of. */
interface ManagerOptions extends RunnerOptions {
  readonly controllers: readonly ControllerDefinition[];
  readonly leaderElection: LeaderElectionOptions;
  /** How long running reconciles may go on after the signal aborts, before theirs do. Default 22,000: of the 30 s that Kubernetes gives a pod, some are needed to give leases back. */
  readonly graceMs?: number;
}

/** All controllers of a process. */
export interface Manager {
  /**
   * Runs until the signal aborts; then takes no more keys, lets what runs end within the grace, gives the leases back, and resolves.
   * Never rejects: an API server that is away is waited for, and a controller that cannot start delays no other.
   */
  run(signal: AbortSignal): Promise<void>;
  /** How each controller fares, in the order given. */
  statuses(): readonly ControllerStatus[];
}

/** How often watches and controllers are looked at for what should be logged. */
const lookEveryMs = 1_000;

/** The longest that Node's timers can do. */
const maxIntervalMs = 2 ** 31 - 1;

/** Sets all controllers up; throws what a `setup` throws, and for lease times that make no sense. */
export function createManager(options: ManagerOptions): Manager {
  const { client, caches, clock, log, leaderElection, graceMs = 22_000 } = options;
  const { enabled, namespace, identity, durations: times = defaultLeaseTimes, leasePrefix = "", annotations } = leaderElection;
  checkLeaseTimes(times);
  checkNumbers({ graceMs }, 0);
  const outages = new OutageLog(log, clock);
  const election = enabled
    ? { identity, times, leasePrefix, outages, store: leaseStore(client, namespace), ...(annotations && { annotations }) }
    : undefined;
  const controllers = options.controllers.map(
    (definition) => new ManagedController(definition, { ...options, operatorNamespace: namespace, election, graceMs }),
  );
  const lastStates = new Map<string, string>();

  function look(): void {
    for (const { resource, namespace: watched, state } of caches.statuses()) {
      const source = `watch ${resource}${watched === undefined ? "" : ` in ${watched}`}`;
      if (state.type === "retrying") outages.failed(source, state.error);
      // Between two tries a watch is syncing, which is no proof of anything.
      else if (state.type !== "syncing" && state.type !== "idle") outages.succeeded(source);
    }
    for (const { name: controller, state, ready } of statuses()) {
      if (lastStates.get(controller) === state) continue;
      lastStates.set(controller, state);
      if (ready || state === "starting" || state === "stopped") log.info({ controller, state }, "controller state");
      else log.warn({ controller, state }, "controller cannot work");
    }
  }

  async function keepLooking(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      look();
      // Rejects only when the signal aborts, which the loop sees by itself.
      await sleep(clock, lookEveryMs, signal).catch(() => {});
    }
    look();
  }

  const statuses = (): readonly ControllerStatus[] => controllers.map((controller) => controller.status());

  return {
    statuses,
    async run(signal) {
      // Caches outlive the controllers, whose last runs still read them.
      const end = new AbortController();
      caches.start(end.signal);
      const looking = keepLooking(end.signal);
      // The clock's timers and idle sockets do not keep a process alive, so a standby would simply end.
      const alive = setInterval(() => {}, maxIntervalMs);
      await Promise.all(controllers.map((controller) => controller.run(signal)));
      end.abort();
      await looking;
      clearInterval(alive);
    },
  };
}

// How a controller fares, in a few words, for health checks, logs and people.

/** The state of a controller in this process. */
type ControllerState =
  | "starting"
  | `waiting for CRD ${string}`
  | `forbidden: ${string}`
  | "standby"
  | "active"
  | `active, without ${string}`
  | "stopped";

/** A controller as the manager sees it. */
export interface ControllerStatus {
  readonly name: string;
  readonly state: ControllerState;
  /** Nothing needs anybody's attention in this process: it works, stands by, or waits for a CRD that is somebody else's to install. */
  readonly ready: boolean;
  readonly activity: Activity;
}

/** What the state is derived from. */
interface StateFacts {
  readonly stopped: boolean;
  readonly watches: readonly WatchStatus[];
  readonly election: ElectionProblem | undefined;
  readonly active: boolean;
}

/** The state that says most: first what somebody must mend, then what is awaited, then what is done. */
export function controllerState({ stopped, watches, election, active }: StateFacts): ControllerState {
  if (stopped) return "stopped";
  for (const { state } of watches) if (state.type === "forbidden") return `forbidden: ${state.rule}`;
  if (election?.type === "forbidden") return `forbidden: ${election.rule}`;
  const missing = watches.filter(({ state }) => state.type === "missing");
  const awaited = missing.find(({ optional = false }) => !optional);
  if (awaited) return `waiting for CRD ${awaited.resource}`;
  if (active) return missing.length === 0 ? "active" : `active, without ${missing.map(({ resource }) => resource).join(", ")}`;
  return watches.every(({ synced }) => synced) ? "standby" : "starting";
}

/** Whether a controller in this state keeps the process from being ready. */
export function isReady(state: ControllerState): boolean {
  return state.startsWith("active") || state === "standby" || state.startsWith("waiting for CRD ");
}

// One controller under the manager: waits for its caches, stands for election, works while it may.

/** What all elections of a process share; the name of a controller's Lease comes with the controller. */
type ElectionOptions = Pick<ElectorOptions, "identity" | "times" | "store" | "outages" | "annotations"> & { readonly leasePrefix: string };

/** What a controller is managed with. */
interface ManagedControllerOptions extends RunnerOptions {
  /** Absent: this process always acts. */
  readonly election: ElectionOptions | undefined;
  /** How long runs may go on at shutdown. */
  readonly graceMs: number;
}

/** After something failed that never should, before it is tried again. */
const restartAfterMs = 5_000;

/** What decides when the controller may act here. */
interface Elections {
  readonly problem: ElectionProblem | undefined;
  run(signal: AbortSignal): Promise<void>;
}

/** A controller for as long as the process lives. What happens to it delays no other. */
class ManagedController {
  readonly #runner: ControllerRunner;
  readonly #options: ManagedControllerOptions;
  readonly #elections: Elections;
  #stopped = false;

  /** Calls the definition's `setup`; what that throws is thrown. */
  constructor(definition: ControllerDefinition, options: ManagedControllerOptions) {
    this.#options = options;
    this.#runner = new ControllerRunner(definition, options);
    this.#elections = this.#electionsOf(definition);
  }

  status(): ControllerStatus {
    const watches = Array.from(this.#runner.caches, (cache) => this.#options.caches.statusOf(cache));
    const state = controllerState({ stopped: this.#stopped, watches, election: this.#elections.problem, active: this.#runner.active });
    return {
      name: this.#runner.definition.name,
      state,
      ready: isReady(state),
      activity: this.#runner.activity(),
    };
  }

  /** Runs until the signal aborts, then lets what runs end and resolves. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    while (!signal.aborted) {
      try {
        // Only a replica that knows the world stands for election: taking a lease and then having to list first would help nobody.
        await this.#runner.whenSynced(signal);
        await this.#elections.run(signal);
      } catch (error) {
        if (signal.aborted) break;
        const { message, unexpected } = failureOf(error);
        log.error(
          { controller: this.#runner.definition.name, error: message, ...unexpected },
          "the controller stopped unexpectedly and is started again",
        );
        // Rejects only when the signal aborts, which the loop sees by itself.
        await sleep(clock, restartAfterMs, signal).catch(() => {});
      }
    }
    this.#stopped = true;
    this.#runner.close();
  }

  #electionsOf({ name }: ControllerDefinition): Elections {
    const { election, clock, random, graceMs, observer = silentObserver } = this.#options;
    if (!election) return this.#always();
    const lease = `${election.leasePrefix}${name}`;
    const log = this.#options.log.child({ controller: name });
    return new LeaseElector({
      ...election,
      lease,
      clock,
      random,
      log,
      drainGraceMs: graceMs,
      lead: (term) => this.#runner.work(term),
      onChange: (held) => observer.leaseChanged({ controller: name, lease, held }),
    });
  }

  /** One term, from now to the end of the process. */
  #always(): Elections {
    const { clock, graceMs } = this.#options;
    return {
      problem: undefined,
      run: (signal) => this.#runner.work({ drain: signal, signal: afterGrace(signal, graceMs, clock), isValid: () => true }),
    };
  }
}

/** A signal that aborts that long after another one. */
function afterGrace(signal: AbortSignal, graceMs: number, clock: Clock): AbortSignal {
  const stop = new AbortController();
  signal.addEventListener("abort", () => void clock.setTimer(graceMs, () => stop.abort(new TermEndedError("the process ends"))), { once: true });
  return stop.signal;
}

// Says that the API server is away: once at first, then ever less often, and once when it is back.

/** How often an outage that goes on is mentioned. */
const firstReminderMs = 10_000;
const maxReminderMs = 600_000;

interface Outage {
  readonly sinceMs: number;
  intervalMs: number;
  nextMs: number;
}

/** Gathers what every watch and every election sees of the API server into one line per outage. */
export class OutageLog {
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #failing = new Map<string, string>();
  #outage: Outage | undefined;

  constructor(log: Logger, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** What fails, and why; empty when all is well. */
  get failing(): ReadonlyMap<string, string> {
    return this.#failing;
  }

  /** `source` could not do what it wanted, as often as it happens. */
  failed(source: string, error: string): void {
    this.#failing.set(source, error);
    const nowMs = this.#clock.monotonic();
    this.#outage ??= { sinceMs: nowMs, intervalMs: firstReminderMs, nextMs: nowMs };
    if (nowMs < this.#outage.nextMs) return;
    const fields = { failing: [...this.#failing.keys()], error, forMs: Math.round(nowMs - this.#outage.sinceMs) };
    this.#log.warn(fields, "the API server does not answer as it should; trying again until it does");
    this.#outage.nextMs = nowMs + this.#outage.intervalMs;
    this.#outage.intervalMs = Math.min(2 * this.#outage.intervalMs, maxReminderMs);
  }

  /** `source` has succeeded or no longer tries. */
  succeeded(source: string): void {
    if (!this.#failing.delete(source) || this.#failing.size > 0 || !this.#outage) return;
    this.#log.info({ afterMs: Math.round(this.#clock.monotonic() - this.#outage.sinceMs) }, "the API server answers again");
    this.#outage = undefined;
  }
}
