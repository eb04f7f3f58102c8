// The hash decides who works on a key, so it must never change and must spread well.
import { expect, test } from "vitest";
import { shardOf } from "./shard-hash.ts";

test("stays what it is", () => {
  expect(["default/a", "default/b", "kube-system/a", "cluster-scoped", ""].map((key) => shardOf(key, 16))).toMatchInlineSnapshot(`
    [
      6,
      11,
      15,
      5,
      1,
    ]
  `);
});

test("spreads keys that look alike evenly", () => {
  const counts = Array.from({ length: 8 }, () => 0);
  for (let i = 0; i < 8_000; i++) {
    const shard = shardOf(`team-${i % 20}/certificate-${i}`, 8);
    counts[shard] = (counts[shard] ?? 0) + 1;
  }
  expect(Math.min(...counts)).toBeGreaterThan(850);
  expect(Math.max(...counts)).toBeLessThan(1_150);
});
