// The benchmark's command line.
import { expect, test } from "vitest";
import { readOptions } from "./options.ts";

test("says what it can be told, and what was wrong", () => {
  expect(readOptions(["--help"])).toMatchObject({ type: "message", exitCode: 0, text: expect.stringContaining("--rounds N") });
  expect(readOptions(["--fast"])).toMatchObject({ type: "message", exitCode: 2, text: expect.stringMatching(/--fast[^]*Usage:/) });
  expect(readOptions(["--rounds", "0"])).toMatchObject({
    type: "message",
    exitCode: 2,
    text: expect.stringContaining("--rounds 0: a number of rounds is wanted"),
  });
});

test("writes a part into the results only where it was measured as they were", () => {
  expect(readOptions(["--only", "job-restart", "--write"])).toMatchObject({ type: "options", options: { write: true } });
  for (const args of [["--write"], ["--only", "x", "--quick", "--write"]]) {
    expect(readOptions(args)).toMatchObject({ type: "message", exitCode: 2, text: expect.stringContaining("--write: only with --only") });
  }
});

test("does everything when told nothing", () => {
  expect(readOptions([])).toMatchObject({ type: "options", options: { quick: false, render: false, "write-baseline": false } });
  expect(readOptions(["--only", "sync", "--rounds", "5"])).toMatchObject({ options: { only: "sync", rounds: "5" } });
});
