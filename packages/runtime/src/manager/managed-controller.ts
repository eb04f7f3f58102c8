// One controller under the manager: waits for its caches, stands for election, works while it may.
import type { Clock } from "../clock.ts";
import { sleep } from "../clock.ts";
import type { ControllerDefinition } from "../controller/controller.ts";
import { failureOf } from "../controller/failure.ts";
import { silentObserver } from "../controller/observer.ts";
import { ControllerRunner } from "../controller/runner.ts";
import type { RunnerOptions } from "../controller/runner.ts";
import { TermEndedError } from "../controller/term.ts";
import { controllerState, isReady } from "./controller-status.ts";
import type { ControllerStatus } from "./controller-status.ts";
import { LeaseElector } from "./lease-elector.ts";
import type { ElectionProblem, ElectorOptions } from "./lease-elector.ts";

/** What all elections of a process share; the name of a controller's Lease comes with the controller. */
export type ElectionOptions = Pick<ElectorOptions, "identity" | "times" | "store" | "outages"> & { readonly leasePrefix: string };

/** What a controller is managed with. */
export interface ManagedControllerOptions extends RunnerOptions {
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
export class ManagedController {
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
