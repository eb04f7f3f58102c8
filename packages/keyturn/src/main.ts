// The process: arguments in, exit code out.
import { writeFileSync, writeSync } from "node:fs";
import { createInterface } from "node:readline/promises";
import { stopSignal } from "@keyturn/runtime";
import { runProgram, uncaughtText } from "./cli/program.ts";

// Node would print the error's words and the line of code: either may hold a secret.
process.on("uncaughtException", (error) => {
  writeSync(2, uncaughtText(error));
  process.exit(1);
});

const unread = new AbortController();
const stop = AbortSignal.any([stopSignal(), unread.signal]);

// It would open a debugger (--disable-sigusr1), and otherwise end the process.
process.on("SIGUSR1", () => undefined);

try {
  // A core dump holds nothing of the memory, in which Secrets are, wherever the node puts it (core(5)).
  writeFileSync("/proc/self/coredump_filter", "0");
} catch {
  // Only Linux has this.
}

// `keyturn status --watch | head` ends when head does, and has not failed.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  unread.abort(new Error("nobody reads the output any more"));
});

async function ask(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await terminal.question(question, { signal: stop });
  } finally {
    terminal.close();
  }
}

process.exitCode = await runProgram(process.argv.slice(2), {
  // Set by bin/kubectl-keyturn.
  program: process.env["KEYTURN_CALLED_AS"] ?? "keyturn",
  environment: process.env,
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  height: () => (process.stdout.isTTY ? process.stdout.rows : undefined),
  width: () => (process.stdout.isTTY ? process.stdout.columns : undefined),
  ...(process.stdin.isTTY && { ask }),
  signal: stop,
});
