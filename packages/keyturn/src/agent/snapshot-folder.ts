// The agent's folder as it is laid out: snapshots below `generations`, and `current`, which points to one of them. Crash-safe steps, no decisions.
import { dirname, join } from "node:path";
import { messageOf } from "@keyturn/runtime";
import { forEachParallel } from "../semaphore.ts";
import type { Disk } from "./disk.ts";
import { type Manifest, readManifest, renderManifest } from "./manifest.ts";
import { readSecretFolder, type SecretFiles, tidySecretFolder } from "./secret-folder.ts";

/** A snapshot that is on the disk. */
export interface Snapshot {
  /** The name of its folder. */
  readonly name: string;
  readonly manifest: Manifest;
}

/** How a snapshot compares with its manifest. */
interface Verification {
  /** Secrets whose files are missing, torn, edited or somebody else's. */
  readonly broken: ReadonlySet<string>;
  /** What was put right in place, in words. */
  readonly tidied: readonly string[];
}

const manifestFile = "manifest.json";
const snapshotName = /^\d{1,15}-[0-9a-f]{32}$/;
const highestNumber = 999_999_999_999_999;

/** Secrets at a time; Node itself works on four files. */
export const width = 8;

/** Only one at a time may write to a folder. */
export class SnapshotFolder {
  readonly disk: Disk;
  /** The agent's folder. */
  readonly #folder: string;
  readonly #snapshots: string;

  constructor(disk: Disk, folder: string) {
    this.disk = disk;
    this.#folder = folder;
    this.#snapshots = join(folder, "generations");
  }

