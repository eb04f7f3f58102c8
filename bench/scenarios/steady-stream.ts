// Does something at a steady rate, whether or not the last time has ended: a load that does not yield to whom it is put upon.

/** As many as the benchmark's other writers are. More only pile up on a machine that cannot keep pace. */
const atOnce = 16;

/**
 * Calls `work` so many times a second, with 0, 1, 2 …, until disposed of. A turn that is due while 16 are under way is left out.
 * Disposing waits for what is under way and throws if any of it failed.
 */
export function steadily(perSecond: number, work: (turn: number) => Promise<unknown>): AsyncDisposable {
  const startedMs = performance.now();
  const underWay = new Set<Promise<unknown>>();
  const failures: unknown[] = [];
  let due = 0;
  let turn = 0;
  // A late timer is made up for: what counts is the rate.
  const timer = setInterval(() => {
    for (; due < ((performance.now() - startedMs) / 1000) * perSecond; due++) {
      if (underWay.size >= atOnce) continue;
      const one: Promise<unknown> = work(turn++)
        .catch((error: unknown) => failures.push(error))
        .finally(() => underWay.delete(one));
      underWay.add(one);
    }
  }, 1000 / perSecond);
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await Promise.all(underWay);
      if (failures.length > 0) throw new AggregateError(failures.splice(0), "a steady stream of work failed in part");
    },
  };
}
