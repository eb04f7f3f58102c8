// Snapshots on the disk: complete, verified sets of certificates, one of which `current` points to. Crash-safe.
import type { Stamp } from "../controllers/checksum/difference.ts";
import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import { join } from "node:path";
import type { DeepReadonly } from "@keyturn/runtime";
import * as z from "zod";
import { contentDigestOf, servedEntries } from "../controllers/checksum/ids.ts";
import { forEachParallel } from "../semaphore.ts";
import { type Disk, replaceFile } from "./disk.ts";

/** A snapshot that is on the disk. */
export interface Snapshot {
  /** The name of its folder. */
  readonly name: string;
  readonly manifest: Manifest;
}

/** A Secret as it was read, with the digest of its content. */
export interface ReadSecret {
  readonly name: string;
  readonly digest: string;
  readonly files: SecretFiles;
}

/** Reads the named Secrets from elsewhere, in any order. May give others too. */
export type ReadSecrets = (names: ReadonlySet<string>) => AsyncIterable<ReadSecret>;

/** What a look at the disk has found. */
interface Recovery {
  /** What `current` points to now, verified; undefined if nothing on the disk is whole. */
  readonly promoted: Snapshot | undefined;
  /** What was wrong with snapshots that were promoted once, in words. */
  readonly damages: readonly string[];
}

/** What is promoted when another set is. */
interface Before {
  readonly snapshot: Snapshot | undefined;
  /** Whether its files are known to be what its manifest says. If not, each is verified before it is taken over. */
  readonly isWhole: boolean;
}

/** Where snapshots are kept, and how. */
interface StoreOptions {
  readonly disk: Disk;
  /** The agent's folder. */
  readonly folder: string;
  /** Sets of more Secrets than this share unchanged files between snapshots instead of copying them. */
  readonly shareAbove: number;
}

/** A file was not what was asked for: the Secret has changed since, or is gone. */
export class ChangedMeanwhileError extends Error {
  readonly code = "ChangedMeanwhile";
  constructor(message: string) {
    super(message);
    this.name = "ChangedMeanwhileError";
  }
}

const manifestFile = "manifest.json";
const snapshotName = /^\d{1,15}-[0-9a-f]{32}$/;
/** Secrets at a time; Node itself works on four files. */
const width = 8;

/**
 * The snapshots in one folder.
 *
 * Guarantees: `current` only ever moves in one step, and only to a snapshot whose every file and manifest is on the disk; a failure or crash
 * anywhere leaves it where it was. Only one store at a time may write to a folder.
 */
export class SnapshotStore {
  readonly #disk: Disk;
  readonly #folder: string;
  readonly #snapshots: string;
  readonly #shareAbove: number;

  constructor({ disk, folder, shareAbove }: StoreOptions) {
    this.#disk = disk;
    this.#folder = folder;
    this.#snapshots = join(folder, "generations");
    this.#shareAbove = shareAbove;
  }

