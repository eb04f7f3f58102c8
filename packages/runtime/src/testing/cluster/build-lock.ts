// One build at a time between processes: a lock file that names its owner, and that a dead owner cannot hold.
import { randomUUID } from "node:crypto";
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { isRunning } from "./running-process.ts";

/** How to wait for a lock. */
export interface LockOptions {
  /** Called once when another process holds the lock. */
  readonly onWait?: (ownerPid: number) => void;
  /** Between two looks; default 200. */
  readonly pollMs?: number;
  readonly signal?: AbortSignal;
}

/** Runs `work` while no other process runs under the same lock file. A lock whose owner is dead is taken over. */
export async function withLock<T>(file: string, work: () => Promise<T>, options: LockOptions = {}): Promise<T> {
  const mine = `${process.pid} ${randomUUID()}`;
  let announced = false;
  while (!tryTake(file, mine)) {
    const owner = ownerOf(file);
    if (owner === undefined || !isRunning(owner.pid)) {
      if (owner) breakStale(file, owner.text);
      continue;
    }
    if (!announced) options.onWait?.(owner.pid);
    announced = true;
    await delay(options.pollMs ?? 200, undefined, options.signal ? { signal: options.signal } : {});
  }
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
  }
}

/** A link appears whole, with its content, or not at all: nobody can read a lock without an owner. */
function tryTake(file: string, text: string): boolean {
  const draft = `${file}.${text.split(" ")[1]}`;
  writeFileSync(draft, text);
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if (isCode(error, "EEXIST")) return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

function ownerOf(file: string): { readonly pid: number; readonly text: string } | undefined {
  try {
    const text = readFileSync(file, "utf8");
    return { pid: Number.parseInt(text, 10), text };
  } catch (error) {
    if (isCode(error, "ENOENT")) return undefined;
    throw error;
  }
}

/** Moves the stale lock aside before deleting it, so that of several who find it stale only one removes it, and never a fresh one. */
function breakStale(file: string, staleText: string): void {
  const aside = `${file}.stale.${randomUUID()}`;
  try {
    renameSync(file, aside);
  } catch (error) {
    if (isCode(error, "ENOENT")) return;
    throw error;
  }
  if (readFileSync(aside, "utf8") !== staleText) linkBack(aside, file);
  rmSync(aside, { force: true });
}

function linkBack(aside: string, file: string): void {
  try {
    linkSync(aside, file);
  } catch (error) {
    if (!isCode(error, "EEXIST")) throw error;
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
