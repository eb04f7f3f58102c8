// What the disk has to offer after a restart or damage, with or without an API server: the set that counts is found by what it says about itself, and mended
// Secret by Secret from whatever other snapshot has it.
import { Buffer } from "node:buffer";
import { messageOf } from "@keyturn/runtime";
import { leafFingerprintOf, leafOf, validityDatesOf } from "../certificate.ts";
import { compareStamps } from "../controllers/checksum/difference.ts";
import type { Manifest, SecretEntry } from "./manifest.ts";
import { digestOfFiles, readAnySecretFolder, type SecretFiles, writeSecretFolder } from "./secret-folder.ts";
import { numberOf, type Snapshot, type SnapshotFolder } from "./snapshot-folder.ts";
import { holds } from "./target-set.ts";

/** What a look at the disk has found. */
export interface Recovery {
  /** What `current` points to now; undefined if there is nothing on the disk that could be served. */
  readonly promoted: Snapshot | undefined;
  /** Whether what is promoted is exactly what its manifest says. */
  readonly isWhole: boolean;
  /** Its Secrets of which nothing whole is on the disk. */
  readonly broken: ReadonlySet<string>;
  /** What was wrong, in words. */
  readonly damages: readonly string[];
}

/**
 * Verifies what `current` points to, and has it point to something again if it does not.
 *
 * Guarantees: a Secret that is whole stays exactly as it is. One that is not gets the same files from another snapshot, or else older ones that hold at
 * `nowMs`. Nothing is removed but what never belonged there; if nothing can be mended, `current` stays where it is. A disk that can be read and not written to
 * is known all the same: whoever forgot what is served would take anything for newer.
 */
export async function recoverSnapshots(folder: SnapshotFolder, namespace: string, nowMs: number): Promise<Recovery> {
  const damages: string[] = [];
  const tried = <T>(work: Promise<T>): Promise<T | undefined> =>
    work.catch((error: unknown) => {
      damages.push(`it cannot be mended: ${messageOf(error)}`);
      return undefined;
    });
  const taken = await tried(folder.takeInCurrent());
  if (taken !== undefined) damages.push(`current was a folder; it is generation ${taken} now`);
  const snapshots = await readSnapshots(folder);
  const pointed = taken ?? (await folder.pointed());
  const base = (await readPointed(folder, pointed, { snapshots, namespace, damages })) ?? snapshots[0];
  if (base?.name !== pointed && pointed !== undefined) damages.push(`generation ${pointed} is gone`);
  if (!base) return { promoted: undefined, isWhole: true, broken: new Set(), damages };
  // What has no manifest was just read, and says itself what belongs to it.
  if (!snapshots.includes(base)) return { promoted: base, isWhole: false, broken: new Set(), damages };
  const { broken, tidied } = await folder.verify(base);
  damages.push(...tidied.map((each) => `generation ${base.name}: ${each}`));
  if (broken.size > 0) {
    damages.push(brokenInWords(base.name, broken));
    const replacements = await findReplacements(folder, { base, broken, snapshots, nowMs });
    const mended = replacements.size > 0 ? await tried(mend(folder, base, replacements)) : undefined;
    const lost = (isThere: (secret: string) => boolean): ReadonlySet<string> => new Set([...broken].filter((secret) => !isThere(secret)));
    if (mended) {
      const left = lost((secret) => replacements.has(secret));
      return { promoted: mended, isWhole: left.size === 0, broken: left, damages };
    }
    const isElsewhere = (secret: string): boolean => replacements.get(secret)?.entry === base.manifest.secrets[secret];
    await tried(pointTo(folder, base));
    return { promoted: base, isWhole: false, broken: lost(isElsewhere), damages };
  }
  await tried(pointTo(folder, base));
  return { promoted: base, isWhole: true, broken, damages };
}

async function pointTo(folder: SnapshotFolder, { name }: Snapshot): Promise<void> {
  if (name !== (await folder.pointed())) await folder.point(name);
}

/** Secrets with files that are not what they should be. */
export function brokenInWords(name: string, broken: ReadonlySet<string>): string {
  return `generation ${name}: the files of ${broken.size} Secrets are missing, torn or edited, such as ${[...broken].toSorted()[0]}`;
}

/** A Secret's files in any of these snapshots. */
export async function findSecret(
  folder: SnapshotFolder,
  { secret, digest, among }: { readonly secret: string; readonly digest: string; readonly among: readonly string[] },
): Promise<{ readonly path: string; readonly files: SecretFiles } | undefined> {
  for (const name of among) {
    const files = await folder.read(name, secret, digest);
    if (files) return { path: folder.pathOf(name, secret), files };
  }
  return undefined;
}

/** All finished snapshots, the newest first by what they say about themselves: a name can be anything after a restore. */
async function readSnapshots(folder: SnapshotFolder): Promise<readonly Snapshot[]> {
  const snapshots: Snapshot[] = [];
  for (const name of await folder.names()) {
    const manifest = await folder.manifestOf(name);
    if (manifest) snapshots.push({ name, manifest });
  }
  return snapshots.toSorted(newerFirst);
}

function newerFirst({ name: leftName, manifest: left }: Snapshot, { name: rightName, manifest: right }: Snapshot): number {
  const none = { timestampMs: 0, createdMs: 0 };
  return compareStamps(right.stamp ?? none, left.stamp ?? none) || right.promotedAtMs - left.promotedAtMs || numberOf(rightName) - numberOf(leftName);
}

