import { expect, it } from "vitest";
import { endTogether } from "./dev.ts";

it("what fails ends the others, is reported, and leaves nothing waiting", async () => {
  const failed = new AbortController();
  const lasting = (): Promise<void> =>
    new Promise((resolve, reject) => {
      failed.signal.addEventListener("abort", () => (ends++ === 0 ? resolve() : reject(new Error("ended on the way"))));
    });
  let ends = 0;
  const breaking = Promise.reject(new Error("no answer within 30000 ms"));
  await expect(endTogether([lasting(), breaking, lasting()], failed)).rejects.toThrow("no answer within 30000 ms");
  expect(ends).toBe(2);
});

it("what ends by itself waits for the others", async () => {
  const failed = new AbortController();
  await endTogether([Promise.resolve(), Promise.resolve()], failed);
  expect(failed.signal.aborted).toBe(false);
});
