// The gateway is notified until it has listened, ever more rarely, and again after every change.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, createLogger, systemClock } from "@keyturn/runtime";
import { VirtualClock } from "@keyturn/runtime/testing";
import { soon } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { type ChangeNotice, GatewayNotice, type NoticeResult, notifyChange, parseChangeCommand } from "./gateway.ts";
import { testFolder } from "./snapshot.fixture.ts";

const noSignal = new AbortController().signal;

/** A gateway that listens or not, and remembers what it was notified of. */
function gateway(notified?: string) {
  const clock = new VirtualClock();
  const received: string[] = [];
  const listening = { ok: false };
  const notify = (snapshot: string) => {
    received.push(snapshot);
    return Promise.resolve({ ok: listening.ok, detail: "exit code 1", durationMs: 7 });
  };
  return { clock, received, listening, notice: new GatewayNotice({ notify, clock, log: createLogger({ level: "silent" }) }, notified) };
}

test("after failures it waits longer each time, and starts afresh with another generation", async () => {
  const { clock, received, notice } = gateway();
  const waits: number[] = [];
  for (let failures = 0; failures < 9; failures++) {
    await notice.notify("1-a", noSignal);
    const nextMs = notice.nextMs("1-a") ?? 0;
    waits.push(nextMs - clock.monotonic());
    // Too early: nothing happens.
    await notice.notify("1-a", noSignal);
    await clock.advance(nextMs - clock.monotonic());
  }
  expect(waits).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  expect(received).toHaveLength(9);
  expect(notice.trouble).toBe("exit code 1");
  await notice.notify("1-a", noSignal);
  await notice.notify("2-b", noSignal);
  expect(received.slice(-2)).toEqual(["1-a", "2-b"]);
});

test("after a success there is nothing more to notify of until the snapshot changes", async () => {
  const { received, listening, notice } = gateway();
  listening.ok = true;
  await notice.notify("1-a", noSignal);
  await notice.notify("1-a", noSignal);
  await notice.notify("2-b", noSignal);
  expect(received).toEqual(["1-a", "2-b"]);
  expect(notice).toMatchObject({ notified: "2-b", trouble: undefined, attempt: { ok: true, durationMs: 7 } });
  expect(notice.nextMs("2-b")).toBeUndefined();
});

test("what was notified before a restart is not notified again", async () => {
  const { received, notice } = gateway("1-a");
  await notice.notify("1-a", noSignal);
  await notice.notify(undefined, noSignal);
  expect(received).toEqual([]);
});

// What `--on-change` makes of a text.

test.each([
  ["nginx -s reload", ["nginx", "-s", "reload"]],
  ["  nginx   -s\treload ", ["nginx", "-s", "reload"]],
  ['["sh","-c","nginx -t && nginx -s reload"]', ["sh", "-c", "nginx -t && nginx -s reload"]],
  ['["/opt/my gateway/reload"]', ["/opt/my gateway/reload"]],
])("%s", (text, words) => {
  expect(parseChangeCommand(text)).toEqual(words);
});

test.each([
  ["nginx -t && nginx -s reload", "no shell reads it, so & would not do what it looks like"],
  ["sh -c 'nginx -s reload'", "no shell reads it, so ' would not do what it looks like"],
  ["kill -HUP $(cat /run/nginx.pid)", "no shell reads it, so $ would not do what it looks like"],
  ["nginx -s reload > /dev/null", "no shell reads it, so > would not do what it looks like"],
  ["", "there is no program to run"],
  ["[]", "there is no program to run"],
  ["[nginx]", "it begins like a JSON array and is none"],
  ['["nginx", 1]', "it must be a JSON array of texts"],
])("%s is refused: %s", (text, message) => {
  expect(() => parseChangeCommand(text)).toThrow(message);
});

// Commands and signals, with real processes.

async function notify(notice: ChangeNotice, folder = "/nowhere", signal?: AbortSignal, clock: Clock = systemClock): Promise<NoticeResult> {
  return notifyChange(notice, { folder, snapshot: "7-abc", environment: { PATH: process.env["PATH"] }, clock }, signal);
}

/** Waits that a clock keeps: one by one as they are asked for, each as long as it takes until this resolves; those that come after them take their time. */
function clockOf(...waits: readonly (() => Promise<unknown>)[]): Clock {
  let asked = 0;
  return {
    ...systemClock,
    setTimer(delayMs, run) {
      const wait = waits[asked++];
      if (!wait) return systemClock.setTimer(delayMs, run);
      let isCancelled = false;
      void wait().then(() => isCancelled || run());
      return { cancel: () => void (isCancelled = true) };
    },
  };
}

/** Until the script has said in the folder that it has come so far. */
const comeSoFar = (folder: string) => () => soon(async () => expect(await readFile(join(folder, "pid"), "utf8")).toMatch(/^\d+\n$/));
const atOnce = (): Promise<void> => Promise.resolve();
const never = (): Promise<void> => new Promise(() => undefined);

