// Keeps a second agent out of a folder. Whoever holds it listens on a socket in it, which the kernel closes with the process, however that ends:
// what a dead process has left, or a machine before its restart, holds nothing; and process ids, which mean nothing across containers, do not matter.
import { join } from "node:path";
import { type Clock, type Logger, type Random, sleep } from "@keyturn/runtime";
import { type Disk, errorCodeOf } from "./disk.ts";
import { type FolderHolder, isLockSocket, type LockAnswer, LockSocket } from "./lock-socket.ts";

/** What a folder is locked with. */
export interface FolderLockOptions {
  /** It must be there. */
  readonly folder: string;
  readonly disk: Disk;
  readonly holder: FolderHolder;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** A folder that is held. */
export interface FolderLock {
  release(): Promise<void>;
}

/** Another agent holds the folder. */
export class FolderHeldError extends Error {
  readonly code = "FolderHeld";
  constructor(message: string) {
    super(message);
    this.name = "FolderHeldError";
  }
}

/** Those who come at the same moment all step back, and come again at moments of their own. */
const mostTries = 20;
const firstStepBackMs = 50;
const longestStepBackMs = 1_000;

/**
 * Takes the folder. Rejects with a `FolderHeldError` that says who has it.
 * Resolves to undefined, with a warning, where no socket can be made: an odd or full disk must not keep certificates from being served.
 *
 * Guarantees that there is never more than one holder on a machine. Each has its socket before it looks for others, so of two the later one sees the
 * earlier one, and it holds the folder only if it sees nobody. Only a holder removes sockets, those on which nobody listens. That can hit one who was
 * just about to listen; when it looks, it sees the holder, or that its own socket is gone.
 */
export async function lockFolder(options: FolderLockOptions): Promise<FolderLock | undefined> {
  const { folder, clock, random, log } = options;
  for (let tries = 1; ; tries++) {
    let socket: LockSocket;
    try {
      socket = await LockSocket.open(folder);
    } catch (error) {
      log.warn({ folder, error: errorCodeOf(error) ?? String(error) }, "the folder cannot be locked: see to it that no second agent uses it");
      return undefined;
    }
    const living = await lookAround(socket, options).catch(async (error: unknown) => {
      await socket.close();
      throw error;
    });
    if (living.length === 0) return { release: () => socket.close() };
    await socket.close();
    const holder = living.find(({ state }) => state !== "asking");
    if (holder || tries === mostTries) throw new FolderHeldError(heldInWords(folder, holder));
    await sleep(clock, Math.min(longestStepBackMs, firstStepBackMs * 2 ** tries) * random());
  }
}

/** Whoever else is there. If that is nobody, the folder is held from then on. */
async function lookAround(socket: LockSocket, { folder, disk, holder, clock, log }: FolderLockOptions): Promise<readonly LockAnswer[]> {
  const names = (await disk.list(folder)).filter(isLockSocket);
  if (!names.includes(socket.name)) return [{ state: "asking" }];
  const others = names.filter((name) => name !== socket.name);
  const answers = await Promise.all(others.map((name) => socket.ask(name, clock)));
  const living = answers.filter(({ state }) => state !== "dead");
  if (living.length > 0) return living;
  socket.hold(holder);
  for (const name of others) {
    await disk.remove(join(folder, name)).catch((error: unknown) => {
      log.warn({ folder, name, error: errorCodeOf(error) ?? String(error) }, "what an agent before has left cannot be removed; it does no harm");
    });
  }
  return [];
}

function heldInWords(folder: string, answer: LockAnswer | undefined): string {
  if (answer?.state === "holding") {
    const { identity, host, pid, since } = answer.holder;
    return `${folder} is held by the agent ${identity} (process ${pid} on ${host}, since ${since}): stop that one, or give another --dir`;
  }
  if (answer?.state === "mute") return `${folder} is held by another agent (${answer.reason}): stop that one, or give another --dir`;
  return `${folder}: other agents are being started on it at the same time: start one of them`;
}
