// Targets that take a version only when its key has been published for long enough: which key a version has, and what the JWKSConfig that such a target names says of it.
import { isRecord, keyOf, type ObjectKey, resourceOf, Secret } from "@keyturn/runtime";
import { jwksConfigKind, type KeyPublisher, type NamedKey, type Publication, publicationOf } from "../../key-publication.ts";
import {
  certificateKeyId,
  keepCertificateSecret,
  readCertificateChain,
  keyMembersOf,
  keyUseOf,
  readPublicKey,
  thumbprintOf,
} from "../../public-key.ts";
import { type Commit, heldBy, readableContent, recordName, type VersionContent } from "./history.ts";
import type { ObserveOptions, SetObservation, SourceObservation, TargetObservation } from "./observe.ts";
import type { Version } from "./rules.ts";
import type { Rank } from "./shape.ts";

/** What a target waits for, as it was observed. */
export interface PublishBefore {
  /** The JWKSConfig that has to publish a key before the target gets it. */
  readonly config: string;
  /** By the digest of a version's content. What is not here is not known yet. */
  readonly publications: ReadonlyMap<string, Publication>;
}

/** The key of a version; a text says why it has none that could be published. */
export type VersionKey = NamedKey | string;

/** The key that whoever gets this version signs with, as far as it shows. A Secret whose halves do not belong together is published by nobody. */
export function versionKeyOf(resource: string, content: Readonly<Record<string, unknown>>): VersionKey {
  if (resource !== resourceOf(Secret)) return "only the keys of Secrets are published";
  const data = isRecord(content["data"]) ? content["data"] : {};
  const texts = Object.fromEntries(Object.entries(data).filter((entry): entry is [string, string] => typeof entry[1] === "string"));
  const secret = keepCertificateSecret({ data: texts });
  if (secret.type === "empty") return "it has no certificate and no public key";
  if (secret.type === "tooLarge") return `its ${secret.entry} is larger than any that is read`;
  if (secret.type === "publicKey") {
    const publicKey = readPublicKey(secret.spki);
    const members = publicKey && keyMembersOf(publicKey);
    if (!members) return "its public key cannot be read";
    const use = keyUseOf(publicKey);
    return "unsupported" in use ? use.unsupported : { thumbprint: thumbprintOf(members), certificateKeyId: undefined };
  }
  const chain = readCertificateChain(secret.pem.certificates);
  if (!chain) return `its ${secret.entry} cannot be read`;
  if (secret.privateKey === "differs") return "its certificate is for another key than tls.key";
  const use = keyUseOf(chain.publicKey);
  return "unsupported" in use ? use.unsupported : { thumbprint: chain.thumbprint, certificateKeyId: certificateKeyId(chain) };
}

/** What there is to look at. */
interface Looking extends Pick<ObserveOptions, "watches" | "memory" | "run"> {
  readonly key: ObjectKey;
  readonly namespace: string;
  readonly set: string;
  readonly sources: readonly SourceObservation[];
  readonly records: SetObservation["records"];
  /** By the uid of the source. */
  readonly contents: ReadonlyMap<string, VersionContent>;
}

/** The targets with what is known of the keys that they wait for. */
export async function withPublications(targets: readonly TargetObservation[], looking: Looking): Promise<readonly TargetObservation[]> {
  if (!targets.some(({ publishBefore }) => publishBefore)) return targets;
  const keys = await versionKeys(looking);
  return targets.map((target) => {
    const { publishBefore } = target;
    if (!publishBefore) return target;
    const { config } = publishBefore;
    const publisher = publisherOf(config, looking);
    const publications = new Map(
      [...keys].map(([digest, key]) => [
        digest,
        typeof key === "string"
          ? { message: `it cannot be published: ${key}`, isLasting: true }
          : typeof publisher === "string"
            ? { message: publisher, isLasting: true }
            : publicationOf(key, config, publisher),
      ]),
    );
    return { ...target, publishBefore: { config, publications } };
  });
}

/** A text says why nobody can know. */
function publisherOf(config: string, { watches: { publishers }, namespace }: Looking): KeyPublisher | undefined | string {
  if (!publishers) return `the API server has no ${jwksConfigKind.plural}, or does not let them be read`;
  return publishers.get(keyOf({ namespace, name: config }));
}

