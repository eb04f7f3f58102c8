// Snapshots on the disk: complete, verified sets of certificates, one of which `current` points to. Written, promoted, removed. Crash-safe.
import { forEachParallel } from "../semaphore.ts";
import { type Disk, isDiskFull } from "./disk.ts";
import type { Manifest } from "./manifest.ts";
import { brokenInWords, findSecret, type Recovery, recoverSnapshots } from "./recovery.ts";
import { flushSecretFolder, type SecretFiles, shareSecretFolder, writeSecretFolder } from "./secret-folder.ts";
import { numberOf, type Snapshot, SnapshotFolder, width } from "./snapshot-folder.ts";

/** A Secret as it was read, with the digest of its content. */
export interface ReadSecret {
  readonly name: string;
  readonly digest: string;
  readonly files: SecretFiles;
}

/** Reads the named Secrets from elsewhere, in any order. May give others too, and the same one twice. */
export type ReadSecrets = (names: ReadonlySet<string>) => AsyncIterable<ReadSecret>;

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
  /** Whose certificates they are. */
  readonly namespace: string;
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

/** What an attempt to promote works on. */
interface Attempt {
  readonly manifest: Manifest;
  readonly before: Before;
  /** The snapshot that is being written. */
  readonly name: string;
  /** It was begun by an attempt before, and some of its Secrets may be there. */
  readonly isResumed: boolean;
}

/**
 * The snapshots in one folder.
 *
 * Guarantees: `current` only ever moves in one step, and only to a snapshot whose every file and manifest is on the disk; a failure, crash or loss of power
 * anywhere leaves it where it was. Only one store at a time may write to a folder.
 */
export class SnapshotStore {
  readonly #folder: SnapshotFolder;
  readonly #namespace: string;
  readonly #shareAbove: number;

  constructor({ disk, folder, namespace, shareAbove }: StoreOptions) {
    this.#folder = new SnapshotFolder(disk, folder);
    this.#namespace = namespace;
    this.#shareAbove = shareAbove;
  }

