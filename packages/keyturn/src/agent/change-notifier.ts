// Tells the gateway that the certificates have changed: runs a command, or sends a signal.
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import type { Clock } from "@keyturn/runtime";
import { errorCodeOf } from "./disk.ts";

/** How the gateway is told. */
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
export interface ChangeContext {
  /** The agent's folder. */
  readonly folder: string;
  readonly generation: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
}

/** How long a command has to end after it was asked to. */
const graceMs = 5000;

/** Tells the gateway, and resolves to how that went. Never rejects: a gateway that does not listen is a result like any other. */
export async function notifyChange(notice: ChangeNotice, context: ChangeContext, signal?: AbortSignal): Promise<NoticeResult> {
  const beganMs = context.clock.monotonic();
  const outcome = notice.type === "command" ? await runCommand(notice, context, signal) : await sendSignal(notice);
  return { ...outcome, durationMs: Math.round(context.clock.monotonic() - beganMs) };
}

type Outcome = Pick<NoticeResult, "ok" | "detail">;

function runCommand(
  { words: [program, ...args], timeoutMs }: Extract<ChangeNotice, { type: "command" }>,
  { folder, generation, environment, clock }: ChangeContext,
  signal?: AbortSignal,
): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      // What it writes goes where the agent's own standard error goes, and nowhere else: it may quote keys.
      stdio: ["ignore", 2, 2],
      env: { ...environment, KEYTURN_AGENT_DIR: folder, KEYTURN_GENERATION: generation },
      // A group of its own, so that what it starts ends with it.
      detached: true,
    });
    let isOverdue = false;
    const end = (): void => {
      kill(child.pid, "SIGTERM");
      forced = clock.setTimer(graceMs, () => kill(child.pid, "SIGKILL"));
    };
    let forced: { cancel(): void } | undefined;
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
      if (isOverdue) settle({ ok: false, detail: `ended after its deadline of ${timeoutMs} ms` });
      else settle({ ok: code === 0, detail: by === null ? `exit code ${code}` : `ended by ${by}` });
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

function kill(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (error) {
    // It has ended by itself meanwhile.
    if (codeOf(error) !== "ESRCH") throw error;
  }
}

function codeOf(error: unknown): string {
  return errorCodeOf(error) ?? "unknown error";
}
