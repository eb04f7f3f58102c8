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
      afterMs: fc.constantFrom(0, 0, 5, 10, 50),
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
            queue.add(step.key, step);
            model.add(step.key, clock.monotonic() + step.afterMs, step.priority);
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

test("keys of one priority leave in the order in which they became ready", () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string(), { maxLength: 50 }), (keys) => {
      const queue = new WorkQueue({ clock: new VirtualClock(), onReady: () => {} });
      for (const each of keys) queue.add(each);
      expect(keys.map(() => queue.take()?.key)).toEqual(keys);
    }),
  );
});
