// Whoever comes first decides.
import { expect, it } from "vitest";
import { abortRace } from "./transport.ts";

it("settles as the work does", async () => {
  const { signal } = new AbortController();
  expect(await abortRace(Promise.resolve(1), signal, undefined)).toBe(1);
  await expect(abortRace(Promise.reject(new Error("broken")), signal)).rejects.toThrow("broken");
});

it("rejects with the reason of whichever signal aborts", async () => {
  const [one, two] = [new AbortController(), new AbortController()];
  const race = abortRace(new Promise(() => undefined), one.signal, two.signal);
  two.abort("two");
  one.abort("one");
  await expect(race).rejects.toBe("two");
  await expect(abortRace(new Promise(() => undefined), AbortSignal.abort("before"))).rejects.toBe("before");
});
