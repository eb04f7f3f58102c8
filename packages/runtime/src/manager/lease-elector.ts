// Takes a Lease, keeps it, and lets work go on exactly as long as it is held.
import { isApiError } from "../client/api-error.ts";
import type { Stored } from "../client/kind.ts";
import { ConnectionError } from "../client/transport.ts";
import type { Clock, Timer } from "../clock.ts";
import type { AccessRule } from "../controller/controller.ts";
import { failureOf, missingRight } from "../controller/failure.ts";
import { type Term, TermEndedError } from "../controller/run.ts";
import type { Logger } from "../observe/logger.ts";
import type { Random } from "../random.ts";
import {
  type Candidate,
  isOurs,
  type Lease,
  type LeaseEvent,
  leaseKind,
  type LeaseState,
  type LeaseStore,
  nextLeaseAction,
  released,
  stepLease,
  validUntilMs,
} from "./lease-state.ts";
import type { OutageLog } from "./manager.ts";

/** What one election needs. */
export interface ElectorOptions extends Candidate {
  readonly lease: string;
  /** What the Lease says besides, for whoever looks at it. Default nothing. */
  readonly annotations?: Readonly<Record<string, string>>;
  readonly store: LeaseStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly outages: OutageLog;
  /** How long runs may go on when the lease is to be given up, before they are cut. */
  readonly drainGraceMs: number;
  /** Does the work of a term; resolves when all of it has stopped, soon after one of the term's signals has aborted. */
  readonly lead: (term: Term) => Promise<void>;
  readonly onChange?: (held: boolean) => void;
}

/** How often a standby looks, unless it is told to try more often: a Lease that was given back, as in a rolling update, has a holder again within a second. */
const standbyPeriodMs = 800;

/** Giving back is a courtesy: a process that ends has better things to wait for. */
const releaseTimeoutMs = 3_000;

/** Why an election gets nowhere. */
export type ElectionProblem = { readonly type: "forbidden"; readonly rule: string } | { readonly type: "failing"; readonly error: string };

/**
 * One replica's part in one election.
 *
 * Guarantees: `lead` runs only while the lease is held, one call at a time. A term ends `renewDeadlineMs` after the last successful renewal was
 * sent, which is before any other replica may take the lease; its `isValid` says so by the clock even if this process stood still meanwhile.
 * The lease is given back only after `lead` has resolved. Losing a lease is no error: the election goes on.
 *
 * A machine that slept is noticed by its wall clock, if that has gone on; one whose wall clock is set forward ends a term for nothing, and takes the lease again.
 *
 * Assumption: the monotonic clocks of two replicas run at the same speed to within `leaseDurationMs / renewDeadlineMs`.
 * Caveat: a request that was sent while the lease was held can reach the API server after it was lost.
 */
export class LeaseElector {
  readonly #options: ElectorOptions;
  #state: LeaseState = { type: "unknown" };
  /** By how much the wall clock was ahead of the monotonic one at the last renewal. */
  #wallAheadMs = 0;
  #problem: ElectionProblem | undefined;
  #saidHolder: string | undefined;
  #wake: () => void = () => {};
  #onLost: () => void = () => {};

  constructor(options: ElectorOptions) {
    this.#options = options;
  }

  /** Whether this process may act now. */
  get held(): boolean {
    return this.#nowMs() < validUntilMs(this.#state, this.#options);
  }