/** What `current` points to. If its manifest cannot be read, one is made from the files that are there: they are what is served. */
async function readPointed(
  folder: SnapshotFolder,
  pointed: string | undefined,
  { snapshots, namespace, damages }: { readonly snapshots: readonly Snapshot[]; readonly namespace: string; readonly damages: string[] },
): Promise<Snapshot | undefined> {
  const known = snapshots.find(({ name }) => name === pointed);
  if (known || pointed === undefined || !(await folder.names()).includes(pointed)) return known;
  const secrets = await salvage(folder, pointed, snapshots);
  if (Object.keys(secrets).length === 0) return undefined;
  damages.push(`generation ${pointed}: its manifest is gone, torn or edited; its files stay as they are until they can be verified`);
  const [newest] = snapshots;
  const checksum = pointed.slice(pointed.indexOf("-") + 1);
  const { stamp, givenUp, confirmedMs } = newest?.manifest ?? {};
  const manifest: Manifest = {
    version: 1,
    namespace: newest?.manifest.namespace ?? namespace,
    checksum,
    ...(stamp && { stamp }),
    // No word that was followed before is forgotten with the manifest.
    ...(givenUp && { givenUp }),
    ...(confirmedMs !== undefined && { confirmedMs }),
    promotedAtMs: newest?.manifest.promotedAtMs ?? 0,
    secrets,
  };
  return { name: pointed, manifest };
}

/** The Secrets in a snapshot without a manifest, as far as certificate and key belong together. */
async function salvage(folder: SnapshotFolder, name: string, snapshots: readonly Snapshot[]): Promise<Readonly<Record<string, SecretEntry>>> {
  const known = new Map(snapshots.flatMap(({ manifest }) => Object.values(manifest.secrets).map((entry) => [entry.digest, entry] as const)));
  const found: Record<string, SecretEntry> = {};
  for (const secret of await secretsIn(folder, name)) {
    const files = await readAnySecretFolder(folder.disk, folder.pathOf(name, secret));
    const entry = files && (known.get(digestOfFiles(files)) ?? entryFrom(files));
    if (entry) found[secret] = entry;
  }
  return found;
}

/** Secrets have folders of their own, or, with several namespaces, within one of the namespace. */
async function secretsIn(folder: SnapshotFolder, name: string): Promise<readonly string[]> {
  const secrets: string[] = [];
  for (const first of await foldersIn(folder, name)) {
    const within = await foldersIn(folder, name, first);
    if (within.length === 0) secrets.push(first);
    else secrets.push(...within.map((second) => `${first}/${second}`));
  }
  return secrets;
}

async function foldersIn(folder: SnapshotFolder, ...names: readonly [string, ...string[]]): Promise<readonly string[]> {
  const [name, ...within] = names;
  const folders: string[] = [];
  for (const each of await folder.disk.list(folder.pathOf(name, ...within))) {
    if ((await folder.disk.inspect(folder.pathOf(name, ...within, each)))?.type === "folder") folders.push(each);
  }
  return folders;
}

/** What files say about themselves. Their version is in no file, so that the id is not known. */
function entryFrom(files: SecretFiles): SecretEntry | undefined {
  const text = (name: string): string | undefined => files[name] && Buffer.from(files[name]).toString("base64");
  const certificate = text("tls.crt");
  if (certificate === undefined || !leafFingerprintOf(certificate, text("tls.key")).ok) return undefined;
  const leaf = leafOf(certificate);
  return { id: "", digest: digestOfFiles(files), ...(leaf && validityDatesOf(leaf)) };
}

/** What takes the place of a Secret's files. */
type Replacements = ReadonlyMap<string, { readonly entry: SecretEntry; readonly files: SecretFiles }>;

/** What other snapshots have of broken Secrets. */
async function findReplacements(
  folder: SnapshotFolder,
  {
    base,
    broken,
    snapshots,
    nowMs,
  }: { readonly base: Snapshot; readonly broken: ReadonlySet<string>; readonly snapshots: readonly Snapshot[]; readonly nowMs: number },
): Promise<Replacements> {
  const among = (await folder.names()).toReversed();
  const replacements = new Map<string, { readonly entry: SecretEntry; readonly files: SecretFiles }>();
  for (const secret of broken) {
    const same = base.manifest.secrets[secret];
    const older = snapshots.flatMap(({ manifest }) => manifest.secrets[secret] ?? []).filter((entry) => holds(entry, nowMs));
    for (const entry of [...(same ? [same] : []), ...older]) {
      const found = await findSecret(folder, { secret, digest: entry.digest, among });
      if (!found) continue;
      replacements.set(secret, { entry, files: found.files });
      break;
    }
  }
  return replacements;
}

/** Writes a snapshot in which broken Secrets are replaced, and has `current` point to it. Nothing half-written stays. */
async function mend(folder: SnapshotFolder, base: Snapshot, replacements: Replacements): Promise<Snapshot> {
  const name = await folder.nextName(base.manifest.checksum);
  const secrets: Record<string, SecretEntry> = {};
  try {
    await folder.disk.makeFolder(folder.pathOf(name));
    for (const [secret, entry] of Object.entries(base.manifest.secrets)) {
      const files = replacements.get(secret)?.files ?? (await folder.read(base.name, secret, entry.digest));
      if (!files) continue;
      await writeSecretFolder(folder.disk, folder.pathOf(name, secret), files);
      secrets[secret] = replacements.get(secret)?.entry ?? entry;
    }
    const manifest = { ...base.manifest, secrets };
    await folder.finish(name, manifest);
    await folder.point(name);
    return { name, manifest };
  } catch (error) {
    // On a full disk it would fill what is left of it, again with each try.
    if ((await folder.pointed().catch(() => name)) !== name) await folder.disk.remove(folder.pathOf(name)).catch(() => undefined);
    throw error;
  }
}
