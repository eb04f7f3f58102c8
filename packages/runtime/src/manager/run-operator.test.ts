// Who a process is in an election: the pod's own name belongs to one process of it at a time.
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { expect, test } from "vitest";
import { claimIdentity } from "./run-operator.ts";

const random = /_[0-9a-f-]{36}$/;

test("is the pod's for the first process of a pod, and for the next one when that has ended", async () => {
  const pod = randomUUID();
  await using first = await claimIdentity("demo", pod);
  expect(first.identity).toBe(`${hostname()}_${pod}`);
  await using second = await claimIdentity("demo", pod);
  expect(second.identity).toMatch(random);
  expect(second.identity).not.toBe(first.identity);
  await first[Symbol.asyncDispose]();
  await using third = await claimIdentity("demo", pod);
  expect(third.identity).toBe(first.identity);
});

test("is another for another operator of the same pod, and for another pod", async () => {
  const pod = randomUUID();
  await using one = await claimIdentity("one", pod);
  await using other = await claimIdentity("other", pod);
  await using elsewhere = await claimIdentity("one", randomUUID());
  expect([one.identity, other.identity]).toEqual([`${hostname()}_${pod}`, `${hostname()}_${pod}`]);
  expect(elsewhere.identity).not.toBe(one.identity);
});

test.each([undefined, "", "../x", "a".repeat(65)])("is random where the pod is not known (%s)", async (pod) => {
  await using one = await claimIdentity("demo", pod);
  await using other = await claimIdentity("demo", pod);
  expect(one.identity).toMatch(random);
  expect(one.identity).not.toBe(other.identity);
});
