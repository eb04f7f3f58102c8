// One agent per folder: who comes second learns who was first, and what the dead have left is in nobody's way.
import { execFile } from "node:child_process";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Logger, systemClock, systemRandom } from "@keyturn/runtime";
import { expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "@keyturn/runtime/testing/vitest";
import { systemDisk } from "./disk.ts";
import { type FolderLock, type FolderLockOptions, lockFolder } from "./folder-lock.ts";

const warnings: string[] = [];
const log: Logger = {
  debug() {},
  info() {},
  warn: (_, message) => void warnings.push(message),
  error() {},
  child: () => log,
};

async function lock(folder: string, identity: string, options: Partial<FolderLockOptions> = {}): Promise<FolderLock | undefined> {
  const holder = { identity, host: "gateway-0", pid: 7, since: "2026-01-01T00:00:00.000Z" };
  const taken = await lockFolder({ folder, disk: systemDisk, holder, clock: systemClock, random: systemRandom, log, ...options });
  onTestFinished(() => taken?.release());
  return taken;
}

/** Leaves a socket behind on which nobody listens, as a process does that is killed. */
async function leaveSocket(path: string): Promise<void> {
  const code = `require("node:net").createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, "SIGKILL"))`;
  await promisify(execFile)(process.execPath, ["-e", code]).catch(() => undefined);
}

test("a second agent learns who holds the folder, until that one lets go", async () => {
  const folder = await temporaryFolder();
  const first = await lock(folder, "web-1");
  const message = `${folder} is held by the agent web-1 (process 7 on gateway-0, since 2026-01-01T00:00:00.000Z): stop that one, or give another --dir`;
  for (let i = 0; i < 2; i++) await expect(lock(folder, "web-2")).rejects.toMatchObject({ code: "FolderHeld", message });
  expect(await readdir(folder)).toHaveLength(1);
  await first?.release();
  expect(await readdir(folder)).toEqual([]);
  expect(await lock(folder, "web-2")).toBeDefined();
});

test("what a killed process has left is in nobody's way, and goes", async () => {
  const folder = await temporaryFolder();
  const left = ["agent-0000000000000001.sock", "agent-0000000000000002.sock"];
  await leaveSocket(join(folder, left[0] ?? ""));
  // As a restored backup may have it.
  await writeFile(join(folder, left[1] ?? ""), "");
  await writeFile(join(folder, "state.json"), "");
  expect(await readdir(folder)).toEqual([...left, "state.json"]);
  expect(await lock(folder, "web-1")).toBeDefined();
  expect(await readdir(folder)).toEqual([expect.stringMatching(/^agent-[0-9a-f]{16}\.sock$/), "state.json"]);
  expect(await readdir(folder)).not.toContain(left[0]);
});

test("however many come at the same time, one gets the folder", async () => {
  const folder = await temporaryFolder();
  for (let round = 0; round < 5; round++) {
    const results = await Promise.allSettled(Array.from({ length: 4 }, (_, index) => lock(folder, `web-${index}`)));
    const taken = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
    expect(taken).toHaveLength(1);
    for (const result of results) if (result.status === "rejected") expect(result.reason).toMatchObject({ code: "FolderHeld" });
    await taken[0]?.release();
  }
});

test("one whose socket was taken away before it could listen comes again", async () => {
  const folder = await temporaryFolder();
  let looks = 0;
  const disk = { ...systemDisk, list: async (path: string) => (looks++ === 0 ? [] : systemDisk.list(path)) };
  expect(await lock(folder, "web-1", { disk })).toBeDefined();
  expect(looks).toBe(2);
});

test("one that listens and says nothing, or nothing that makes sense, holds the folder too", async () => {
  const folder = await temporaryFolder();
  const server = createServer((socket) => void socket.end("hello"));
  await new Promise<void>((resolve) => server.listen(join(folder, "agent-0000000000000001.sock"), resolve));
  onTestFinished(() => void server.close());
  await expect(lock(folder, "web-1")).rejects.toThrow("is held by another agent (its answer makes no sense)");
});

test("a folder with a long path can be locked", async () => {
  const folder = join(await temporaryFolder(), "x".repeat(120));
  await mkdir(folder);
  const first = await lock(folder, "web-1");
  await expect(lock(folder, "web-2")).rejects.toThrow("is held by the agent web-1");
  await first?.release();
  expect(await readdir(folder)).toEqual([]);
});

test("where no socket can be made, it is said, and the agent goes on", async () => {
  warnings.length = 0;
  expect(await lock(join(await temporaryFolder(), "nowhere"), "web-1")).toBeUndefined();
  expect(warnings).toEqual(["the folder cannot be locked: see to it that no second agent uses it"]);
});
