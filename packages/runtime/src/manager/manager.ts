// Runs all controllers of a process: caches first, then elections, then work; and the way back at shutdown.
import { sleep } from "../clock.ts";
import type { ControllerDefinition } from "../controller/controller.ts";
import type { RunnerOptions } from "../controller/runner.ts";
import type { ControllerStatus } from "./controller-status.ts";
import { leaseStore } from "./lease-store.ts";
import { checkLeaseTimes, defaultLeaseTimes } from "./lease-times.ts";
import type { LeaseTimes } from "./lease-times.ts";
import { ManagedController } from "./managed-controller.ts";
import { OutageLog } from "./outage-log.ts";

/** How replicas agree on who acts. */
export interface LeaderElectionOptions {
  /** Without election this process always acts; then there must be only one. */
  readonly enabled: boolean;
  /** Where the Leases are kept. */
  readonly namespace: string;
  /** Unique among all processes that ever take part; see `processIdentity`. */
  readonly identity: string;
  /** Default 15 s, 10 s, 2 s. */
  readonly durations?: LeaseTimes;
  /** What the names of Leases start with; the controller's name follows. Default empty. */
  readonly leasePrefix?: string;
}

/** What a manager is made of. */
export interface ManagerOptions extends RunnerOptions {
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
const longestIntervalMs = 2 ** 31 - 1;

/** Sets all controllers up; throws what a `setup` throws, and for lease times that make no sense. */
export function createManager(options: ManagerOptions): Manager {
  const { client, caches, clock, log, leaderElection, graceMs = 22_000 } = options;
  const { enabled, namespace, identity, durations: times = defaultLeaseTimes, leasePrefix = "" } = leaderElection;
  checkLeaseTimes(times);
  const outages = new OutageLog(log, clock);
  const election = enabled ? { identity, times, leasePrefix, outages, store: leaseStore(client, namespace) } : undefined;
  const controllers = options.controllers.map((definition) => new ManagedController(definition, { ...options, election, graceMs }));
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
      const alive = setInterval(() => {}, longestIntervalMs);
      await Promise.all(controllers.map((controller) => controller.run(signal)));
      end.abort();
      await looking;
      clearInterval(alive);
    },
  };
}
