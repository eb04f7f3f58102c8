// Contestants that end and are started again, and what is read out of /proc.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { cpuTicksIn, readUsage, sizeIn, SupervisedContestant } from "./contestant-process.ts";

let folder = "";
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "bench-supervised-"))));
afterEach(() => rmSync(folder, { recursive: true }));

/** A program that notes its start and then either ends or waits for its input to end. */
const program = (ends: boolean): { readonly file: string; readonly args: readonly string[] } => ({
  file: process.execPath,
  args: ["-e", `require("node:fs").appendFileSync(${JSON.stringify(join(folder, "starts"))}, "x"); ${ends ? "" : "process.stdin.resume()"}`],
});
const starts = (): number => {
  try {
    return readFileSync(join(folder, "starts"), "utf8").length;
  } catch {
    return 0;
  }
};

test("one that ends is started again, and counted", async () => {
  await using contestant = new SupervisedContestant(program(true), "");
  await expect.poll(() => starts() >= 2 && contestant.restarts >= 2, { timeout: 60_000 }).toBe(true);
});

test("one that goes on is left alone, and ends with its supervisor", async () => {
  const contestant = new SupervisedContestant(program(false), "");
  await expect.poll(starts, { timeout: 60_000 }).toBe(1);
  await contestant[Symbol.asyncDispose]();
  expect([starts(), contestant.restarts]).toEqual([1, 0]);
});

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
