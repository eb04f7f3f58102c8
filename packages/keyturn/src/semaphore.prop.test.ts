// The limit on what is under way, under any order of arrivals, ends and changes of mind.
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { Semaphore, type Release } from "./semaphore.ts";

type Action = "arrive" | "leave" | "give-up";

it("never lets in more than there are places, serves in the order of arrival, and leaves no place empty while somebody waits", async () => {
  const actions = fc.array(fc.constantFrom<Action>("arrive", "leave", "give-up"), { maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 4 }), actions, async (most, script) => {
      const semaphore = new Semaphore(most);
      const inside: Release[] = [];
      const entered: number[] = [];
      let waiting: { readonly number: number; readonly stop: AbortController }[] = [];
      let arrivals = 0;
      for (const action of script) {
        if (action === "arrive") {
          const number = arrivals++;
          const stop = new AbortController();
          waiting.push({ number, stop });
          semaphore.acquire(stop.signal).then(
            (release) => {
              inside.push(release);
              entered.push(number);
              waiting = waiting.filter((other) => other.number !== number);
            },
            () => (waiting = waiting.filter((other) => other.number !== number)),
          );
        } else if (action === "leave") {
          const release = inside.shift();
          release?.();
          // Giving back twice frees nothing else.
          release?.();
        } else {
          waiting.at(-1)?.stop.abort(new Error("gave up"));
        }
        await new Promise((resolve) => setImmediate(resolve));
        expect(semaphore.taken).toBe(inside.length);
        expect(inside.length).toBeLessThanOrEqual(most);
        if (waiting.length > 0) expect(inside.length).toBe(most);
      }
      expect(entered).toEqual(entered.toSorted((a, b) => a - b));
    }),
    { numRuns: 60 },
  );
});

it("lets nobody in whose signal has ended already", async () => {
  const semaphore = new Semaphore(1);
  await expect(semaphore.acquire(AbortSignal.abort(new Error("too late")))).rejects.toThrow("too late");
  expect(semaphore.taken).toBe(0);
});

it("does work in turn, and gives its place back when the work fails", async () => {
  const semaphore = new Semaphore(1);
  const failed = semaphore.run(() => Promise.reject(new Error("no")));
  const next = semaphore.run(() => Promise.resolve(semaphore.taken));
  await expect(failed).rejects.toThrow("no");
  expect(await next).toBe(1);
  expect(semaphore.taken).toBe(0);
});
