// How a watch's events reach the client: in order, but late, in lumps, never, or with the connection cut.
import type { Clock, Timer } from "../../clock.ts";
import type { Random } from "../../random.ts";
import { chance, drawInt } from "./draw.ts";
import type { FaultRates } from "./fault-rates.ts";
import type { ObjectStore } from "./object-store.ts";
import type { WatchSession } from "./watch-session.ts";

/** Between what and what a delivery stands. */
export interface WatchDeliveryOptions {
  readonly session: WatchSession;
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly clientClock: Clock;
  readonly random: Random;
  readonly faults: () => FaultRates;
  /** True while nothing gets through to the client. */
  readonly isCutOff: () => boolean;
  readonly isOpen: () => boolean;
  readonly receive: (bytes: Uint8Array) => void;
  readonly end: () => void;
  readonly fail: (reason: string) => void;
}

/** The API server sends a bookmark about once a minute. */
const bookmarkEveryMs = 60_000;

/** Carries one watch's output to its client until either side ends it. */
export class WatchDelivery {
  readonly #options: WatchDeliveryOptions;
  readonly #timers: Timer[] = [];
  #unsubscribe: (() => void) | undefined;
  /** Nothing is handed over before this, so that events stay in order. */
  #notBeforeMs = 0;
  #isStalled = false;
  #isScheduled = false;

  constructor(options: WatchDeliveryOptions) {
    this.#options = options;
  }

  start(): void {
    const { store, session, clock } = this.#options;
    this.#unsubscribe = store.onChange(({ resource }) => {
      if (resource === session.request.served.resource) this.#schedule();
    });
    this.#timers.push(clock.setTimer(session.request.timeoutMs, () => this.#finish()));
    this.#everyMinute();
    this.#schedule();
  }

  #everyMinute(): void {
    const { clock, random } = this.#options;
    const timer = clock.setTimer(bookmarkEveryMs * (0.75 + random() / 4), () => {
      if (!this.#isAlive()) return;
      if (!chance(random, this.#options.faults().bookmarkWithheld)) this.#hand(() => this.#options.session.bookmark() ?? "");
      this.#timers.splice(this.#timers.indexOf(timer), 1);
      this.#everyMinute();
    });
    this.#timers.push(timer);
  }

  /** Several changes at once are read together: one delivery is enough for all that happened until it is made. */
  #schedule(): void {
    if (this.#isScheduled || this.#isStalled) return;
    this.#isScheduled = true;
    const { random, faults } = this.#options;
    const { watchDelay, watchDelayMs, watchStall, watchCut } = faults();
    const extraMs = chance(random, watchDelay) ? drawInt(random, watchDelayMs) : 0;
    if (chance(random, watchStall)) this.#isStalled = true;
    if (chance(random, watchCut)) this.#cutOff(chance(random, 0.5));
    else this.#hand(() => this.#read(), extraMs);
  }

  #read(): string {
    this.#isScheduled = false;
    const { lines, ended } = this.#options.session.read();
    if (ended) this.#hand(() => this.#finishNow());
    return lines.join("");
  }

  #cutOff(isClean: boolean): void {
    this.#hand(() => {
      if (isClean) return this.#finishNow();
      this.#close();
      this.#options.fail("connection reset");
      return "";
    });
  }

  #finish(): void {
    if (!this.#isAlive() || this.#isStalled) return;
    this.#hand(() => this.#read() + (this.#options.session.bookmark() ?? ""));
    this.#hand(() => this.#finishNow());
  }

  #finishNow(): string {
    this.#close();
    this.#options.end();
    return "";
  }

  /** Hands over what `produce` makes, at the time it arrives, unless the stream has gone silent by then. */
  #hand(produce: () => string, extraMs = 0): void {
    const { clock, clientClock, random, faults, receive, isCutOff } = this.#options;
    const arrivesMs = Math.max(this.#notBeforeMs, clock.monotonic() + drawInt(random, faults().latencyMs) + extraMs);
    this.#notBeforeMs = arrivesMs;
    clientClock.setTimer(arrivesMs - clock.monotonic(), () => {
      if (!this.#isAlive()) return;
      // A stream that loses a packet to a partition stays silent: nobody retransmits for as long as that lasts.
      if (isCutOff()) this.#isStalled = true;
      if (this.#isStalled) return;
      const text = produce();
      if (text !== "") receive(Buffer.from(text));
    });
  }

  #isAlive(): boolean {
    if (this.#options.isOpen()) return true;
    this.#close();
    return false;
  }

  #close(): void {
    this.#unsubscribe?.();
    for (const timer of this.#timers.splice(0)) timer.cancel();
  }
}
