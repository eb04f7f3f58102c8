// Commands and signals, with real processes.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "@keyturn/runtime";
import { expect, test } from "vitest";
import { type ChangeNotice, type NoticeResult, notifyChange } from "./change-notifier.ts";
import { testFolder } from "./generation.fixture.ts";

async function notify(notice: ChangeNotice, folder = "/nowhere", signal?: AbortSignal): Promise<NoticeResult> {
  return notifyChange(notice, { folder, generation: "7-abc", environment: { PATH: process.env["PATH"] }, clock: systemClock }, signal);
}
const command = (script: string, timeoutMs = 30_000): ChangeNotice => ({ type: "command", words: ["sh", "-c", script], timeoutMs });

test("a command learns which generation is served", async () => {
  const folder = await testFolder();
  expect(await notify(command('echo "$KEYTURN_AGENT_DIR $KEYTURN_GENERATION" > "$KEYTURN_AGENT_DIR/seen"'), folder)).toMatchObject({
    ok: true,
    detail: "exit code 0",
  });
  expect(await readFile(join(folder, "seen"), "utf8")).toBe(`${folder} 7-abc\n`);
});

test("its exit code is told, and nothing that it writes", async () => {
  expect(await notify(command("echo private-key-material >&2; exit 3"))).toMatchObject({ ok: false, detail: "exit code 3" });
});

test("a program that does not exist is a failure like any other", async () => {
  const result = await notify({ type: "command", words: ["/no/such/program"], timeoutMs: 1000 });
  expect(result).toMatchObject({ ok: false, detail: "/no/such/program could not be started: ENOENT" });
});

test("at its deadline it is ended, with whatever it has started", async () => {
  const folder = await testFolder();
  const result = await notify(command('sleep 1000 & echo $! > "$KEYTURN_AGENT_DIR/pid"; wait', 500), folder);
  expect(result).toMatchObject({ ok: false, detail: "ended after its deadline of 500 ms" });
  const pid = Number(await readFile(join(folder, "pid"), "utf8"));
  await expect.poll(() => isRunning(pid), { timeout: 20_000 }).toBe(false);
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