  /**
   * Monotonic time, and what the machine has slept since the last renewal: the monotonic clock stands still meanwhile, and the wall clock does not. Clocks that
   * only go at different speeds are no sleep: what is less than half of the time before others take the lease does not count.
   */
  #nowMs(): number {
    const { clock, times } = this.#options;
    const nowMs = clock.monotonic();
    const sleptMs = clock.now() - nowMs - this.#wallAheadMs;
    return sleptMs > (times.leaseDurationMs - times.renewDeadlineMs) / 2 ? nowMs + sleptMs : nowMs;
  }

  get problem(): ElectionProblem | undefined {
    return this.#problem;
  }

  /** Takes part until the signal aborts; then lets the work end, gives the lease back and resolves. */
  async run(signal: AbortSignal): Promise<void> {
    const { retryPeriodMs } = this.#options.times;
    const onAbort = (): void => this.#wake();
    signal.addEventListener("abort", onAbort);
    try {
      while (!signal.aborted) {
        await this.#attempt(signal);
        if (this.held) await this.#serve(signal);
        const lookAgainMs = this.#problem ? retryPeriodMs : Math.min(retryPeriodMs, standbyPeriodMs);
        await this.#pause(this.#jittered(lookAgainMs), signal);
      }
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#options.outages.succeeded(this.#source);
    }
  }

  get #source(): string {
    return `lease ${this.#options.lease}`;
  }

  #step(event: LeaseEvent): void {
    const before = this.#state;
    this.#state = stepLease(before, event, this.#options);
    if (isOurs(before) && !isOurs(this.#state)) this.#onLost();
  }

  /** One try to take or renew. Never rejects. */
  async #attempt(signal: AbortSignal): Promise<void> {
    const { clock, outages } = this.#options;
    const timeout = new AbortController();
    const stop = (): void => timeout.abort(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    // Half the deadline, so that a request that hangs leaves time for another.
    const timeoutMs = this.#options.times.renewDeadlineMs / 2;
    const timer = clock.setTimer(timeoutMs, () => timeout.abort(new ConnectionError(`no answer within ${timeoutMs / 1000} s`)));
    try {
      await this.#takeOrRenew(timeout.signal);
      this.#problem = undefined;
      outages.succeeded(this.#source);
    } catch (error) {
      if (!signal.aborted) this.#note(error);
    } finally {
      timer.cancel();
      signal.removeEventListener("abort", stop);
    }
  }

  async #takeOrRenew(signal: AbortSignal): Promise<void> {
    this.#step({ type: "passed", atMs: this.#nowMs() });
    const renewing = isOurs(this.#state);
    // Twice, because a renewal whose answer was lost makes the next one fail although the lease is still ours.
    for (let tries = 0; tries < 2; tries++) {
      // What is not ours is looked at before every try: only what was seen not to change may be taken.
      if (this.#state.type !== "held") await this.#read(signal);
      // Work under a lease that turned out to be lost must end before we may try for it again.
      if (renewing && !isOurs(this.#state)) return;
      await this.#write(signal);
      if (this.#state.type !== "doubted") return;
    }
  }

  async #write(signal: AbortSignal): Promise<void> {
    const { clock, store, lease: name, annotations } = this.#options;
    const [sentMs, wallMs] = [clock.monotonic(), clock.now()];
    const action = nextLeaseAction(this.#state, this.#options, { nowMs: sentMs, wallMs });
    if (action.type === "wait") return this.#sayWhoHolds();
    if (action.type === "read") return;
    try {
      const written =
        action.type === "create"
          ? await store.create({ metadata: { name, ...(annotations && { annotations }) }, spec: action.spec }, signal)
          : await store.replace({ ...annotated(action.lease, annotations), spec: action.spec }, signal);
      this.#wallAheadMs = wallMs - sentMs;
      this.#step({ type: "written", lease: written, sentMs });
    } catch (error) {
      if (!isApiError(error, "Conflict", "AlreadyExists", "NotFound")) throw error;
      // Where none can be made, its namespace does not exist.
      if (action.type === "create" && isApiError(error, "NotFound")) throw error;
      this.#step({ type: "refused" });
    }
  }

  /** Once for each holder: whoever starts a second process sees why nothing happens. */
  #sayWhoHolds(): void {
    const holder = this.#state.type === "seen" ? this.#state.lease.spec?.holderIdentity : undefined;
    if (holder !== this.#saidHolder) this.#options.log.info({ lease: this.#options.lease, holder }, "standing by: another process holds the lease");
    this.#saidHolder = holder;
  }

  async #read(signal: AbortSignal): Promise<void> {
    const lease = await this.#options.store.read(this.#options.lease, signal);
    this.#step({ type: "read", lease, atMs: this.#options.clock.monotonic() });
  }

  #note(error: unknown): void {
    const rule = isApiError(error, "Forbidden") ? missingRight(error) : undefined;
    const { message } = failureOf(error);
    this.#problem = rule ? { type: "forbidden", rule } : { type: "failing", error: message };
    this.#options.outages.failed(this.#source, message);
  }

  /** Lets the work go on for as long as the lease is ours, or until the signal aborts; then gives it back. */
  async #serve(signal: AbortSignal): Promise<void> {
    const { clock, lead, log, lease, times, onChange = () => {} } = this.#options;
    const drain = new AbortController();
    const stop = new AbortController();
    let grace: Timer | undefined;
    let expiry: Timer | undefined;
    const term: Term = { drain: drain.signal, signal: stop.signal, isValid: () => this.held };
    const over = new AbortController();

    const giveUp = (): void => {
      if (drain.signal.aborted) return;
      drain.abort(new TermEndedError("the lease is given back"));
      grace = clock.setTimer(this.#options.drainGraceMs, () => stop.abort(new TermEndedError("the lease must be given back now")));
    };
    this.#onLost = () => stop.abort(new TermEndedError("the lease was lost"));
    const guard = (): void => {
      if (!this.held) return this.#onLost();
      expiry = clock.setTimer(validUntilMs(this.#state, this.#options) - clock.monotonic(), guard);
    };

    log.info({ lease }, "lease taken");
    onChange(true);
    guard();
    signal.addEventListener("abort", giveUp, { once: true });
    if (signal.aborted) giveUp();
    const work = lead(term)
      .catch((error: unknown) => {
        const { message, unexpected } = failureOf(error);
        log.error({ lease, error: message, ...unexpected }, "work under a lease ended with an error");
      })
      .finally(() => {
        over.abort();
        this.#wake();
      });

    const renewal = AbortSignal.any([stop.signal, over.signal]);
    let renewMs = clock.monotonic() + this.#jittered(times.retryPeriodMs);
    while (!over.signal.aborted && this.held) {
      await this.#pause(renewMs - clock.monotonic());
      if (over.signal.aborted || clock.monotonic() < renewMs) continue;
      await this.#attempt(renewal);
      renewMs = clock.monotonic() + this.#jittered(times.retryPeriodMs);
    }
    const lost = !this.held;
    if (lost) this.#onLost();
    await work;
    grace?.cancel();
    expiry?.cancel();
    if (this.held) await this.#release();
    this.#onLost = () => {};
    signal.removeEventListener("abort", giveUp);
    this.#step({ type: "passed", atMs: this.#nowMs() });
    onChange(false);
    if (lost) log.warn({ lease }, "lease lost; work under it has stopped and the election goes on");
  }

  /** Gives the lease back. If that fails the others wait until it has run out. */
  async #release(): Promise<void> {
    const { clock, lease, log } = this.#options;
    if (!isOurs(this.#state)) return;
    const held = this.#state.lease;
    // From here on we do not act, whatever becomes of the request.
    this.#state = { type: "unknown" };
    const timeout = new AbortController();
    const timer = clock.setTimer(releaseTimeoutMs, () => timeout.abort(new ConnectionError(`no answer within ${releaseTimeoutMs / 1000} s`)));
    try {
      await this.#giveBack(held, timeout.signal);
      log.info({ lease }, "lease given back");
    } catch (error) {
      log.warn({ lease, error: failureOf(error).message }, "the lease could not be given back; others take it when it has run out");
    } finally {
      timer.cancel();
    }
  }

  async #giveBack(held: Stored<Lease>, signal: AbortSignal): Promise<void> {
    const { clock, store, lease, identity } = this.#options;
    try {
      await store.replace({ ...held, spec: released(held.spec, clock.now()) }, signal);
    } catch (error) {
      if (!isApiError(error, "Conflict")) throw error;
      // A last renewal whose answer we did not wait for has made the lease newer than we know it.
      const current = await store.read(lease, signal);
      if (current?.spec?.holderIdentity === identity) await store.replace({ ...current, spec: released(current.spec, clock.now()) }, signal);
    }
  }

  /** A tenth more or less, so that replicas that started together do not stay in step. */
  #jittered(ms: number): number {
    return ms * (0.9 + 0.2 * this.#options.random());
  }

  /** Waits, but not beyond the next reason to look again: the work ended, the signal aborted. */
  #pause(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = this.#options.clock.setTimer(ms, resolve);
      this.#wake = () => {
        timer.cancel();
        resolve();
      };
    });
  }
}

/** What others have written on it stays. */
function annotated(lease: Stored<Lease>, annotations: ElectorOptions["annotations"]): Stored<Lease> {
  if (!annotations) return lease;
  return { ...lease, metadata: { ...lease.metadata, annotations: { ...lease.metadata.annotations, ...annotations } } };
}

// How long a lease lasts and how often it is renewed.

/** The times of an election. `retryPeriodMs` < `renewDeadlineMs` < `leaseDurationMs`. */
export interface LeaseTimes {
  /** Others may take a lease that they have seen unchanged for this long. Whole seconds. */
  readonly leaseDurationMs: number;
  /** The holder stops acting this long after it sent its last successful renewal. The difference to the duration is the margin for clocks that run at different speeds and for stopping. */
  readonly renewDeadlineMs: number;
  /** Between two renewals, and two tries after one that failed, give or take a tenth. A standby looks every 800 ms if this is longer. */
  readonly retryPeriodMs: number;
}

/** The defaults of client-go and controller-runtime: 15 s, 10 s, 2 s. */
export const defaultLeaseTimes: LeaseTimes = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000 };

