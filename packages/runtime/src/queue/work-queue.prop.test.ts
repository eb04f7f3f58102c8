// The queue against a model so simple that it is plainly right, over random operations in virtual time.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { VirtualClock } from "../testing/virtual-clock.ts";
import { WorkQueue } from "./work-queue.ts";

interface Wish {
  readonly key: string;
  dueMs: number;
  priority: number;
  order: number;
}

/** One list of wishes; the next key is found by looking at all of them. */
class ModelQueue {
  wishes: Wish[] = [];
  running = new Set<string>();
  #order = 0;

  add(key: string, dueMs: number, priority: number): void {
    const wish = this.wishes.find((candidate) => candidate.key === key);
    if (!wish) this.wishes.push({ key, dueMs, priority, order: this.#order++ });
    else {
      wish.dueMs = Math.min(wish.dueMs, dueMs);
      wish.priority = Math.max(wish.priority, priority);
    }
  }

  /** The keys that may come next: the highest priority of what is due and not running. */
  candidates(nowMs: number): readonly string[] {
    const due = this.wishes.filter((wish) => wish.dueMs <= nowMs && !this.running.has(wish.key));
    const highest = Math.max(...due.map((wish) => wish.priority));
    return due.filter((wish) => wish.priority === highest).map((wish) => wish.key);
  }

  take(key: string): void {
    this.wishes = this.wishes.filter((wish) => wish.key !== key);
    this.running.add(key);
  }
}

const key = fc.constantFrom("a", "b", "c", "d", "e", "f");
const operation = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant("add" as const),
      key,
      afterMs: fc.constantFrom(undefined, undefined, 10, 15, 50),
      priority: fc.constantFrom(-100, 0, 0, 7),
    }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constant("take" as const) }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant("done" as const), key }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("advance" as const), byMs: fc.constantFrom(1, 5, 20) }) },
);

test("hands out what the model allows, never a running key, and loses nothing", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { maxLength: 80 }), async (operations) => {
      const clock = new VirtualClock();
      let woken = 0;
      const queue = new WorkQueue({ clock, onReady: () => woken++ });
      const model = new ModelQueue();

      const takeOne = (): string | undefined => {
        const allowed = model.candidates(clock.monotonic());
        const taken = queue.take();
        expect(taken ? allowed.includes(taken.key) : allowed.length === 0).toBe(true);
        expect(taken?.queuedMs ?? 0).toBeGreaterThanOrEqual(0);
        if (taken) model.take(taken.key);
        return taken?.key;
      };

      for (const step of operations) {
        const wokenBefore = woken;
        const allowedBefore = model.candidates(clock.monotonic());
        switch (step.type) {
          case "add":
            queue.add(step.key, { priority: step.priority, ...(step.afterMs !== undefined && { afterMs: step.afterMs }) });
            model.add(step.key, clock.monotonic() + (step.afterMs ?? 0), step.priority);
            break;
          case "take":
            takeOne();
            break;
          case "done":
            if (model.running.delete(step.key)) queue.done(step.key);
            break;
          case "advance":
            await clock.advance(step.byMs);
            break;
        }
        // Whoever sleeps while nothing is ready must be woken when something is.
        const mustWake = allowedBefore.length === 0 && model.candidates(clock.monotonic()).length > 0;
        expect(woken).toBeGreaterThanOrEqual(mustWake ? wokenBefore + 1 : wokenBefore);
      }

      for (const running of model.running) queue.done(running);
      model.running.clear();
      await clock.advance(100);
      while (takeOne());
      expect(model.wishes).toEqual([]);
    }),
    { numRuns: 300 },
  );
});

test("a delay that makes no sense is replaced, reported, and holds up no other key", async () => {
  const odd = fc.oneof(
    fc.constantFrom(Number.NaN, 0, -0, -1, -Infinity, Infinity, Number.MAX_VALUE, Number.MIN_VALUE, Number.EPSILON, 2 ** 31, 2 ** 53),
    fc.double(),
    fc.double({ max: 0 }),
    fc.integer(),
  );
  const tenYearsMs = 10 * 365 * 24 * 3_600_000;
  await fc.assert(
    fc.asyncProperty(
      fc.array(odd, { minLength: 1, maxLength: 8 }),
      fc.array(fc.integer({ min: 10, max: 5_000 }), { maxLength: 8 }),
      async (odds, sane) => {
        const clock = new VirtualClock();
        const reported: number[] = [];
        const atMs = new Map<string, number>();
        const queue: WorkQueue = new WorkQueue({
          clock,
          onReady: () => {
            for (let taken = queue.take(); taken; taken = queue.take()) atMs.set(taken.key, clock.monotonic());
          },
          onOddDelay: (_key, askedMs) => reported.push(askedMs),
        });
        for (const [index, afterMs] of odds.entries()) queue.add(`odd-${index}`, { afterMs });
        for (const [index, afterMs] of sane.entries()) queue.add(`sane-${index}`, { afterMs });

        await clock.advance(5_000);
        expect(sane.map((_, index) => atMs.get(`sane-${index}`))).toEqual(sane);
        await clock.advance(tenYearsMs);
        for (const [index, askedMs] of odds.entries()) {
          const ranAtMs = atMs.get(`odd-${index}`);
          expect(ranAtMs).toBe(askedMs > 0 ? Math.min(Math.max(askedMs, 10), tenYearsMs) : 1_000);
        }
        expect(reported).toEqual(odds.filter((askedMs) => !(askedMs > 0 && askedMs <= tenYearsMs)));
        expect(clock.nextTimerInMs).toBeUndefined();
      },
    ),
  );
});

test("keys of one priority leave in the order in which they became ready", () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string(), { maxLength: 50 }), (keys) => {
      const queue = new WorkQueue({ clock: new VirtualClock(), onReady: () => {} });
      for (const each of keys) queue.add(each);
      expect(keys.map(() => queue.take()?.key)).toEqual(keys);
    }),
  );
});
