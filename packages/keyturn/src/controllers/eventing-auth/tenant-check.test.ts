// Whether this is the directory that applications were made in: a few others are looked for, however many ask.
import { VirtualClock } from "@keyturn/runtime/testing";
import { expect, test } from "vitest";
import { IdentityError } from "./identity/provider-http.ts";
import type { ApplicationRef, IdentityProvider } from "./identity/provider.ts";
import { TenantCheck } from "./tenant-check.ts";

const grants = { read: () => Promise.resolve(undefined), keep: () => Promise.resolve() };
const refs = (count: number): readonly ApplicationRef[] => Array.from({ length: count }, (_, n) => ({ id: String(n), name: "n", uid: "u", grants }));

function setUp(has: (id: string) => boolean) {
  const clock = new VirtualClock();
  const asked: string[] = [];
  const provider = {
    has: ({ id }: ApplicationRef) => {
      asked.push(id);
      return Promise.resolve(has(id));
    },
  } as unknown as IdentityProvider;
  return { clock, asked, provider, check: new TenantCheck({ clock, random: () => 0.99 }) };
}

test("five are asked for, once for all who want to know within half a minute", async () => {
  const { clock, asked, provider, check } = setUp(() => false);
  const answers = await Promise.all(Array.from({ length: 1_000 }, () => check.lookFor(refs(1_000), provider)));
  expect(new Set(answers.map((answer) => JSON.stringify(answer)))).toEqual(new Set(['{"asked":5,"missing":5}']));
  expect(new Set(asked).size).toBe(5);
  expect(asked).toHaveLength(5);
  await clock.advance(30_000);
  await check.lookFor(refs(1_000), provider);
  expect(asked).toHaveLength(10);
});

test("fewer are asked for where there are fewer, and none where there is none", async () => {
  expect(await setUp(() => true).check.lookFor(refs(2), setUp((id) => id === "0").provider)).toEqual({ asked: 2, missing: 1 });
  const { provider, check } = setUp(() => false);
  expect(await check.lookFor([], provider)).toEqual({ asked: 0, missing: 0 });
});

test("what cannot be asked proves nothing, and is asked again", async () => {
  const { provider, check } = setUp(() => {
    throw new IdentityError("no", { code: "Transient", operation: "read" });
  });
  await expect(check.lookFor(refs(1), provider)).rejects.toThrow("no");
  const other = setUp(() => true);
  expect(await check.lookFor(refs(1), other.provider)).toEqual({ asked: 1, missing: 0 });
});
