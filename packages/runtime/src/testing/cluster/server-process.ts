// One server of the control plane: started, stopped, killed, paused and started again, with its log at hand.
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { systemClock } from "../../clock.ts";
import { type Random, systemRandom } from "../../random.ts";
import type { Sandbox } from "./sandbox.ts";

/** What to run and how to see that it works. */
export interface ServerOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly logFile: string;
  /** Resolves to true when the server does its work; asked again and again until then. */
  readonly isReady: () => Promise<boolean>;
  /** How long `start` waits for readiness; default 300,000. */
  readonly readyTimeoutMs?: number;
}

type State = { readonly type: "stopped" } | { readonly type: "running"; readonly child: ChildProcess; readonly exited: Promise<string> };

const pollMs = 25;

/** A server process that keeps its arguments, and so its port and data, over restarts. */
export class ServerProcess {
  readonly name: string;
  readonly logFile: string;
  readonly #sandbox: Sandbox;
  readonly #options: ServerOptions;
  #state: State = { type: "stopped" };

  constructor(sandbox: Sandbox, options: ServerOptions) {
    this.name = options.name;
    this.logFile = options.logFile;
    this.#sandbox = sandbox;
    this.#options = options;
  }

  /** The process id, or undefined while it does not run. */
  get pid(): number | undefined {
    return this.#state.type === "running" ? this.#state.child.pid : undefined;
  }

  /** Starts the server if it does not run, and resolves when it is ready. Rejects with the end of its log if it exits or takes too long. */
  async start(): Promise<void> {
    const state = this.#state.type === "running" ? this.#state : this.#launch();
    const deadlineMs = systemClock.monotonic() + (this.#options.readyTimeoutMs ?? 300_000);
    let exit: string | undefined;
    void state.exited.then((how) => (exit = how));
    while (!(await this.#options.isReady())) {
      if (exit !== undefined)
        throw new Error(`starting ${this.name}: it ended with ${exit} before it was ready; its log ends with:\n${await this.logs(20)}`);
      if (systemClock.monotonic() > deadlineMs) {
        throw new Error(
          `starting ${this.name}: not ready after ${this.#options.readyTimeoutMs ?? 300_000} ms; its log ends with:\n${await this.logs(20)}`,
        );
      }
      await delay(pollMs);
    }
  }

  /** Asks the server to end (SIGTERM) and resolves when it has; after `graceMs` (default 5,000) it is killed, for servers wait long for open watches. */
  async stop(graceMs = 5_000): Promise<void> {
    const timer = setTimeout(() => this.#signal("SIGKILL"), graceMs);
    this.#signal("SIGTERM");
    await this.#gone();
    clearTimeout(timer);
  }

  /** Ends the server at once (SIGKILL), without any farewell to clients or disk. */
  async kill(): Promise<void> {
    this.#signal("SIGKILL");
    await this.#gone();
  }

  /** Freezes the process (SIGSTOP) and resolves when all its threads stand still: its connections stay open and nothing moves. */
  async pause(): Promise<void> {
    this.#signal("SIGSTOP");
    while (this.pid !== undefined && !standsStill(this.pid)) await delay(1);
  }

  /** Undoes `pause`. */
  resume(): void {
    this.#signal("SIGCONT");
  }

  /** What the server has logged so far, or the last lines of it. */
  async logs(lastLines?: number): Promise<string> {
    const text = await readFile(this.logFile, "utf8");
    return lastLines === undefined ? text : text.trimEnd().split("\n").slice(-lastLines).join("\n");
  }

  #launch(): State & { readonly type: "running" } {
    const { folder } = this.#sandbox;
    // Nothing of the user's surroundings: no proxies, no preferences, no files in the home folder. Their heaps are small, so Go collects them a fourth as often
    // as it does by itself: memory for computing.
    const environment = { PATH: process.env["PATH"], HOME: folder, TMPDIR: folder, GOGC: "400" };
    const child = this.#sandbox.launch({ ...this.#options, environment });
    const exited = new Promise<string>((resolve) => {
      child.once("error", (error) => resolve(error.message));
      child.once("exit", (code, signal) => resolve(signal ?? `exit code ${code}`));
    });
    const state = { type: "running", child, exited } as const;
    this.#state = state;
    void exited.then(() => {
      if (this.#state === state) this.#state = { type: "stopped" };
    });
    return state;
  }

  #signal(signal: NodeJS.Signals): void {
    if (this.#state.type === "running") this.#state.child.kill(signal);
  }

  async #gone(): Promise<void> {
    if (this.#state.type !== "running") return;
    this.#state.child.ref();
    await this.#state.exited;
  }
}

/** True while the process does anything. A zombie, which is dead and only waits for its parent to notice, does not count: some first processes never do. */
export function isRunning(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
  return !isZombie(pid);
}

function standsStill(pid: number): boolean {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    return threads.every((thread) => /\) [TtZX] [^)]*$/.test(readFileSync(`/proc/${pid}/task/${thread}/stat`, "utf8")));
  } catch {
    // A thread that has ended meanwhile is looked for again; without a /proc, as on macOS, the signal has to do.
    return !existsSync("/proc/self");
  }
}

function isZombie(pid: number): boolean {
  try {
    return /\) Z [^)]*$/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    // No /proc, as on macOS, whose first process does reap orphans.
    return false;
  }
}

// Ports on 127.0.0.1 that nobody uses, from below the range that the system gives to outgoing connections, so that a server can come back to its own.

// Linux gives outgoing connections 32768–60999, macOS 49152–65535.
const lowest = 20_000;
const highest = 32_000;

/** Finds a port that is free now. Somebody else may take it before it is used; then try another. */
export async function freePort(random: Random = systemRandom): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = lowest + Math.floor(random() * (highest - lowest));
    if (await isFree(port)) return port;
  }
  throw new Error(`looking for a free port on 127.0.0.1 between ${lowest} and ${highest}: 100 tried, all taken`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  server.listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch {
    return false;
  }
  server.close();
  await once(server, "close");
  return true;
}
