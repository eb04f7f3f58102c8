import { expect, test } from "vitest";
import { FairQueue } from "./fair-queue.ts";

const queueOf = (most: number): FairQueue<string> => new FairQueue({ most, ownerOf: (item) => item.charAt(0) });

function drained(queue: FairQueue<string>): readonly string[] {
  const items: string[] = [];
  for (let item = queue.shift(); item !== undefined; item = queue.shift()) items.push(item);
  return items;
}

test("items of one owner keep their order, and owners take turns", () => {
  const queue = queueOf(10);
  for (const item of ["a1", "a2", "a3", "b1", "b2", "c1"]) expect(queue.push(item)).toBeUndefined();
  expect(queue.size).toBe(6);
  expect(drained(queue)).toEqual(["a1", "b1", "c1", "a2", "b2", "a3"]);
  expect(queue.size).toBe(0);
});

test("whoever fills it loses what is its own", () => {
  const queue = queueOf(4);
  for (const item of ["a1", "a2", "a3", "b1"]) queue.push(item);
  expect(queue.push("a4")).toBe("a4");
  expect(queue.push("c1")).toBe("a3");
  expect(queue.push("b2")).toBe("b2");
  expect(queue.size).toBe(4);
  expect(drained(queue)).toEqual(["a1", "b1", "c1", "a2"]);
});

test("where each has one, the last one finds no room; an owner who is gone can come back", () => {
  const queue = queueOf(2);
  for (const item of ["a1", "b1"]) queue.push(item);
  expect(queue.push("c1")).toBe("c1");
  expect(queue.shift()).toBe("a1");
  expect(queue.push("a2")).toBeUndefined();
  expect(drained(queue)).toEqual(["b1", "a2"]);
});
