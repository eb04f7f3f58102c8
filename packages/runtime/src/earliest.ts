// The next time at which something is due.

/** The earliest of the times that there are; undefined if there is none. */
export function earliest(timesMs: readonly (number | undefined)[]): number | undefined {
  const known = timesMs.filter((timeMs) => timeMs !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
}
