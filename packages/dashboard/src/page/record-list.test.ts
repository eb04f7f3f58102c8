import { expect, it } from "vitest";
import { concernsIn, comingUp, countHealth, filterRecords, worstHealth } from "./record-list.ts";
import { keySet } from "./timeline/records.fixture.ts";

const record = (id: string, changes: Parameters<typeof keySet>[0]) => ({ ...keySet(changes), id });

it("errors come first, then warnings, then what is not known, the newest of each first", () => {
  const records = [
    record("old warning", { health: "warning", sinceMs: 1 }),
    record("fine", {}),
    record("unknown", { health: "unknown", sinceMs: 10 }),
    record("old error", { health: "error", sinceMs: 2 }),
    record("new warning", { health: "warning", sinceMs: 9 }),
    record("new error", { health: "error", sinceMs: 8 }),
  ];
  const { first, count } = concernsIn(records, 5);
  expect(first.map(({ id }) => id)).toEqual(["new error", "old error", "new warning", "old warning", "unknown"]);
  expect(count).toBe(5);
  expect(concernsIn(records, 3)).toEqual({ first: first.slice(0, 3), count });
});

it("what is next comes first, and what is over does not come", () => {
  const records = [record("later", { nextMs: 90 }), record("over", { nextMs: 10 }), record("soon", { nextMs: 60 }), record("never", {})];
  expect(comingUp(records, 50, 5).map(({ id }) => id)).toEqual(["soon", "later"]);
});

const named = (name: string, health: "ok" | "error" = "ok") => {
  const record = keySet({ health });
  return { ...record, id: name, ref: { ...record.ref, name } };
};
const records = [named("web-tokens"), named("api-tokens", "error")];

it("every word of a search must be somewhere, in any case", () => {
  const search = (text: string) => filterRecords(records, { search: text, health: "all" }).map(({ id }) => id);
  expect(search("tokens")).toEqual(["web-tokens", "api-tokens"]);
  expect(search("SHOP Web")).toEqual(["web-tokens"]);
  expect(search("web nowhere")).toEqual([]);
  expect(filterRecords(records, { search: "kid-7", health: "all" }, ({ id }) => (id === "api-tokens" ? ["kid-7"] : []))).toEqual([records[1]]);
});

it("a choice of health narrows it; no choice gives the very same array", () => {
  expect(filterRecords(records, { search: "", health: "error" })).toEqual([records[1]]);
  expect(filterRecords(records, { search: " ", health: "all" })).toBe(records);
});

it("a whole is as well as its worst part", () => {
  expect(countHealth(records, [named("x")])).toEqual({ ok: 2, busy: 0, waiting: 0, warning: 0, error: 1, unknown: 0 });
  expect(worstHealth(countHealth(records))).toBe("error");
  expect(worstHealth(countHealth([]))).toBe("ok");
});
