// Which applications of a tenant nobody claims, and who has one too many.
import { expect, test } from "vitest";
import { takeCensus } from "./census.ts";

const object = (uid: string, uuid?: string) => ({
  metadata: { name: "runtime", uid, resourceVersion: "1" },
  status: { state: "Ready", ...(uuid !== undefined && { iasApplication: { name: "runtime", uuid } }) } as const,
});
const made = (id: string, uid: string) => ({ id, name: "runtime", uid });

test("one whose object is gone is an orphan, unless another object claims its id", () => {
  expect(takeCensus([made("1", "gone"), made("2", "gone")], [object("there", "2")])).toEqual({ orphans: [made("1", "gone")], doubled: new Set() });
});

test("one besides the recorded one makes its object doubled, and is no orphan", () => {
  expect(takeCensus([made("1", "there"), made("2", "there")], [object("there", "1")])).toEqual({ orphans: [], doubled: new Set(["there"]) });
});

test("one whose object has recorded none yet is about to be adopted", () => {
  expect(takeCensus([made("1", "there")], [object("there")])).toEqual({ orphans: [], doubled: new Set() });
});
