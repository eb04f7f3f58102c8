// Waiting for what an operator does by itself.
import { vi } from "vitest";

/** Retries an assertion until it holds. */
export type Soon = <T>(check: () => Promise<T> | T, timeoutMs?: number) => Promise<T>;

/** Retries for that long, unless a call says otherwise. */
export function soonWithin(defaultMs: number): Soon {
  return (check, timeoutMs = defaultMs) => vi.waitFor(check, { timeout: timeoutMs, interval: 50 });
}

/** For things that happen at once. Only what never happens takes this long: the machine may be busy with something else. */
export const soon: Soon = soonWithin(120_000);