async function isGone(folder: string): Promise<void> {
  const pid = Number(await readFile(join(folder, "pid"), "utf8"));
  await soon(async () => expect(await isRunning(pid)).toBe(false));
}

const command = (script: string, timeoutMs = 30_000): ChangeNotice => ({ type: "command", words: ["sh", "-c", script], timeoutMs });

test("a command learns which snapshot is served", async () => {
  const folder = await testFolder();
  expect(await notify(command('echo "$KEYTURN_AGENT_DIR $KEYTURN_GENERATION" > "$KEYTURN_AGENT_DIR/seen"'), folder)).toMatchObject({
    ok: true,
    detail: "exit code 0",
  });
  expect(await readFile(join(folder, "seen"), "utf8")).toBe(`${folder} 7-abc\n`);
});

test("its exit code is reported, and nothing that it writes", async () => {
  expect(await notify(command("echo private-key-material >&2; exit 3"))).toMatchObject({ ok: false, detail: "exit code 3" });
});

test("a program that does not exist is a failure like any other", async () => {
  const result = await notify({ type: "command", words: ["/no/such/program"], timeoutMs: 1000 });
  expect(result).toMatchObject({ ok: false, detail: "/no/such/program could not be started: ENOENT" });
});

test("at its deadline it is ended, with whatever it has started", async () => {
  const folder = await testFolder();
  const script = 'sleep 1000 & echo $! > "$KEYTURN_AGENT_DIR/pid"; wait';
  const result = await notify(command(script, 500), folder, undefined, clockOf(comeSoFar(folder)));
  expect(result).toMatchObject({ ok: false, detail: "ended after its deadline of 500 ms" });
  await isGone(folder);
});

test("at its deadline whatever it has started is ended even if that ignores the request and its parent is gone", async () => {
  const folder = await testFolder();
  const script = `(trap "" TERM; while :; do sleep 0.1; done) & echo $! > "$KEYTURN_AGENT_DIR/pid"; wait`;
  // Nobody waits for the grace of five seconds.
  const result = await notify(command(script, 300), folder, undefined, clockOf(comeSoFar(folder), atOnce));
  expect(result).toMatchObject({ ok: false, detail: "ended after its deadline of 300 ms" });
  await isGone(folder);
});

test("a command that fails leaves nothing behind, whatever that ignores: each attempt would add to it", async () => {
  const folder = await testFolder();
  const script = `(trap "" TERM; while :; do sleep 0.1; done) & echo $! > "$KEYTURN_AGENT_DIR/pid"; exit 3`;
  expect(await notify(command(script), folder, undefined, clockOf(never, atOnce))).toMatchObject({ ok: false, detail: "exit code 3" });
  await isGone(folder);
});

test("a command that cannot be ended, because it became another user's, is a failure like any other", async () => {
  const kill = (): never => {
    throw Object.assign(new Error("kill EPERM"), { code: "EPERM" });
  };
  const folder = await testFolder();
  const context = { folder, snapshot: "7-abc", environment: { PATH: process.env["PATH"] }, clock: clockOf(comeSoFar(folder), atOnce, atOnce), kill };
  const script = 'echo $$ > "$KEYTURN_AGENT_DIR/pid"; exec sleep 1000';
  expect(await notifyChange(command(script, 300), context)).toMatchObject({ ok: false, detail: "it cannot be ended: EPERM" });
  process.kill(Number(await readFile(join(folder, "pid"), "utf8")), "SIGKILL");
});

test("it does not outlive the agent", async () => {
  const stop = new AbortController();
  const result = notify(command("sleep 1000"), "/nowhere", stop.signal);
  stop.abort();
  expect(await result).toMatchObject({ ok: false, detail: "ended by SIGTERM" });
});

test("a signal reaches the process that the file names", async () => {
  const folder = await testFolder();
  const child = spawn("sleep", ["1000"]);
  const ended = once(child, "exit");
  await writeFile(join(folder, "pid"), `${child.pid}\n`);
  expect(await notify({ type: "signal", pidFile: join(folder, "pid"), signal: "SIGHUP" })).toMatchObject({ ok: true });
  expect(await ended).toEqual([null, "SIGHUP"]);
});

test.each(["", "0", "1", "-5", "12 13", "nginx"])("a file that holds %j sends no signal to anybody", async (content) => {
  const file = join(await testFolder(), "pid");
  await writeFile(file, content);
  expect(await notify({ type: "signal", pidFile: file, signal: "SIGHUP" })).toMatchObject({
    ok: false,
    detail: `${file} does not hold a process id`,
  });
});

test("a file that is not there is a failure like any other", async () => {
  expect(await notify({ type: "signal", pidFile: "/no/such/file", signal: "SIGHUP" })).toMatchObject({
    ok: false,
    detail: expect.stringContaining("ENOENT"),
  });
});

/** What has ended and waits for its parent to notice (state Z) does not run. */
async function isRunning(pid: number): Promise<boolean> {
  const line = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  return line !== "" && !/\) [ZX] /.test(line);
}
