// How long a lease lasts and how often it is renewed.

/** The times of an election. `retryPeriodMs` < `renewDeadlineMs` < `leaseDurationMs`. */
export interface LeaseTimes {
  /** Others may take a lease that they have seen unchanged for this long. Whole seconds. */
  readonly leaseDurationMs: number;
  /** The holder stops acting this long after it sent its last successful renewal. The difference to the duration is the margin for clocks that run at different speeds and for stopping. */
  readonly renewDeadlineMs: number;
  /** Between two tries to take or renew, give or take a tenth. */
  readonly retryPeriodMs: number;
}

/** The defaults of client-go and controller-runtime: 15 s, 10 s, 2 s. */
export const defaultLeaseTimes: LeaseTimes = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000 };

/** Throws a `RangeError` that says what is wrong with the times, if something is. */
export function checkLeaseTimes({ leaseDurationMs, renewDeadlineMs, retryPeriodMs }: LeaseTimes): void {
  if (leaseDurationMs < 1000 || leaseDurationMs % 1000 !== 0) {
    throw new RangeError(`the lease duration is ${leaseDurationMs} ms, but a Lease stores whole seconds, at least one`);
  }
  if (renewDeadlineMs >= leaseDurationMs) {
    throw new RangeError(`the renew deadline (${renewDeadlineMs} ms) must be shorter than the lease duration (${leaseDurationMs} ms)`);
  }
  if (retryPeriodMs <= 0 || retryPeriodMs * 1.2 >= renewDeadlineMs) {
    throw new RangeError(`the retry period (${retryPeriodMs} ms) must be above zero and well below the renew deadline (${renewDeadlineMs} ms)`);
  }
}
