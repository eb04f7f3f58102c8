// The work queue that a program on a plain client must bring along: distinct keys, each worked on by one worker at a time.

/** As many as the other contestants have. */
const workers = 16;
const retryMs = 100;

/** As long as the server asked for, which with a 429 it does. */
const waitMs = (error) => Number(error?.headers?.["retry-after"]) * 1000 || retryMs;

/** Gives a function that adds a key; `reconcile` is called for it, and again if that failed: after 100 ms, or when the server wants it. */
export function createQueue(reconcile) {
  const waiting = new Set();
  const running = new Set();
  const next = () => {
    for (const key of waiting) {
      if (running.size >= workers) return;
      if (running.has(key)) continue;
      waiting.delete(key);
      running.add(key);
      reconcile(key)
        .catch((error) => setTimeout(() => add(key), waitMs(error)))
        .finally(() => {
          running.delete(key);
          next();
        });
    }
  };
  const add = (key) => {
    waiting.add(key);
    next();
  };
  return add;
}
