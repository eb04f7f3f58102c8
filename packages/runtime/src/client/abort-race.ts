// Waiting for shared work only as long as the one who waits wants to.

/** Settles as `work` does, or rejects with the reason of the first signal to abort; the work itself goes on for others. */
export function abortRace<T>(work: Promise<T>, ...signals: readonly (AbortSignal | undefined)[]): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (event: Event): void => settle(() => reject(event.target instanceof AbortSignal ? event.target.reason : undefined));
    const settle = (how: () => void): void => {
      for (const signal of signals) signal?.removeEventListener("abort", onAbort);
      how();
    };
    work.then(
      (value) => settle(() => resolve(value)),
      (error: unknown) => settle(() => reject(error)),
    );
    for (const signal of signals) {
      if (signal?.aborted) return settle(() => reject(signal.reason));
      signal?.addEventListener("abort", onAbort, { once: true });
    }
  });
}
