import { expect, it } from "vitest";
import { keySet } from "../timeline/records.fixture.ts";
import { attentionList, comingUp } from "./attention.ts";

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
  const { first, count } = attentionList(records, 5);
  expect(first.map(({ id }) => id)).toEqual(["new error", "old error", "new warning", "old warning", "unknown"]);
  expect(count).toBe(5);
  expect(attentionList(records, 3)).toEqual({ first: first.slice(0, 3), count });
});

it("what is next comes first, and what is over does not come", () => {
  const records = [record("later", { nextMs: 90 }), record("over", { nextMs: 10 }), record("soon", { nextMs: 60 }), record("never", {})];
  expect(comingUp(records, 50, 5).map(({ id }) => id)).toEqual(["soon", "later"]);
});
