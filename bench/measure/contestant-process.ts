// One contestant in a process of its own: reads the lines it prints, looks at its memory and processor time from outside, ends it, and starts it again if need be.
import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";

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

  /** `variables`: more of its environment, such as what a pod would have. */
  constructor(command: Command, kubeconfig: string, variables: Readonly<Record<string, string>> = {}) {
    const environment = { PATH: process.env["PATH"], HOME: process.env["HOME"], BENCH_KUBECONFIG: kubeconfig, ...variables };
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

  /** Ends it at once, with SIGKILL. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.ended;
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

/** A kubelet's: the first restart comes at once, the next after 10 s, then twice as long each time. */
const pausesMs: readonly number[] = [0, 10_000, 20_000, 40_000];

/** One contestant that is started again when it ends, as a kubelet does with a container. Disposing of it ends it. */
export class SupervisedContestant implements AsyncDisposable {
  readonly #stop = new AbortController();
  readonly #kept: Promise<void>;
  #restarts = 0;

  constructor(command: Command, kubeconfig: string) {
    this.#kept = this.#keep(() => new ContestantProcess(command, kubeconfig));
  }

  /** How often it has ended by itself. */
  get restarts(): number {
    return this.#restarts;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#kept;
  }

  async #keep(start: () => ContestantProcess): Promise<void> {
    const { signal } = this.#stop;
    const stopped = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    while (!signal.aborted) {
      await using contestant = start();
      await Promise.race([contestant.ended, stopped]);
      if (signal.aborted) return;
      const pauseMs = pausesMs[Math.min(this.#restarts++, pausesMs.length - 1)] ?? 0;
      await Promise.race([delay(pauseMs, undefined, { ref: false }), stopped]);
    }
  }
}

/** What the kernel says a process uses, the same source for every language: memory in bytes, processor time in milliseconds since the process began, of all its threads. */
interface Usage {
  readonly rssBytes: number;
  readonly peakRssBytes: number;
  readonly cpuMs: number;
}

/** The kernel's unit in /proc/<pid>/stat is 1/100 s on every Linux that Node and Go run on. */
const tickMs = 10;

/** Reads /proc of a running process. */
export function readUsage(pid: number): Usage {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return {
    rssBytes: sizeIn(status, "VmRSS"),
    peakRssBytes: sizeIn(status, "VmHWM"),
    cpuMs: cpuTicksIn(readFileSync(`/proc/${pid}/stat`, "utf8")) * tickMs,
  };
}

/** A field of /proc/<pid>/status that is given in kB. */
export function sizeIn(status: string, field: string): number {
  const found = new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status)?.[1];
  if (!found) throw new Error(`reading the memory of a process: its status has no ${field}; the benchmark needs Linux`);
  return Number(found) * 1024;
}

/** User and system time, fields 14 and 15; the second field may itself hold spaces and brackets, so counting starts after its last one. */
export function cpuTicksIn(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return Number(fields[11]) + Number(fields[12]);
}
