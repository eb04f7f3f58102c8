import { expect, it } from "vitest";
import { keySet } from "../timeline/records.fixture.ts";
import { countHealth, filterRecords, worstHealth } from "./record-filter.ts";

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
