// Notifies the gateway that the certificates have changed, by a command or a signal, until it has listened.
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import type { Clock, Logger } from "@keyturn/runtime";
import { failedAgain, type Retry, untried } from "./agent.ts";
import { errorCodeOf } from "./disk.ts";
import { type Attempt, attemptOf } from "./status.ts";

/** How the gateway is notified. */
export type ChangeNotice =
  | { readonly type: "command"; readonly words: readonly [string, ...string[]]; readonly timeoutMs: number }
  | { readonly type: "signal"; readonly pidFile: string; readonly signal: NodeJS.Signals };

/** How it went. `detail` is for people: an exit code or a reason; never anything that the command has written. */
export interface NoticeResult {
  readonly ok: boolean;
  readonly detail: string;
  readonly durationMs: number;
}

/** What a command learns about the change, in its environment. */
interface ChangeContext {
  /** The agent's folder. */
  readonly folder: string;
  readonly snapshot: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** How a signal is sent to a process or, by a negative number, to a group. Default the kernel's way. */
  readonly kill?: typeof killProcess;
}

/** What it needs. */
interface GatewayNoticeOptions {
  /** Notifies the gateway. Never rejects. */
  readonly notify: (snapshot: string, signal: AbortSignal) => Promise<NoticeResult>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Guarantees: after every change of the promoted snapshot, and after a restart without a success, the gateway is notified until it succeeds. */
export class GatewayNotice {
  readonly #options: GatewayNoticeOptions;
  #notified: string | undefined;
  #tried: string | undefined;
  #attempt: Attempt | undefined;
  #retry: Retry = untried;
  #endedMs = -Infinity;

  /** `notified`: the snapshot that the gateway is known to have been notified of. */
  constructor(options: GatewayNoticeOptions, notified: string | undefined) {
    this.#options = options;
    this.#notified = notified;
  }

  /** The snapshot that the gateway was last notified of with success. */
  get notified(): string | undefined {
    return this.#notified;
  }

  get attempt(): Attempt | undefined {
    return this.#attempt;
  }

  /** Why the gateway has not been notified; undefined if it has, or nothing was tried. */
  get trouble(): string | undefined {
    return this.#retry.failures > 0 ? this.#attempt?.detail : undefined;
  }

  /** When the last attempt ended, on the monotonic scale. */
  get endedMs(): number {
    return this.#endedMs;
  }

  /** When to try again, on the monotonic scale; undefined if there is nothing to notify it of. */
  nextMs(snapshot: string | undefined): number | undefined {
    return snapshot === undefined || snapshot === this.#notified ? undefined : this.#retry.notBeforeMs;
  }

