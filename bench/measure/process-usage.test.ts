// What is read out of /proc.
import { expect, test } from "vitest";
import { cpuTicksIn, readUsage, sizeIn } from "./process-usage.ts";

test("sizes are in bytes, and a missing one is an error", () => {
  const status = "Name:\tnode\nVmHWM:\t  2048 kB\nVmRSS:\t  1024 kB\n";
  expect(sizeIn(status, "VmRSS")).toBe(1024 * 1024);
  expect(sizeIn(status, "VmHWM")).toBe(2048 * 1024);
  expect(() => sizeIn(status, "VmSwap")).toThrow("has no VmSwap");
});

test("processor time is found behind a name with spaces and brackets", () => {
  expect(cpuTicksIn("12 (a) b (c) S 1 12 12 0 -1 4194304 100 0 0 0 34 8 0 0 20 0 1 0 5 6 7")).toBe(42);
});

test("this very process uses something", () => {
  const { rssBytes, peakRssBytes } = readUsage(process.pid);
  expect(rssBytes).toBeGreaterThan(10 * 2 ** 20);
  expect(peakRssBytes).toBeGreaterThanOrEqual(rssBytes);
});
