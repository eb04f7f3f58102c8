// A disk in memory from which a loss of power takes everything that was not flushed: the content of files, and names in folders, each for itself.
import { Buffer } from "node:buffer";
import { basename, dirname, join } from "node:path";
import type { Disk } from "./disk.ts";

type Node =
  | { readonly type: "file"; readonly content: Buffer; readonly mode: number }
  | { readonly type: "link"; readonly target: string }
  | { readonly type: "folder"; readonly entries: Map<string, Node>; /** What is on the disk of it. */ flushed: Map<string, Node> };
type Folder = Extract<Node, { type: "folder" }>;

const emptyFolder = (): Folder => ({ type: "folder", entries: new Map(), flushed: new Map() });

function failure(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code });
}

/** The power is gone. */
export class PowerLossError extends Error {}

/** A disk whose power fails before step number `failAt` (from 0) of those that change something. `forgets`: what is never flushed, though it says so. */
export class LossyDisk implements Disk {
  readonly #root: Folder;
  readonly #failAt: number;
  readonly #forgets: RegExp | undefined;
  readonly steps: string[] = [];
  /** A move from one folder into another is one change: a journal keeps it whole. Where to, by where from. */
  readonly #moves: Map<string, string>;

  constructor({
    root = emptyFolder(),
    failAt = Infinity,
    forgets,
    moves = new Map(),
  }: { root?: Folder; failAt?: number; forgets?: RegExp; moves?: Map<string, string> } = {}) {
    this.#moves = moves;
    this.#failAt = failAt;
    this.#root = root;
    this.#forgets = forgets;
  }

  /**
   * The disk after the power came back. `survives` is asked, for each name that was changed and not flushed, whether the change got to the disk all the same:
   * the order in which a file system writes is its own.
   */
  afterLoss(survives: (path: string) => boolean): LossyDisk {
    const restored = (folder: Folder, path: string): Folder => {
      const entries = new Map<string, Node>();
      for (const name of new Set([...folder.entries.keys(), ...folder.flushed.keys()])) {
        const at = join(path, name);
        const [now, then] = [folder.entries.get(name), folder.flushed.get(name)];
        const node = now === then || survives(this.#moves.get(at) ?? at) ? now : then;
        if (node) entries.set(name, node.type === "folder" ? restored(node, at) : node);
      }
      return { type: "folder", entries, flushed: new Map(entries) };
    };
    return new LossyDisk({ root: restored(this.#root, "/") });
  }

  /** The same disk, on which the power is going to fail, and flushing paths of this form does nothing. */
  failingAt(failAt: number, forgets?: RegExp): LossyDisk {
    return new LossyDisk({ root: this.#root, failAt, moves: this.#moves, ...(forgets && { forgets }) });
  }

  async makeFolder(path: string): Promise<void> {
    let folder = this.#root;
    for (const name of path.split("/").filter((each) => each !== "")) {
      const next = folder.entries.get(name) ?? emptyFolder();
      if (next.type !== "folder") throw failure("ENOTDIR", path);
      if (!folder.entries.has(name)) this.#step(`makeFolder ${name} of ${path}`);
      folder.entries.set(name, next);
      folder = next;
    }
  }

  /** As the system calls go: a file that is empty, has its mode, has a half of its content, has all of it, and has it on the disk. Its name is not. */
  async writeNew(path: string, content: string | Uint8Array, mode: number): Promise<void> {
    const { entries } = this.#folderOf(path);
    if (entries.has(basename(path))) throw failure("EEXIST", path);
    const whole = Buffer.from(content);
    for (const [call, written] of [
      ["open", 0],
      ["chmod", 0],
      ["write", whole.length >> 1],
      ["write the rest of", whole.length],
      ["sync", whole.length],
    ] as const) {
      this.#step(`${call} ${path}`);
      entries.set(basename(path), { type: "file", content: whole.subarray(0, written), mode });
    }
  }

  async link(existing: string, path: string): Promise<void> {
    this.#step(`link ${path}`);
    this.#folderOf(path).entries.set(basename(path), this.#node(existing));
  }

  async symlink(target: string, path: string): Promise<void> {
    this.#step(`symlink ${path}`);
    this.#folderOf(path).entries.set(basename(path), { type: "link", target });
  }

  async rename(from: string, to: string): Promise<void> {
    this.#step(`rename ${to}`);
    if (dirname(from) !== dirname(to)) this.#moves.set(from, to);
    const node = this.#node(from);
    this.#folderOf(from).entries.delete(basename(from));
    this.#folderOf(to).entries.set(basename(to), node);
  }

  async flush(path: string): Promise<void> {
    this.#step(`flush ${path}`);
    const node = this.#node(path);
    if (node.type === "folder" && this.#forgets?.test(path) !== true) node.flushed = new Map(node.entries);
  }

  async remove(path: string): Promise<void> {
    const [parent, node] = [this.#find(dirname(path)), this.#find(path)];
    if (parent?.type !== "folder" || !node) return;
    const names = node.type === "folder" ? Array.from(node.entries.keys()) : [];
    for (const name of names) await this.remove(join(path, name));
    this.#step(`remove ${path}`);
    parent.entries.delete(basename(path));
  }

  async setMode(path: string, mode: number): Promise<void> {
    this.#step(`setMode ${path}`);
    const node = this.#node(path);
    if (node.type === "file") this.#folderOf(path).entries.set(basename(path), { ...node, mode });
  }

  async read(path: string): Promise<Buffer> {
    const node = this.#node(path);
    if (node.type !== "file") throw failure("EPERM", path);
    return node.content;
  }

  async list(path: string): Promise<readonly string[]> {
    const node = this.#find(path);
    return node?.type === "folder" ? [...node.entries.keys()] : [];
  }

  async readLink(path: string): Promise<string | undefined> {
    const node = this.#find(path);
    return node?.type === "link" ? node.target : undefined;
  }

  async inspect(path: string): ReturnType<Disk["inspect"]> {
    const node = this.#find(path);
    return node && { type: node.type, isOurs: true, mode: node.type === "file" ? node.mode : 0o700 };
  }

  #step(name: string): void {
    if (this.steps.length >= this.#failAt) throw new PowerLossError(name);
    this.steps.push(name);
  }

  #find(path: string): Node | undefined {
    let node: Node | undefined = this.#root;
    for (const name of path.split("/").filter((each) => each !== "")) node = node?.type === "folder" ? node.entries.get(name) : undefined;
    return node;
  }

  #node(path: string): Node {
    const node = this.#find(path);
    if (!node) throw failure("ENOENT", path);
    return node;
  }

  #folderOf(path: string): Folder {
    const node = this.#node(dirname(path));
    if (node.type !== "folder") throw failure("ENOTDIR", path);
    return node;
  }
}
