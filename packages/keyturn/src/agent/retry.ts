// When something that failed is tried again: after a second at first, and ever more rarely.

/** How often something has failed in a row, and from when on it may be tried again, on the monotonic scale. */
export interface Retry {
  readonly failures: number;
  readonly notBeforeMs: number;
}

/** Nothing has failed yet. */
export const untried: Retry = { failures: 0, notBeforeMs: 0 };

const firstDelayMs = 1000;
/** Disks are freed and gateways come back within minutes; nobody should wait longer than this for the agent to notice. */
const longestDelayMs = 60_000;

/** After one more failure. */
export function failedAgain({ failures }: Retry, nowMs: number): Retry {
  return { failures: failures + 1, notBeforeMs: nowMs + Math.min(firstDelayMs * 2 ** failures, longestDelayMs) };
}
