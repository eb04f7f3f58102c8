// Many small requests, so many at a time as a controller makes by default.

/** The controllers' default concurrency. */
const workers = 16;

/** Runs `work` for every index below `count`, so many at a time as the controller does. */
export async function forEachIndex(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: workers }, worker));
}
