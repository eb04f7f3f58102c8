// Keeps a second agent out of a folder. Whoever holds it listens on a socket in it, which the kernel closes with the process, however that ends:
// what a dead process has left, or a machine before its restart, holds nothing; and process ids, which mean nothing across containers, do not matter.
import { randomBytes } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { type Clock, type Logger, type Random, sleep } from "@keyturn/runtime";
import * as z from "zod";
import { type Disk, errorCodeOf } from "./disk.ts";

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
class FolderHeldError extends Error {
  readonly code = "FolderHeld";
  constructor(message: string) {
    super(message);
    this.name = "FolderHeldError";
  }
}

/** Those who come at the same moment all step back, and come again at moments of their own. */
const maxTries = 20;
const firstStepBackMs = 50;
const maxStepBackMs = 1_000;

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
    if (holder || tries === maxTries) throw new FolderHeldError(heldInWords(folder, holder));
    await sleep(clock, Math.min(maxStepBackMs, firstStepBackMs * 2 ** tries) * random());
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

// The socket, on which the agent's process says who it is, and asks others that are there.

const holderSchema = z.object({ identity: z.string(), host: z.string(), pid: z.number(), since: z.string() }).readonly();

/** Who holds a folder, as those who ask learn it. `since` is in ISO 8601. */
type FolderHolder = z.infer<typeof holderSchema>;

const answerSchema = z.discriminatedUnion("state", [
  z.object({ state: z.literal("holding"), holder: holderSchema }),
  z.object({ state: z.literal("asking") }),
]);

/** What came of asking. */
type LockAnswer =
  | z.infer<typeof answerSchema>
  /** Somebody listens and does not say who it is. */
  | { readonly state: "mute"; readonly reason: string }
  /** Nobody listens, nor ever will: no name is used twice. */
  | { readonly state: "dead" };

const nameForm = /^agent-[0-9a-f]{16}\.sock$/;
/** What fits into a socket's address everywhere: 104 bytes on BSDs, 108 on Linux, with the zero at the end. */
const maxPathBytes = 100;
/** A process that is stopped listens, and answers nothing. One on a machine that is busy answers late. */
const answerWithinMs = 10_000;

/** True for names of such sockets. */
function isLockSocket(name: string): boolean {
  return nameForm.test(name);
}

/** The socket, from when it is open until it is closed or its process has ended, however that ends. */
class LockSocket {
  readonly name: string;
  readonly #folder: string;
  readonly #folderHandle: FileHandle | undefined;
  readonly #server: Server;
  readonly #askers = new Set<Socket>();
  #holder: FolderHolder | undefined;

  private constructor(folder: string, name: string, folderHandle: FileHandle | undefined) {
    this.name = name;
    this.#folder = folder;
    this.#folderHandle = folderHandle;
    this.#server = createServer((socket) => this.#answer(socket));
    // Holding a folder is no reason for a process to live.
    this.#server.unref();
  }

  /** Makes a socket in a folder and listens. Rejects with Node's error if that cannot be. */
  static async open(folder: string): Promise<LockSocket> {
    const name = `agent-${randomBytes(8).toString("hex")}.sock`;
    const isLong = Buffer.byteLength(join(folder, name)) > maxPathBytes;
    const socket = new LockSocket(folder, name, isLong ? await open(folder, "r") : undefined);
    try {
      await socket.#listen();
    } catch (error) {
      await socket.#folderHandle?.close();
      throw error;
    }
    return socket;
  }

  /** From now on, says that the folder is held, and by whom. */
  hold(holder: FolderHolder): void {
    this.#holder = holder;
  }

  /** Asks whoever listens on another socket of the folder. */
  ask(name: string, clock: Clock): Promise<LockAnswer> {
    return new Promise((resolve) => {
      let text = "";
      const socket = connect(this.#pathOf(name));
      const timer = clock.setTimer(answerWithinMs, () => settle({ state: "mute", reason: "it does not answer" }));
      const settle = (answer: LockAnswer): void => {
        timer.cancel();
        socket.destroy();
        resolve(answer);
      };
      socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      socket.on("end", () => settle(answerIn(text)));
      socket.on("error", (error) => settle(answerOfError(error)));
    });
  }

  /** Closes the socket, which removes its file. */
  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    // One that does not hang up must not hold us up.
    for (const asker of this.#askers) asker.destroy();
    await closed;
    await this.#folderHandle?.close();
  }

  #answer(socket: Socket): void {
    this.#askers.add(socket);
    socket.on("close", () => this.#askers.delete(socket));
    // Whoever asked may hang up before the answer; that is its own affair.
    socket.on("error", () => socket.destroy());
    const answer: LockAnswer = this.#holder ? { state: "holding", holder: this.#holder } : { state: "asking" };
    socket.end(JSON.stringify(answer));
  }

  #listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      // Whoever comes next may run as somebody else, and must be able to ask.
      this.#server.listen({ path: this.#pathOf(this.name), readableAll: true, writableAll: true }, () => {
        this.#server.removeListener("error", reject);
        resolve();
      });
    });
  }

  /** Linux knows an open folder by a short name too. */
  #pathOf(name: string): string {
    return this.#folderHandle ? `/proc/self/fd/${this.#folderHandle.fd}/${name}` : join(this.#folder, name);
  }
}

function answerIn(text: string): LockAnswer {
  // Closed before it could answer.
  if (text === "") return { state: "asking" };
  try {
    return answerSchema.parse(JSON.parse(text));
  } catch {
    return { state: "mute", reason: "its answer makes no sense" };
  }
}

function answerOfError(error: Error): LockAnswer {
  const code = errorCodeOf(error) ?? "unknown";
  // Nobody listens any more; or the file is gone, or is nothing to listen on.
  if (code === "ECONNREFUSED" || code === "ENOENT" || code === "ENOTSOCK") return { state: "dead" };
  // It is going this moment.
  return code === "ECONNRESET" || code === "EPIPE" ? { state: "asking" } : { state: "mute", reason: code };
}
