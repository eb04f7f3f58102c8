// Contestants that end, and are started again.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SupervisedContestant } from "./supervised-contestant.ts";

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