  /** Throws for names that would lead out of the snapshot: an API server that was taken over can call a Secret anything. */
  pathOf(snapshot: string, ...names: readonly string[]): string {
    const outside = names.find((name) => name.split("/").some((part) => part === "." || part === ".." || part.includes("\0")));
    if (outside !== undefined) throw new Error(`${JSON.stringify(outside.slice(0, 300))} is no name of a Secret`);
    return join(this.#snapshots, snapshot, ...names);
  }

  /** All snapshots, the one with the lowest number first. Links, and what belongs to somebody else, are none. */
  async names(): Promise<readonly string[]> {
    const names: string[] = [];
    for (const name of await this.disk.list(this.#snapshots)) {
      if (snapshotName.test(name) && (await this.#isOwnFolder(this.pathOf(name)))) names.push(name);
    }
    return names.toSorted((a, b) => numberOf(a) - numberOf(b));
  }

  /** A name for one more. */
  async nextName(checksum: string): Promise<string> {
    const taken = new Set((await this.disk.list(this.#snapshots)).filter((name) => snapshotName.test(name)).map(numberOf));
    const next = Math.max(0, ...taken) + 1;
    if (next <= highestNumber) return `${next}-${checksum}`;
    // Somebody copied a snapshot under a number after which there is none.
    let free = 1;
    while (taken.has(free)) free++;
    return `${free}-${checksum}`;
  }

  /** What `current` points to. */
  async pointed(): Promise<string | undefined> {
    const target = await this.disk.readLink(join(this.#folder, "current"));
    const name = target?.startsWith("generations/") ? target.slice("generations/".length) : undefined;
    return name !== undefined && snapshotName.test(name) ? name : undefined;
  }

  /** Moves `current` in one step. Everything that the snapshot consists of must be on the disk. */
  async point(name: string): Promise<void> {
    const temporary = join(this.#folder, "current.new");
    // What a crash has left behind.
    await this.disk.remove(temporary);
    await this.disk.symlink(join("generations", name), temporary);
    await this.disk.rename(temporary, join(this.#folder, "current"));
    await this.disk.flush(this.#folder);
  }

  /** Makes a snapshot of `current` if that is a folder, as after a restore by `cp -rL`. */
  async takeInCurrent(): Promise<string | undefined> {
    const current = join(this.#folder, "current");
    const found = await this.disk.inspect(current);
    if (found?.type !== "folder") return undefined;
    const manifest = await this.#readManifest(join(current, manifestFile));
    const name = await this.nextName(manifest?.checksum ?? "0".repeat(32));
    await this.disk.makeFolder(this.#snapshots);
    await this.disk.rename(current, this.pathOf(name));
    await this.disk.flush(this.#snapshots);
    await this.disk.flush(this.#folder);
    return name;
  }

  /** What a snapshot says about itself; undefined if it is half-written, or its manifest is torn, edited, or another's. */
  async manifestOf(name: string): Promise<Manifest | undefined> {
    const manifest = await this.#readManifest(this.pathOf(name, manifestFile));
    return manifest && name.endsWith(`-${manifest.checksum}`) ? manifest : undefined;
  }

  /** True if a snapshot was finished once, whatever has become of it. */
  async isFinished(name: string): Promise<boolean> {
    return (await this.disk.inspect(this.pathOf(name, manifestFile))) !== undefined;
  }

  /** Finishes a snapshot whose Secrets are written: the manifest comes last, and all names are on the disk before anything points here. */
  async finish(name: string, manifest: Manifest): Promise<void> {
    const folders = new Set(Object.keys(manifest.secrets).map((secret) => dirname(secret)));
    for (const folder of folders) if (folder !== ".") await this.disk.flush(this.pathOf(name, folder));
    await this.disk.writeNew(this.pathOf(name, manifestFile), renderManifest(manifest), 0o600);
    await this.disk.flush(this.pathOf(name));
    await this.disk.flush(this.#snapshots);
    await this.disk.flush(this.#folder);
  }

  /** Compares every file with the manifest, and removes what does not belong there. On a disk that cannot be written to, all that is said. */
  async verify({ name, manifest }: Snapshot): Promise<Verification> {
    const broken = new Set<string>();
    const tidied: string[] = [];
    const tidy = async (work: () => Promise<readonly string[]>): Promise<void> => {
      const done = await work().catch((error: unknown) => [`what does not belong there cannot be put right: ${messageOf(error)}`]);
      tidied.push(...done);
    };
    await tidy(async () => {
      const strays = await this.removeStrays(name, Object.keys(manifest.secrets));
      return strays.map((stray) => `${stray} did not belong there and was removed`);
    });
    await forEachParallel(Object.entries(manifest.secrets), width, async ([secret, { digest }]) => {
      if (!(await this.read(name, secret, digest))) broken.add(secret);
      else await tidy(() => tidySecretFolder(this.disk, this.pathOf(name, secret), secret));
    });
    return { broken, tidied };
  }

  /** A Secret's files in a snapshot if they are what the digest says; undefined otherwise, or if the way there leads through a link or what is somebody else's. */
  async read(name: string, secret: string, digest: string): Promise<SecretFiles | undefined> {
    const above = dirname(secret);
    if (above !== "." && !(await this.#isOwnFolder(this.pathOf(name, above)))) return undefined;
    return readSecretFolder(this.disk, this.pathOf(name, secret), digest);
  }

  /** Removes what a snapshot should not have, and resolves to the names. Afterwards no path in it leads through a link. */
  async removeStrays(name: string, secrets: readonly string[]): Promise<readonly string[]> {
    const expected = new Map([["", new Set([manifestFile])]]);
    for (const secret of secrets) {
      const [first = "", second] = secret.split("/");
      expected.get("")?.add(first);
      if (second !== undefined) expected.set(first, (expected.get(first) ?? new Set()).add(second));
    }
    const strays: string[] = [];
    for (const [folder, names] of expected) {
      const path = this.pathOf(name, folder);
      if (!(await this.#isOwnFolder(path))) {
        if (await this.disk.inspect(path)) strays.push(folder);
        continue;
      }
      const found = (await this.disk.list(path)).filter((each) => !names.has(each));
      strays.push(...found.map((each) => join(folder, each)));
    }
    for (const stray of strays) await this.disk.remove(this.pathOf(name, stray));
    return strays;
  }

  async #isOwnFolder(path: string): Promise<boolean> {
    const found = await this.disk.inspect(path);
    return found?.type === "folder" && found.isOurs;
  }

  async #readManifest(path: string): Promise<Manifest | undefined> {
    const text = await this.disk.read(path).catch(() => undefined);
    return text && readManifest(text.toString());
  }
}

export function numberOf(name: string): number {
  return Number.parseInt(name, 10);
}
