// A load that comes whether or not it is answered.
import { expect, test } from "vitest";
import { steadily } from "./job-latency.ts";

test("turns go on while earlier ones are under way, and the end waits for all of them", async () => {
  const begun: number[] = [];
  const answers: (() => void)[] = [];
  const ended: number[] = [];
  const stream = steadily(1000, async (turn) => {
    begun.push(turn);
    await new Promise<void>((resolve) => answers.push(resolve));
    ended.push(turn);
  });
  await expect.poll(() => begun.length, { timeout: 60_000 }).toBeGreaterThan(3);
  const end = stream[Symbol.asyncDispose]();
  expect(ended).toEqual([]);
  for (const answer of answers) answer();
  await end;
  expect(ended).toEqual(begun);
  expect(begun).toEqual(begun.map((_, index) => index));
});

test("a failure is told at the end", async () => {
  let failed = 0;
  const stream = steadily(1000, () => {
    failed++;
    return Promise.reject(new Error("no"));
  });
  await expect.poll(() => failed, { timeout: 60_000 }).toBeGreaterThan(0);
  await expect(stream[Symbol.asyncDispose]()).rejects.toThrow("failed in part");
});
