// Who asks for diagnostics gets an answer in the log; test/cli/diagnostics.test.ts takes some.
import { type Clock, createLogger, systemClock } from "@keyturn/runtime";
import { VirtualClock } from "@keyturn/runtime/testing";
import { expect, test, vi } from "vitest";
import { diagnosticsRunnable } from "./diagnostics.ts";

async function start(folder: string | undefined, clock: Clock = new VirtualClock()) {
  const lines: string[] = [];
  let take = (): void => expect.fail("nobody listens");
  const runnable = diagnosticsRunnable({
    folder,
    profileMs: 1,
    onRequest(listener) {
      take = listener;
      return () => void (take = () => lines.push("nobody listens any more"));
    },
  });
  const log = createLogger({ destination: { write: (line) => lines.push(line) } });
  const running = await runnable.start({ clock, log });
  return { lines, running, ask: () => take() };
}

test("one capture at a time; the end of the process ends it", async () => {
  const { lines, running, ask } = await start("/dev/null/folder");
  ask();
  ask();
  expect(lines).toEqual([expect.stringContaining("taking diagnostics"), expect.stringContaining("are being taken already")]);
  await running[Symbol.asyncDispose]();
  ask();
  expect(lines.at(-1)).toBe("nobody listens any more");
  expect(lines).toHaveLength(3);
});

test("a folder that is not there is said in the log", async () => {
  const { lines, running, ask } = await start("/dev/null/folder", systemClock);
  ask();
  await vi.waitFor(() => expect(lines.at(-1)).toContain("could not be written"), { timeout: 300_000 });
  await running[Symbol.asyncDispose]();
});

test("without a folder nothing is taken", async () => {
  const { lines, running, ask } = await start(undefined);
  ask();
  expect(lines).toEqual([expect.stringContaining("--diagnostics-dir")]);
  await running[Symbol.asyncDispose]();
});
