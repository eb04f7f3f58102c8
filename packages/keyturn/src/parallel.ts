// Does many small pieces of work, a few at a time.

/**
 * Calls `work` for each item, at most `width` at a time, and resolves when all are done. The first failure keeps the others from being begun;
 * it is what the promise rejects with, once nothing is under way any more, so that the caller can clean up.
 */
export async function forEachParallel<T>(items: Iterable<T> | AsyncIterable<T>, width: number, work: (item: T) => Promise<void>): Promise<void> {
  const failures: unknown[] = [];
  const underWay = new Set<Promise<void>>();
  try {
    for await (const item of items) {
      if (failures.length > 0) break;
      const piece = work(item)
        .catch((error: unknown) => void failures.push(error))
        .finally(() => underWay.delete(piece));
      underWay.add(piece);
      if (underWay.size >= width) await Promise.race(underWay);
    }
  } finally {
    await Promise.all(underWay);
  }
  if (failures.length > 0) throw failures[0];
}
