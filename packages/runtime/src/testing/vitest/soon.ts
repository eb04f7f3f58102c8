// Waiting for what an operator does by itself.
import { vi } from "vitest";

/** Retries an assertion until it holds. */
export type Soon = <T>(check: () => Promise<T> | T, timeoutMs?: number) => Promise<T>;

/** For things that happen at once. The time is much longer than they should take, because the machine may be busy. */
export function soonWithin(defaultMs: number): Soon {
  return (check, timeoutMs = defaultMs) => vi.waitFor(check, { timeout: timeoutMs, interval: 50 });
}