  /**
   * Verifies what `current` points to. If that is torn or edited, `current` moves to the newest other snapshot that is whole.
   * If nothing is whole, nothing is touched.
   */
  async recover(): Promise<Recovery> {
    const pointed = await this.#pointed();
    const names = (await this.#names()).toReversed();
    const damages: string[] = [];
    for (const name of pointed === undefined ? names : [pointed, ...names.filter((each) => each !== pointed)]) {
      const found = await this.#verify(name);
      if (typeof found !== "string") {
        if (name !== pointed) await this.#point(name);
        return { promoted: { name, manifest: found }, damages };
      }
      // A snapshot that nothing ever pointed to was not damaged but never finished.
      if (name === pointed) damages.push(`generation ${name}: ${found}`);
    }
    return { promoted: undefined, damages };
  }

  /** Why the promoted snapshot is not what it should be; undefined if it is. */
  async damageOf({ name }: Snapshot): Promise<string | undefined> {
    if ((await this.#pointed()) !== name) return `current does not point to generation ${name}`;
    const found = await this.#verify(name);
    return typeof found === "string" ? `generation ${name}: ${found}` : undefined;
  }

  /**
   * Writes a snapshot and moves `current` to it. Unchanged files are taken from the snapshot before; `read` gives the others.
   * Rejects with a `ChangedMeanwhileError` if it gives other content than the manifest says, or with the disk's error; `current` is then where it was.
   */
  async promote(manifest: Manifest, before: Before, read: ReadSecrets): Promise<Snapshot> {
    const number = numberOf((await this.#names()).at(-1) ?? "0") + 1;
    const name = `${number}-${manifest.checksum}`;
    const path = join(this.#snapshots, name);
    try {
      await this.#disk.makeFolder(path);
      const missing = await this.#takeOver(manifest, before, path);
      await this.#write(manifest, path, { missing, read });
      await this.#disk.writeNew(join(path, manifestFile), renderManifest(manifest), 0o600);
      await this.#disk.flushFolder(path);
      await this.#disk.flushFolder(this.#snapshots);
      await this.#point(name);
    } catch (error) {
      // On a full disk the half-written snapshot is what fills it. If it cannot be removed now, the next start does it.
      if ((await this.#pointed().catch(() => name)) !== name) await this.#disk.remove(path).catch(() => undefined);
      throw error;
    }
    return { name, manifest };
  }

  /** Removes all snapshots but this one and the one before it, also those that a crash has left half-written. */
  async prune({ name: kept }: Pick<Snapshot, "name">): Promise<void> {
    let before: string | undefined;
    for (const name of (await this.#names()).toReversed()) {
      if (name === kept) continue;
      const path = join(this.#snapshots, name);
      const isFinished = (await this.#disk.list(path)).includes(manifestFile);
      if (before === undefined && isFinished && numberOf(name) < numberOf(kept)) before = name;
      else await this.#disk.remove(path);
    }
  }

  /** Takes unchanged files from the snapshot before. Returns the Secrets that have to be read, because they changed or their files were damaged. */
  async #takeOver({ secrets }: Manifest, { snapshot, isWhole }: Before, path: string): Promise<ReadonlySet<string>> {
    const missing = new Set<string>();
    const wanted = Object.entries(secrets);
    const share = wanted.length > this.#shareAbove;
    await forEachParallel(wanted, width, async ([name, { digest }]) => {
      if (snapshot?.manifest.secrets[name]?.digest !== digest) return void missing.add(name);
      const from = join(this.#snapshots, snapshot.name, name);
      const to = join(path, name);
      // Shared files are what is served already, and are verified from time to time; reading all of them for each change would take longer than the change.
      if (share && isWhole) return shareSecretFolder(this.#disk, from, to);
      const files = await readSecretFolder(this.#disk, from, digest);
      if (!files) missing.add(name);
      else if (share) await shareSecretFolder(this.#disk, from, to);
      else await writeSecretFolder(this.#disk, to, files);
    });
    return missing;
  }

  async #write({ secrets }: Manifest, path: string, { missing, read }: { missing: ReadonlySet<string>; read: ReadSecrets }): Promise<void> {
    if (missing.size === 0) return;
    const awaited = new Set(missing);
    await forEachParallel(read(missing), width, async ({ name, digest, files }) => {
      if (!awaited.delete(name)) return;
      if (digest !== secrets[name]?.digest) throw new ChangedMeanwhileError(`Secret ${name} changed while it was being promoted`);
      await writeSecretFolder(this.#disk, join(path, name), files);
    });
    const [gone] = awaited;
    if (gone !== undefined) throw new ChangedMeanwhileError(`Secret ${gone} went away while it was being promoted`);
  }

  async #point(name: string): Promise<void> {
    const temporary = join(this.#folder, "current.new");
    // What a crash has left behind.
    await this.#disk.remove(temporary);
    await this.#disk.symlink(join("generations", name), temporary);
    await this.#disk.rename(temporary, join(this.#folder, "current"));
    await this.#disk.flushFolder(this.#folder);
  }

  /** The snapshot's manifest, or what is wrong with it. */
  async #verify(name: string): Promise<Manifest | string> {
    const path = join(this.#snapshots, name);
    const text = await this.#disk.read(join(path, manifestFile)).catch(() => undefined);
    if (!text) return "it has no manifest that can be read";
    const manifest = readManifest(text.toString());
    if (!manifest) return "its manifest is torn or edited";
    const extra = (await this.#disk.list(path)).find((each) => each !== manifestFile && !Object.hasOwn(manifest.secrets, each));
    if (extra !== undefined) return `${extra} does not belong there`;
    const wrong: string[] = [];
    await forEachParallel(Object.entries(manifest.secrets), width, async ([secret, { digest }]) => {
      if (!(await readSecretFolder(this.#disk, join(path, secret), digest))) wrong.push(secret);
    });
    return wrong.length === 0 ? manifest : `the files of ${wrong.length} Secrets are missing, torn or edited, such as ${wrong.toSorted()[0]}`;
  }

  async #pointed(): Promise<string | undefined> {
    const target = await this.#disk.readLink(join(this.#folder, "current"));
    return target?.startsWith("generations/") ? target.slice("generations/".length) : undefined;
  }

  /** All snapshots, the oldest first. */
  async #names(): Promise<readonly string[]> {
    const names = await this.#disk.list(this.#snapshots);
    return names.filter((name) => snapshotName.test(name)).toSorted((a, b) => numberOf(a) - numberOf(b));
  }
}

function numberOf(name: string): number {
  return Number.parseInt(name, 10);
}

// What a snapshot consists of, written beside it: by it, what is on the disk is compared with what should be.

const secretEntry = z.object({
  /** The id under which the checksum counts it. */
  id: z.string(),
  /** SHA-256 over all its files, as checksums have it. */
  digest: z.string(),
  /** When the certificate begins and ends to hold, in milliseconds since the epoch; absent if there is none. */
  notBeforeMs: z.number().optional(),
  notAfterMs: z.number().optional(),
});

/** How new a checksum object is. */
const stampSchema = z.object({
  /** Of `spec.timestamp`, in milliseconds since the epoch. */
  timestampMs: z.number(),
  /** Of the object's creation. */
  createdMs: z.number(),
});

const manifestSchema = z.object({
  version: z.literal(1),
  namespace: z.string(),
  /** The MD5 of the set. */
  checksum: z.string(),
  /** The checksum object that it matched; absent if a policy allowed it without one. */
  matched: z.string().optional(),
  /** How new the newest checksum object is that any snapshot up to this one has matched. */
  stamp: stampSchema.optional(),
  promotedAtMs: z.number(),
  /** By name. */
  secrets: z.record(z.string(), secretEntry),
});

/** What is known of one promoted Secret. */
export type SecretEntry = DeepReadonly<z.infer<typeof secretEntry>>;
export type Manifest = DeepReadonly<z.infer<typeof manifestSchema>>;

const wrapper = /^\{"sha256":"([0-9a-f]{64})","manifest":(.*)\}\n$/s;

/** A manifest as a file, with a digest of itself. */
export function renderManifest(manifest: Manifest): string {
  const body = JSON.stringify(manifest);
  return `{"sha256":"${hash("sha256", body)}","manifest":${body}}\n`;
}

/** The inverse; undefined for a file that was cut off or changed. */
export function readManifest(text: string): Manifest | undefined {
  const [, digest, body = ""] = wrapper.exec(text) ?? [];
  if (digest === undefined || hash("sha256", body) !== digest) return undefined;
  const manifest = manifestSchema.safeParse(JSON.parse(body));
  return manifest.success ? manifest.data : undefined;
}

// One Secret's files in a snapshot: written, copied, shared and verified.

/** A Secret's files by name, such as `tls.crt`: what checksums cover, and nothing else. */
export type SecretFiles = Readonly<Record<string, Uint8Array>>;

/** The files that a Secret's `data` (base64) makes. */
export function filesOf(data: Readonly<Record<string, string>>): SecretFiles {
  return Object.fromEntries(servedEntries.flatMap((name) => (data[name] === undefined ? [] : [[name, Buffer.from(data[name], "base64")]])));
}

/** The digest of files, by the same rule as that of the Secret they came from. */
export function digestOfFiles(files: SecretFiles): string {
  return contentDigestOf(Object.fromEntries(Object.entries(files).map(([name, content]) => [name, Buffer.from(content).toString("base64")])));
}

/** The files in a folder if they are what the digest says; undefined if any is missing, torn, edited, unreadable or too many. */
async function readSecretFolder(disk: Disk, path: string, digest: string): Promise<SecretFiles | undefined> {
  try {
    const names = await disk.list(path);
    if (names.some((name) => !servedEntries.some((served) => served === name))) return undefined;
    const files: Record<string, Uint8Array> = {};
    for (const name of names) files[name] = await disk.read(join(path, name));
    return digestOfFiles(files) === digest ? files : undefined;
  } catch {
    // Whatever hinders reading: these files are of no use, and there may be others that are.
    return undefined;
  }
}

/** Writes files into a new folder. Only the owner can read the private key. */
async function writeSecretFolder(disk: Disk, path: string, files: SecretFiles): Promise<void> {
  await disk.makeFolder(path);
  for (const [name, content] of Object.entries(files)) await disk.writeNew(join(path, name), content, name === "tls.key" ? 0o600 : 0o644);
  await disk.flushFolder(path);
}

/** Makes a new folder that shares the files of another. They are on the disk already; should the new names be lost in a crash, the manifest shows it. */
async function shareSecretFolder(disk: Disk, from: string, to: string): Promise<void> {
  await disk.makeFolder(to);
  for (const name of await disk.list(from)) await disk.link(join(from, name), join(to, name));
}

// What the agent remembers across restarts besides the snapshots themselves.

const schema = z.object({
  /** How new the newest checksum object is that was ever matched. */
  stamp: stampSchema.optional(),
  /** When what is served was last known to be what should be. */
  verifiedAtMs: z.number().optional(),
  /** The snapshot for which the command or signal succeeded. */
  notified: z.string().optional(),
});

/** All optional: losing the file costs a repeated command and some precision, and nothing else. */
export interface AgentMemory {
  readonly stamp?: Stamp | undefined;
  readonly verifiedAtMs?: number | undefined;
  readonly notified?: string | undefined;
}

const pathIn = (folder: string): string => join(folder, "state.json");

/** What was remembered; nothing if there is no file, or none that can be read. */
export async function readMemory(disk: Disk, folder: string): Promise<AgentMemory> {
  try {
    return schema.parse(JSON.parse((await disk.read(pathIn(folder))).toString()));
  } catch {
    // See AgentMemory: there is nothing in it worth stopping for.
    return {};
  }
}

/** Remembers. Rejects with the disk's error; the old memory is then still there. */
export async function writeMemory(disk: Disk, folder: string, memory: AgentMemory): Promise<void> {
  await replaceFile(disk, pathIn(folder), { content: `${JSON.stringify(memory)}\n`, mode: 0o600 });
}
