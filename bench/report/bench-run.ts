// A whole run as data: what the page and the drawings are made from, and what is kept of it so that they can be made again and be checked.
import { readFileSync, writeFileSync } from "node:fs";
import * as z from "zod";
import type { ScenarioResult } from "../measure/rounds.ts";

/** All that is known of a run. */
export interface BenchRun {
  readonly command: string;
  readonly date: string;
  /** The machine and the versions, one line each. */
  readonly facts: readonly string[];
  readonly results: readonly ScenarioResult[];
  /** Scenarios that could not be measured. */
  readonly failures: readonly { readonly scenario: string; readonly message: string }[];
}

/** Writes every round. Paths of programs belong to the machine and are left out. */
export function writeRun(run: BenchRun, file: string): void {
  const json = JSON.stringify(run, (key, value: unknown) => (key === "command" && typeof value === "object" ? undefined : inDigits(value)), 1);
  writeFileSync(file, `${json}\n`);
}

/** Reads what `writeRun` wrote. */
export function readRun(file: string): BenchRun {
  const content: unknown = JSON.parse(readFileSync(file, "utf8"));
  // Our own file: that it is one is looked at, not every field of it.
  z.object({
    command: z.string(),
    date: z.string(),
    facts: z.array(z.string()),
    results: z.array(z.object({ scenario: z.looseObject({ id: z.string() }) })),
  }).parse(content);
  return content as BenchRun;
}

function inDigits(value: unknown): unknown {
  return typeof value === "number" ? Number(value.toPrecision(6)) : value;
}
