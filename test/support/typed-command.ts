// The command line in this process: typed, and what it says. Quicker than a process each, and a terminal can be had.
import type { Console } from "../../packages/keyturn/src/cli/command-line.ts";
import { runProgram } from "../../packages/keyturn/src/cli/program.ts";

/** A command that runs or has run. */
export interface TypedCommand {
  /** What it has said so far. */
  readonly output: { readonly out: string; readonly err: string };
  /** Its exit code. */
  readonly exit: Promise<number>;
  /** Ctrl-C. */
  interrupt(): void;
}

/** Starts a command. Nothing of our own environment reaches it. */
export function startTyped(
  words: readonly string[],
  options: Partial<Pick<Console, "environment" | "height" | "program" | "ask">> = {},
): TypedCommand {
  const output = { out: "", err: "" };
  const stop = new AbortController();
  const exit = runProgram(words, {
    environment: {},
    height: () => undefined,
    ...options,
    out: (text) => void (output.out += text),
    err: (text) => void (output.err += text),
    signal: stop.signal,
  });
  return { output, exit, interrupt: () => stop.abort(new Error("interrupted by the test")) };
}

/** Runs a command to its end. */
export async function typed(...words: readonly string[]): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  const { output, exit } = startTyped(words);
  return { code: await exit, ...output };
}
