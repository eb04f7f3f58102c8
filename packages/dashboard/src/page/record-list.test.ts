import { expect, it } from "vitest";
import { worstHealth } from "../contract/index.ts";
import { concernsIn, comingUp, countTables, filterRecords } from "./record-list.ts";
import { recordFixture } from "./record.fixture.ts";

const record = (id: string, changes: Parameters<typeof recordFixture>[0]) => ({ ...recordFixture(changes), id });

it("failures come first, then what is degraded, then what is not known, the newest of each first", () => {
  const records = [
    record("old degraded", { health: "degraded", sinceMs: 1 }),
    record("fine", {}),
    // Told once, with its step.
    record("doubted", { health: "unknown", reason: "NotLed", sinceMs: 11 }),
    record("unknown", { health: "unknown", sinceMs: 10 }),
    record("old failure", { health: "failed", sinceMs: 2 }),
    record("new degraded", { health: "degraded", sinceMs: 9 }),
    record("new failure", { health: "failed", sinceMs: 8 }),
  ];
  const { first, count } = concernsIn(records, 5);
  expect(first.map(({ id }) => id)).toEqual(["new failure", "old failure", "new degraded", "old degraded", "unknown"]);
  expect(count).toBe(5);
  expect(concernsIn(records, 3)).toEqual({ first: first.slice(0, 3), count });
});

it("what is next comes first, and what is over does not come", () => {
  const records = [
    record("later", { next: { atMs: 90, what: "" } }),
    record("over", { next: { atMs: 10, what: "" } }),
    record("soon", { next: { atMs: 60, what: "" } }),
    record("never", {}),
  ];
  expect(comingUp(records, 50, 5).map(({ id }) => id)).toEqual(["soon", "later"]);
});

const named = (name: string, health: "healthy" | "failed" = "healthy") => {
  const record = recordFixture({ health });
  return { ...record, id: name, ref: { ...record.ref, name } };
};
const records = [named("web-tokens"), named("api-tokens", "failed")];

it("every word of a search must be somewhere, in any case", () => {
  const search = (text: string) => filterRecords(records, { search: text, health: "all" }).map(({ id }) => id);
  expect(search("tokens")).toEqual(["web-tokens", "api-tokens"]);
  expect(search("SHOP Web")).toEqual(["web-tokens"]);
  expect(search("web nowhere")).toEqual([]);
  const known = { ...named("other-tokens"), texts: ["kid-7"] };
  expect(filterRecords([...records, known], { search: "kid-7", health: "all" })).toEqual([known]);
});

it("a choice of health narrows it; no choice gives the very same array", () => {
  expect(filterRecords(records, { search: "", health: "failed" })).toEqual([records[1]]);
  expect(filterRecords(records, { search: " ", health: "all" })).toBe(records);
});

it("a whole is as well as its worst part", () => {
  expect(countTables(records, [named("x")])).toEqual({ healthy: 2, progressing: 0, paused: 0, degraded: 0, failed: 1, unknown: 0 });
  expect(worstHealth(countTables(records))).toBe("failed");
  expect(worstHealth(countTables([]))).toBe("healthy");
});
