// The program as a user starts it, in a process of its own.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { program } from "./program.ts";

/** A running or finished program. */
export interface KeyturnProcess {
  /** Everything it has written so far. */
  readonly output: { readonly out: string; readonly err: string };
  kill(signal: NodeJS.Signals): void;
  /** Resolves to its exit code, or the signal that ended it. */
  readonly exit: Promise<number | string>;
}

/** Starts the program. Its environment is ours without anything that would point it at a cluster. */
export function startKeyturn(argumentsGiven: readonly string[], environment: Readonly<Record<string, string>> = {}): KeyturnProcess {
  const { KUBECONFIG: _, ...inherited } = process.env;
  const [command, ...first] = program;
  const child = spawn(command, [...first, ...argumentsGiven], {
    env: { ...inherited, HOME: "/nonexistent", ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output.out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output.err += text));
  const exit = once(child, "close").then(([code, signal]: unknown[]) => (typeof code === "number" ? code : String(signal)));
  return { output, exit, kill: (signal) => void child.kill(signal) };
}

/** Runs the program to its end. */
export async function runKeyturn(
  ...argumentsGiven: readonly string[]
): Promise<{ readonly code: number | string; readonly out: string; readonly err: string }> {
  const { output, exit } = startKeyturn(argumentsGiven);
  return { code: await exit, ...output };
}
