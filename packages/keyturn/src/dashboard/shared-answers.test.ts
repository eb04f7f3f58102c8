// One question for many who ask.
import { VirtualClock } from "@keyturn/runtime/testing";
import { expect, it } from "vitest";
import { SharedAnswers } from "./shared-answers.ts";

it("asks once while an answer is on its way or fresh, and again after that or a failure", async () => {
  const clock = new VirtualClock();
  const answers = new SharedAnswers<number>({ clock, freshMs: 1000, most: 10 });
  let asked = 0;
  const get = (): Promise<number> => answers.get("key", async () => ++asked);
  expect(await Promise.all([get(), get()])).toEqual([1, 1]);
  await clock.advance(999);
  expect(await get()).toBe(1);
  await clock.advance(1);
  expect(await get()).toBe(2);
  const failing = (): Promise<number> => answers.get("other", () => Promise.reject(new Error("no")));
  await expect(failing()).rejects.toThrow("no");
  expect(await answers.get("other", async () => 7)).toBe(7);
});