/** By the digest of their content, the keys of all versions that are at hand. Contents are read once, and only their keys are remembered. */
async function versionKeys({ set, namespace, sources, records, contents, memory, run }: Looking): Promise<ReadonlyMap<string, VersionKey>> {
  const keys = new Map<string, VersionKey>();
  const note = (digest: string, key: VersionKey): void => {
    memory.keys.set(digest, key);
    keys.set(digest, key);
  };
  for (const { uid, resource, content } of sources) {
    const read = contents.get(uid);
    if (content.ok && read) note(content.digest, versionKeyOf(resource, read.content));
  }
  for (const { seq, digest, resource } of records) {
    if (keys.has(digest)) continue;
    const known = memory.keys.get(digest);
    const record = known === undefined ? await run.client.get(Secret, { namespace, name: recordName(set, seq) }, run.signal) : undefined;
    const version = record && readableContent(record);
    if (known !== undefined) keys.set(digest, known);
    else if (version) note(digest, versionKeyOf(resource, version.content));
  }
  for (const { content } of sources) {
    const known = content.ok ? memory.keys.get(content.digest) : undefined;
    if (content.ok && known !== undefined) keys.set(content.digest, known);
  }
  return keys;
}

/** From when on a target may take a version; infinity if nobody knows. */
export function publishedFromMs({ publishBefore }: Pick<TargetObservation, "publishBefore">, { digest }: { readonly digest: string }): number {
  const publication = publishBefore?.publications.get(digest);
  if (!publishBefore) return 0;
  return publication && "fromMs" in publication ? publication.fromMs : Number.POSITIVE_INFINITY;
}

/** Why a target does not take a version that is due. */
export interface Unpublished {
  readonly seq: number;
  readonly message: string;
  /** Somebody has to do something. */
  readonly isLasting: boolean;
  /** When it may be taken, if that is known. */
  readonly fromMs?: number;
}

/** What is not published within this time of being seen is not going to be by itself. */
const patienceMs = 60_000;

/** The ranks as if their targets waited for no publication; undefined if none does. */
export function withoutPublication(ranks: readonly Rank[]): readonly Rank[] | undefined {
  if (!ranks.some(({ members }) => members.some(({ publishBefore }) => publishBefore))) return undefined;
  return ranks.map((rank) => ({ ...rank, members: rank.members.map(withoutWaiting) }));
}

function withoutWaiting(target: TargetObservation): TargetObservation {
  const { publishBefore: _, ...rest } = target;
  return rest;
}

/** The version that a target would have, and why it does not; `free` are the commits as they would be if nobody waited for a publication. */
export function unpublishedOf(
  { name, publishBefore }: TargetObservation,
  {
    commits,
    free,
    versions,
    nowMs,
  }: { readonly commits: readonly Commit[]; readonly free: readonly Commit[]; readonly versions: readonly Version[]; readonly nowMs: number },
): Unpublished | undefined {
  const wanted = heldBy(name, free);
  const version = wanted && versions.find((each) => each.seq === wanted.seq);
  if (!publishBefore || !version || heldBy(name, commits)?.seq === wanted.seq) return undefined;
  const { seq, digest, seenAtMs } = version;
  const publication = publishBefore.publications.get(digest) ?? { message: "its content is not known yet", isLasting: false };
  if ("fromMs" in publication) {
    const { fromMs } = publication;
    const message = `JWKSConfig ${publishBefore.config} has published its key, and caches may be without it until ${new Date(fromMs).toISOString()}`;
    return { seq, message, isLasting: false, fromMs };
  }
  return { seq, message: publication.message, isLasting: publication.isLasting || nowMs >= seenAtMs + patienceMs };
}

/** When time alone changes what is said or done about the publication of any version. */
export function publicationTimes(targets: readonly TargetObservation[], versions: readonly Version[]): readonly number[] {
  return targets.flatMap(({ publishBefore }) =>
    versions.flatMap(({ digest, seenAtMs }) => {
      const publication = publishBefore?.publications.get(digest);
      if (!publishBefore || (publication && "isLasting" in publication && publication.isLasting)) return [];
      return [publication && "fromMs" in publication ? publication.fromMs : seenAtMs + patienceMs];
    }),
  );
}