  /** Notifies the gateway if it is time to. */
  async notify(snapshot: string | undefined, signal: AbortSignal): Promise<void> {
    const { notify, clock, log } = this.#options;
    if (snapshot !== this.#tried) this.#retry = untried;
    const dueMs = this.nextMs(snapshot);
    if (snapshot === undefined || dueMs === undefined || clock.monotonic() < dueMs || signal.aborted) return;
    this.#tried = snapshot;
    const result = await notify(snapshot, signal);
    this.#endedMs = clock.monotonic();
    this.#attempt = attemptOf(result, clock.now());
    const fields = { generation: snapshot, detail: result.detail, durationMs: result.durationMs };
    if (result.ok) {
      this.#notified = snapshot;
      this.#retry = untried;
      log.info(fields, "the gateway was notified");
    } else {
      this.#retry = failedAgain(this.#retry, this.#endedMs);
      log.error({ ...fields, failures: this.#retry.failures }, "the gateway could not be notified; trying again");
    }
  }
}

// One notification.

const killProcess = (pid: number, signal: NodeJS.Signals | 0): boolean => process.kill(pid, signal);

/** How long a command has to end after it was asked to. */
const graceMs = 5000;

/** Notifies the gateway, and resolves to how that went. Never rejects: a gateway that does not listen is a result like any other. */
export async function notifyChange(notice: ChangeNotice, context: ChangeContext, signal?: AbortSignal): Promise<NoticeResult> {
  const beganMs = context.clock.monotonic();
  const outcome = notice.type === "command" ? await runCommand(notice, context, signal) : await sendSignal(notice);
  return { ...outcome, durationMs: Math.round(context.clock.monotonic() - beganMs) };
}

type Outcome = Pick<NoticeResult, "ok" | "detail">;

function runCommand(
  { words: [program, ...args], timeoutMs }: Extract<ChangeNotice, { type: "command" }>,
  { folder, snapshot, environment, clock, kill = killProcess }: ChangeContext,
  signal?: AbortSignal,
): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      // What it writes goes where the agent's own standard error goes, and nowhere else: it may quote keys.
      stdio: ["ignore", 2, 2],
      env: { ...environment, KEYTURN_AGENT_DIR: folder, KEYTURN_GENERATION: snapshot },
      // A group of its own, so that what it starts ends with it.
      detached: true,
    });
    const group = child.pid === undefined ? undefined : -child.pid;
    let isOverdue = false;
    let isEnding = false;
    let forced: { cancel(): void } | undefined;
    let ended: Outcome | undefined;
    const end = (): void => {
      if (isEnding || group === undefined) return;
      isEnding = true;
      const refusal = trySignal(kill, group, "SIGTERM");
      // Whoever of the group traps the request to end is ended all the same, also when the first of them is gone.
      forced = clock.setTimer(graceMs, () => {
        trySignal(kill, group, "SIGKILL");
        if (ended) return settle(ended);
        // Another user's process, or one that hangs in the kernel: nothing waits for it.
        forced = clock.setTimer(graceMs, () => settle(ended ?? { ok: false, detail: `it cannot be ended: ${refusal ?? "not even by SIGKILL"}` }));
      });
    };
    const deadline = clock.setTimer(timeoutMs, () => {
      isOverdue = true;
      end();
    });
    const settle = (outcome: Outcome): void => {
      deadline.cancel();
      forced?.cancel();
      signal?.removeEventListener("abort", end);
      resolve(outcome);
    };
    signal?.addEventListener("abort", end, { once: true });
    child.once("error", (error) => settle({ ok: false, detail: `${program} could not be started: ${codeOf(error)}` }));
    child.once("exit", (code, by) => {
      const outcome = isOverdue
        ? { ok: false, detail: `ended after its deadline of ${timeoutMs} ms` }
        : { ok: code === 0, detail: by === null ? `exit code ${code}` : `ended by ${by}` };
      // It is run again after a failure: what this time has left must not pile up.
      if (!outcome.ok && group !== undefined && trySignal(kill, group, 0) !== "ESRCH") {
        ended = outcome;
        end();
      } else settle(outcome);
    });
  });
}

async function sendSignal({ pidFile, signal }: Extract<ChangeNotice, { type: "signal" }>): Promise<Outcome> {
  try {
    const text = (await readFile(pidFile, "utf8")).trim();
    const pid = /^[1-9]\d{0,9}$/.test(text) ? Number(text) : 0;
    // 0 and 1 are this group and the init process.
    if (pid < 2) return { ok: false, detail: `${pidFile} does not hold a process id` };
    process.kill(pid, signal);
    return { ok: true, detail: `${signal} sent to process ${pid}` };
  } catch (error) {
    return { ok: false, detail: `${signal} could not be sent to the process in ${pidFile}: ${codeOf(error)}` };
  }
}

/** Sends a signal (0: none, only asks whether it could be sent), and returns why not: `ESRCH` if there is nobody any more, `EPERM` if all are another user's. */
function trySignal(kill: typeof killProcess, pid: number, signal: NodeJS.Signals | 0): string | undefined {
  try {
    kill(pid, signal);
    return undefined;
  } catch (error) {
    return codeOf(error);
  }
}

function codeOf(error: unknown): string {
  return errorCodeOf(error) ?? "unknown error";
}

// The text of `--on-change` as words for the kernel. No shell is involved unless somebody names one.

/** Characters that mean something to a shell: whoever writes one of them expects a shell, and there is none. */
const shellCharacter = /["'\\$`|&;<>(){}*?~#!]|\[|\]/;

/**
 * The words of a command: either a JSON array of texts, taken as they are, or words separated by spaces. Anything that a shell would read in another way is refused.
 * Throws an Error whose message completes "--on-change: …".
 */
export function parseChangeCommand(text: string): readonly [string, ...string[]] {
  const words = text.trimStart().startsWith("[") ? parseArray(text) : parseWords(text);
  const [program, ...rest] = words;
  if (program === undefined || program === "") throw new Error("there is no program to run");
  return [program, ...rest];
}

function parseArray(text: string): readonly string[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new Error("it begins like a JSON array and is none", { cause });
  }
  if (Array.isArray(value) && value.every((word) => typeof word === "string")) return value;
  throw new Error('it must be a JSON array of texts, such as ["nginx","-s","reload"]');
}

function parseWords(text: string): readonly string[] {
  const found = shellCharacter.exec(text);
  if (found) throw new Error(`no shell reads it, so ${found[0]} would not do what it looks like; write a JSON array, such as ["sh","-c","…"]`);
  return text.split(/\s+/).filter((word) => word !== "");
}
