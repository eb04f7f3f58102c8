import { expect, it } from "vitest";
import { worstHealth } from "../contract/index.ts";
import { comingUp, concernGroups, countTables, filterRecords, namespacesOf, sortRecords } from "./record-list.ts";
import { recordFixture } from "./record.fixture.ts";

const record = (id: string, changes: Parameters<typeof recordFixture>[0]) => ({ ...recordFixture(changes), id });

it("what needs attention is told by reason: failures first, then what most share, the newest of each first", () => {
  const records = [
    record("old degraded", { health: "degraded", sinceMs: 1 }),
    record("fine", {}),
    // Told once, with its step.
    record("doubted", { health: "unknown", reason: "NotLed", sinceMs: 11 }),
    record("unknown", { health: "unknown", sinceMs: 10 }),
    record("a failure", { health: "failed", reason: "SecretNotFound", sinceMs: 9 }),
    record("old failure", { health: "failed", reason: "Conflict", sinceMs: 2 }),
    record("new degraded", { health: "degraded", sinceMs: 9 }),
    record("new failure", { health: "failed", reason: "Conflict", sinceMs: 8 }),
    record("elsewhere", { health: "failed", reason: "Conflict", sinceMs: 8, step: "rotation" }),
  ];
  expect(concernGroups(records).map(({ step, reason, records: own }) => `${step} ${reason}: ${own.map(({ id }) => id).join(", ")}`)).toEqual([
    "jwks Conflict: new failure, old failure",
    "jwks SecretNotFound: a failure",
    "rotation Conflict: elsewhere",
    "jwks Ready: new degraded, old degraded",
    "jwks Ready: unknown",
  ]);
});

it("rows are sorted by what a column says, by health where it has that mark, and as they came by any other", () => {
  const row = (id: string, state: string, health: "healthy" | "failed", version: string, at?: number) =>
    record(id, {
      health,
      cells: {
        state: { main: state, look: "health" },
        version: { main: version },
        since: at === undefined ? { main: "never" } : { main: { atMs: at } },
      },
    });
  const rows = [row("a", "ok", "healthy", "v10", 5), row("b", "bad", "failed", "v9"), row("c", "fine", "healthy", "v1", 2)];
  const sorted = (sort: string): string =>
    sortRecords(rows, sort)
      .map(({ id }) => id)
      .join("");
  expect(["state", "-state", "version", "-version", "since", "-since"].map(sorted)).toEqual(["bca", "acb", "cba", "abc", "cab", "bac"]);
  expect(sortRecords(rows, "nowhere")).toBe(rows);
  expect(sortRecords(rows, "")).toBe(rows);
});

it("a namespace narrows a list to what is in it, or covers it", () => {
  const elsewhere = record("elsewhere", { ref: { ...recordFixture().ref, namespace: "bank" } });
  const wide = record("wide", { ref: { ...recordFixture().ref, namespace: "gate" }, covers: ["gate", "bank"] });
  const all = [record("here", {}), elsewhere, wide];
  const inBank = filterRecords(all, { search: "", health: "all", namespace: "bank" });
  expect(inBank).toEqual([elsewhere, wide]);
  expect(namespacesOf([all])).toEqual(["bank", "gate", "shop"]);
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
  const search = (text: string) => filterRecords(records, { search: text, health: "all", namespace: "" }).map(({ id }) => id);
  expect(search("tokens")).toEqual(["web-tokens", "api-tokens"]);
  expect(search("SHOP Web")).toEqual(["web-tokens"]);
  expect(search("web nowhere")).toEqual([]);
  const known = { ...named("other-tokens"), texts: ["kid-7"] };
  expect(filterRecords([...records, known], { search: "kid-7", health: "all", namespace: "" })).toEqual([known]);
});

it("a choice of health narrows it; no choice gives the very same array", () => {
  expect(filterRecords(records, { search: "", health: "failed", namespace: "" })).toEqual([records[1]]);
  expect(filterRecords(records, { search: " ", health: "all", namespace: "" })).toBe(records);
});

it("a whole is as well as its worst part", () => {
  expect(countTables(records, [named("x")])).toEqual({ healthy: 2, progressing: 0, paused: 0, degraded: 0, failed: 1, unknown: 0 });
  expect(worstHealth(countTables(records))).toBe("failed");
  expect(worstHealth(countTables([]))).toBe("healthy");
});
