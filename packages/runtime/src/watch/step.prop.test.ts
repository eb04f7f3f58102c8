// Whatever happens between server and watch, in whatever order: the store ends equal to the server, nothing is lost and nothing invented.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Change } from "../cache/cache.ts";
import { ModelServer } from "./model-server.fixture.ts";
import { StepRun } from "./step-run.fixture.ts";
import type { StreamSupport } from "./step-run.fixture.ts";

type Move =
  | { readonly type: "put" | "delete" | "recreate"; readonly key: string }
  | { readonly type: "advance"; readonly times: number }
  | { readonly type: "refuse"; readonly status: number }
  | { readonly type: "broken" | "ended" | "overdue" | "compact" | "tick" | "bookmark" };

const key = fc.nat(7).map((number) => `ns/object-${number}`);
const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constantFrom("put", "put", "delete", "recreate"), key }) },
  { weight: 8, arbitrary: fc.record({ type: fc.constant("advance"), times: fc.integer({ min: 1, max: 8 }) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("refuse"), status: fc.constantFrom(401, 403, 404, 410, 429, 500, 503) }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constantFrom("broken", "ended", "overdue", "compact", "tick", "bookmark") }) },
);
const support: fc.Arbitrary<StreamSupport> = fc.constantFrom("supported", "supported", "refused", "ignored", "endless");

async function play(run: StepRun, { type, ...rest }: Move): Promise<void> {
  const { server } = run;
  const { key = "", times = 0, status = 0 } = rest as { key?: string; times?: number; status?: number };
  switch (type) {
    case "put":
      return server.put(key);
    case "delete":
      return server.delete(key);
    case "recreate":
      server.delete(key);
      return server.put(key);
    case "compact":
      return server.compact();
    case "tick":
      return server.tick();
    case "bookmark":
      return run.bookmark();
    case "advance":
      for (let i = 0; i < times; i++) await run.advance();
      return;
    case "refuse":
      return run.fault({ type: "refused", status, message: "refused", retryAfterMs: undefined });
    case "broken":
      return run.fault({ type: "broken", message: "connection reset" });
    case "ended":
      return run.connected ? run.fault({ type: "ended" }) : undefined;
    case "overdue":
      return run.fault({ type: "overdue" });
  }
}

/** Without further faults a run must catch up in a bounded number of moves. */
async function heal(run: StepRun): Promise<void> {
  for (let moves = 0; !run.caughtUp; moves++) {
    if (moves > 500) throw new Error(`not caught up after ${moves} moves: ${JSON.stringify(run.state)}`);
    await run.advance();
  }
}

/** What one who only heard the changes believes. Fails on a change that does not follow from the ones before. */
function retell(changes: readonly Change<string>[]): Map<string, string> {
  const believed = new Map<string, string>();
  for (const change of changes) {
    expect(believed.get(change.key)).toBe(change.type === "added" ? undefined : change.previous);
    if (change.type === "deleted") believed.delete(change.key);
    else believed.set(change.key, change.value);
  }
  return believed;
}

const valuesOf = (run: StepRun): Record<string, string> => Object.fromEntries([...run.store.entries()].map(([key, entry]) => [key, entry.value]));
const valuesOn = (server: ModelServer): Record<string, string> => Object.fromEntries([...server.objects].map(([key, object]) => [key, object.value]));

describe("step against a model server", () => {
  it("ends equal to the server, and so does one who only heard the changes", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(key, { maxLength: 8 }), fc.array(move, { maxLength: 60 }), support, async (first, moves, support) => {
        const server = new ModelServer();
        for (const name of first) server.put(name);
        const run = new StepRun(server, support);
        for (const next of moves) await play(run, next);
        await heal(run);
        expect(valuesOf(run)).toEqual(valuesOn(server));
        expect(Object.fromEntries(retell(run.changes))).toEqual(valuesOn(server));
        const shown = run.changes.flatMap((change) => (change.type === "deleted" ? [] : [change.value]));
        expect(shown.filter((value) => !server.everStored.has(value))).toEqual([]);
        expect(run.faults).toEqual([]);
      }),
      { numRuns: 1500 },
    );
  });

  it("never shows less than before while it lists again", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(key, { minLength: 2, maxLength: 8 }),
        fc.array(move, { maxLength: 40 }),
        support,
        async (first, moves, support) => {
          const server = new ModelServer();
          for (const name of first) server.put(name);
          const run = new StepRun(server, support);
          await heal(run);
          // The server's objects stand still while everything else goes wrong.
          for (const next of moves) {
            if (next.type === "put" || next.type === "delete" || next.type === "recreate") continue;
            await play(run, next);
            expect(valuesOf(run)).toEqual(valuesOn(server));
          }
          expect(run.changes.filter((change) => change.type !== "added")).toEqual([]);
        },
      ),
      { numRuns: 500 },
    );
  });

  it("finds its way after a restore that set resourceVersions back", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(move, { minLength: 5, maxLength: 30 }),
        fc.array(move, { maxLength: 20 }),
        support,
        async (before, after, support) => {
          const server = new ModelServer();
          server.put("ns/object-0");
          const backup = { objects: new Map(server.objects), resourceVersion: server.resourceVersion };
          const run = new StepRun(server, support);
          for (const next of before) await play(run, next);
          server.restore(backup.objects, backup.resourceVersion);
          const { listsBegun } = run.store.position;
          for (const next of after) await play(run, next);
          // A watch from a position in the server's future hears nothing; silence must bring it to look afresh, whatever it believed.
          for (let moves = 0; run.store.position.listsBegun === listsBegun; moves++) {
            expect(moves).toBeLessThan(100);
            await (run.connected ? run.fault({ type: "overdue" }) : run.advance());
          }
          await heal(run);
          expect(valuesOf(run)).toEqual(valuesOn(server));
          expect(Object.fromEntries(retell(run.changes))).toEqual(valuesOn(server));
        },
      ),
      { numRuns: 300 },
    );
  });

  it("ends equal to the server when a backup is restored in the middle of a list of pages, however far the new history has come", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 12 }), fc.integer({ min: 0, max: 30 }), fc.boolean(), async (later, sinceRestore, isBusyFirst) => {
        const server = new ModelServer();
        for (let number = 0; number < 8; number++) server.put(`ns/object-${number}`);
        const backup = { objects: new Map(server.objects), resourceVersion: server.resourceVersion };
        for (let number = 0; number < later; number++) server.put(`ns/object-${number % 8}`);
        const run = new StepRun(server, "refused");
        while (!(run.state.type === "paging" && run.state.at)) await run.advance();
        // The server is away while it is restored, so what is under way breaks, and nobody can be reached.
        await run.fault({ type: "broken", message: "reset" });
        if (isBusyFirst) await run.fault({ type: "refused", status: 429, message: "starting", retryAfterMs: undefined });
        await run.fault({ type: "broken", message: "refused" });
        server.restore(backup.objects, backup.resourceVersion);
        for (let number = 0; number < sinceRestore; number++) server.put(`ns/new-${number % 4}`);
        await heal(run);
        expect(valuesOf(run)).toEqual(valuesOn(server));
      }),
    );
  });
});