  /** See `recoverSnapshots`. */
  recover(nowMs: number): Promise<Recovery> {
    return recoverSnapshots(this.#folder, this.#namespace, nowMs);
  }

  /** Compares the promoted snapshot with its manifest. `broken`: Secrets that no snapshot has whole. */
  async check(promoted: Snapshot): Promise<Omit<Recovery, "promoted">> {
    const { name, manifest } = promoted;
    const found = await this.#folder.verify(promoted);
    const damages = found.tidied.map((each) => `generation ${name}: ${each}`);
    const tidiedOnly = damages.length;
    if (found.broken.size > 0) damages.push(brokenInWords(name, found.broken));
    if ((await this.#folder.pointed()) !== name) damages.push(`current does not point to generation ${name}`);
    else if (!(await this.#folder.manifestOf(name))) damages.push(`generation ${name}: its manifest is torn or edited`);
    const among = await this.#folder.names();
    const broken = new Set<string>();
    for (const secret of found.broken) {
      const digest = manifest.secrets[secret]?.digest ?? "";
      if (!(await findSecret(this.#folder, { secret, digest, among }))) broken.add(secret);
    }
    return { isWhole: damages.length === tidiedOnly, broken, damages };
  }

  /**
   * Writes a snapshot and moves `current` to it. Unchanged files are taken from snapshots that are there; `read` gives the others.
   * Rejects with a `ChangedMeanwhileError` if it gives other content than the manifest says, with its error, or with the disk's; `current` is then where it
   * was, and what is written already is used by the next attempt.
   */
  async promote(manifest: Manifest, before: Before, read: ReadSecrets): Promise<Snapshot> {
    const { disk } = this.#folder;
    const attempt = await this.#begin(manifest, before);
    const { name } = attempt;
    try {
      const missing = await this.#takeOver(attempt);
      await this.#write(attempt, missing, read);
      await this.#folder.finish(name, manifest);
      await this.#folder.point(name);
    } catch (error) {
      // On a full disk the half-written snapshot is what fills it. If it cannot be removed now, the next promotion does it.
      if (isDiskFull(error) && (await this.#folder.pointed().catch(() => name)) !== name)
        await disk.remove(this.#folder.pathOf(name)).catch(() => undefined);
      throw error;
    }
    return { name, manifest };
  }

  /** Removes all snapshots but this one and the one before it, also those that are half-written. Only when what is promoted is known to be right. */
  async prune({ name: kept }: Pick<Snapshot, "name">): Promise<void> {
    let before: string | undefined;
    for (const name of (await this.#folder.names()).toReversed()) {
      if (name === kept) continue;
      const isBefore = before === undefined && numberOf(name) < numberOf(kept) && (await this.#folder.isFinished(name));
      if (isBefore) before = name;
      else await this.#folder.disk.remove(this.#folder.pathOf(name));
    }
  }

  /** Goes on with a half-written snapshot if there is one. */
  async #begin(manifest: Manifest, before: Before): Promise<Attempt> {
    const { disk } = this.#folder;
    const name = await this.#folder.nextName(manifest.checksum);
    for (const begun of (await this.#folder.names()).toReversed()) {
      if (await this.#folder.isFinished(begun)) continue;
      await disk.rename(this.#folder.pathOf(begun), this.#folder.pathOf(name));
      await this.#folder.removeStrays(name, Object.keys(manifest.secrets));
      return { manifest, before, name, isResumed: true };
    }
    await disk.makeFolder(this.#folder.pathOf(name));
    return { manifest, before, name, isResumed: false };
  }

  /** Takes over the files that are on the disk already. Returns the Secrets that have to be read. */
  async #takeOver({ manifest, before: { snapshot, isWhole }, name, isResumed }: Attempt): Promise<ReadonlySet<string>> {
    const { disk } = this.#folder;
    const missing = new Set<string>();
    const shared: string[] = [];
    const wanted = Object.entries(manifest.secrets);
    const share = wanted.length > this.#shareAbove;
    const names = (await this.#folder.names()).toReversed();
    const shareFrom = async (from: string, to: string): Promise<void> => {
      // What an attempt before has left.
      if (isResumed) await disk.remove(to);
      await shareSecretFolder(disk, from, to);
      shared.push(to);
    };
    await forEachParallel(wanted, width, async ([secret, { digest }]) => {
      const to = this.#folder.pathOf(name, secret);
      if (isResumed && (await this.#folder.read(name, secret, digest))) return flushSecretFolder(disk, to);
      const isUnchanged = snapshot?.manifest.secrets[secret]?.digest === digest;
      // Shared files are what is served already, and are verified from time to time; reading all of them for each change would take longer than the change.
      if (share && isWhole && isUnchanged) return shareFrom(this.#folder.pathOf(snapshot.name, secret), to);
      const found = isUnchanged ? await findSecret(this.#folder, { secret, digest, among: names }) : undefined;
      if (!found) missing.add(secret);
      else if (share) await shareFrom(found.path, to);
      else await writeSecretFolder(disk, to, found.files);
    });
    // All of them after all: where a file system writes what is new in one go, only the first of these takes time.
    await forEachParallel(shared, width, (path) => disk.flush(path));
    return missing;
  }

  async #write({ manifest, name }: Attempt, missing: ReadonlySet<string>, read: ReadSecrets): Promise<void> {
    if (missing.size === 0) return;
    const awaited = new Set(missing);
    await forEachParallel(read(missing), width, async ({ name: secret, digest, files }) => {
      if (!awaited.delete(secret)) return;
      if (digest !== manifest.secrets[secret]?.digest) throw new ChangedMeanwhileError(`Secret ${secret} changed while it was being promoted`);
      await writeSecretFolder(this.#folder.disk, this.#folder.pathOf(name, secret), files);
    });
    const [gone] = awaited;
    if (gone !== undefined) throw new ChangedMeanwhileError(`Secret ${gone} went away while it was being promoted`);
  }
}