/** Throws a `RangeError` that says what is wrong with the times, if something is. */
export function checkLeaseTimes({ leaseDurationMs, renewDeadlineMs, retryPeriodMs }: LeaseTimes): void {
  if (!(leaseDurationMs >= 1000) || leaseDurationMs % 1000 !== 0) {
    throw new RangeError(`the lease duration is ${leaseDurationMs} ms, but a Lease stores whole seconds, at least one`);
  }
  if (!(renewDeadlineMs < leaseDurationMs)) {
    throw new RangeError(`the renew deadline (${renewDeadlineMs} ms) must be shorter than the lease duration (${leaseDurationMs} ms)`);
  }
  if (!(retryPeriodMs > 0 && retryPeriodMs * 1.2 < renewDeadlineMs)) {
    throw new RangeError(`the retry period (${retryPeriodMs} ms) must be above zero and well below the renew deadline (${renewDeadlineMs} ms)`);
  }
}

// The rights that elections need.

/** What a process with elections does with Leases, in the one namespace where it keeps them: those of these names, or of any. */
export function leaseAccess(names?: readonly string[]): readonly AccessRule[] {
  const why = "to hold one Lease per controller, so that only one replica acts at a time";
  if (names === undefined) return [{ kind: leaseKind, verbs: ["get", "create", "update"], why }];
  if (names.length === 0) return [];
  return [
    { kind: leaseKind, verbs: ["get", "update"], resourceNames: names, why },
    // A name cannot be asked for here.
    { kind: leaseKind, verbs: ["create"], why },
  ];
}
