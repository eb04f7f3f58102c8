// Runs one contestant in a process of its own: reads the lines it prints, looks at its memory and processor time from outside, and ends it.
import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { readUsage, type Usage } from "./process-usage.ts";

/** How a program is started. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
}

/** One contestant at work. Disposing of it ends it; it also ends when this process does, because its standard input closes. */
export class ContestantProcess implements AsyncDisposable {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #lines: AsyncIterator<string>;
  /** Resolves when the process has ended. */
  readonly ended: Promise<unknown>;
  #errors = "";

  constructor(command: Command, kubeconfig: string) {
    const environment = { PATH: process.env["PATH"], HOME: process.env["HOME"], BENCH_KUBECONFIG: kubeconfig };
    this.#child = spawn(command.file, command.args, { env: environment, stdio: ["pipe", "pipe", "pipe"] });
    this.ended = once(this.#child, "exit");
    this.#child.stderr.setEncoding("utf8").on("data", (text: string) => (this.#errors = (this.#errors + text).slice(-4000)));
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  /** The next line, parsed as JSON. Rejects when the program ends, or after `timeoutMs`. */
  async next(timeoutMs = 120_000): Promise<unknown> {
    const timeout = AbortSignal.timeout(timeoutMs);
    const timedOut = once(timeout, "abort").then(() => Promise.reject(this.#failure(`said nothing for ${timeoutMs} ms`)));
    const line = await Promise.race([this.#lines.next(), timedOut]);
    if (line.done) throw this.#failure("ended before it was done");
    return JSON.parse(line.value);
  }

  /** Sends the program a line. */
  say(text: string): void {
    this.#child.stdin.write(`${text}\n`);
  }

  /** Memory and processor time as the kernel counts them now. */
  usage(): Usage {
    const { pid } = this.#child;
    if (pid === undefined) throw this.#failure("could not be started");
    return readUsage(pid);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin.end();
    const patience = setTimeout(() => this.#child.kill("SIGKILL"), 5000);
    await this.ended;
    clearTimeout(patience);
  }

  #failure(what: string): Error {
    return new Error(`${this.#child.spawnargs.join(" ")} ${what}; its standard error ends with:\n${this.#errors.trimEnd()}`);
  }
}
