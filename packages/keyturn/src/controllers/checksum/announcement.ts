// What an announcement says: which Secret goes from which id to which, perhaps signed by whoever deploys. Pure; the same for operator, agents and announcers.
import { Buffer } from "node:buffer";
import { createPrivateKey, createPublicKey, hash, type KeyObject, sign, verify } from "node:crypto";
import { pemBlocks } from "../../certificate.ts";
import type { CheckSumSpec } from "./api.ts";
import { differenceOf, type Member, numberOfId } from "./ids.ts";
import type { MemberSet } from "./members.ts";
import { limits } from "../../limits.ts";

/** One object that changes. Without `from` it comes, without `to` it goes. */
export type AnnouncedChange = NonNullable<NonNullable<CheckSumSpec["announcement"]>["changes"]>[number];

/** How far a time may be ahead of another before one of them must be wrong. */
export const maxAheadMs = 3_600_000;

/** The live objects, as changes are compared with them. */
export interface LiveObjects {
  readonly member: (name: string) => Member | undefined;
  readonly hasId: (id: string) => boolean;
}

/** How far an announcement has come: nothing of it is there, a part, or everything. */
export type Progress = "pending" | "begun" | "complete";

export function progressOf(changes: readonly AnnouncedChange[], live: LiveObjects): Progress {
  const awaited = changes.filter(({ unchanged }) => !unchanged);
  const done = awaited.filter((change) => isDone(change, live)).length;
  return done === awaited.length ? "complete" : done > 0 ? "begun" : "pending";
}

/** True if the announcement says that everything is as it is meant: it names no change to come, so that its checksum stands for the whole state. */
export function isOfWholeState(changes: readonly AnnouncedChange[] | undefined): boolean {
  return changes === undefined || (changes.some(({ unchanged }) => unchanged) && changes.every(({ to, unchanged }) => to === undefined || unchanged));
}

/** True if an object is as the change says. One that goes is known by its id only if its name was not known: others may share the id. */
export function isDone({ name, from, to, sha256 }: AnnouncedChange, { member, hasId }: LiveObjects): boolean {
  if (to === undefined && name === "") return from === undefined || !hasId(from);
  const live = member(name);
  if (to === undefined) return live?.state !== "counted" || live.id !== from;
  return live?.state === "counted" && live.id === to && (sha256 === undefined || sha256 === live.digest);
}

/** Ids with announced changes laid over them: what somebody knows of, and is therefore no surprise. */
export function withChanges(ids: readonly string[], changes: readonly AnnouncedChange[]): readonly string[] {
  const counts = new Map<string, number>();
  const add = (id: string, count: number): void => void counts.set(id, (counts.get(id) ?? 0) + count);
  for (const id of ids) add(id, 1);
  for (const { from, to } of changes) {
    const isThere = from === undefined || (counts.get(from) ?? 0) > 0;
    if (!isThere || (to !== undefined && from === undefined && (counts.get(to) ?? 0) > 0)) continue;
    if (from !== undefined) add(from, -1);
    if (to !== undefined) add(to, 1);
  }
  return Array.from(counts, ([id, count]) => Array.from({ length: Math.max(0, count) }, () => id)).flat();
}

/** The same where names are known. */
export function withNamedChanges(ids: ReadonlyMap<string, string>, changes: readonly AnnouncedChange[]): ReadonlyMap<string, string> {
  const result = new Map(ids);
  const nameOfId = new Map(Array.from(ids, ([name, id]) => [id, name]));
  for (const { name: given, from, to } of changes) {
    const name = given === "" ? nameOfId.get(from ?? "") : given;
    if (name === undefined || result.get(name) !== from) continue;
    if (to === undefined) result.delete(name);
    else result.set(name, to);
  }
  return result;
}

/** Every object as it is, as words that confirm it, and what has gone since these ids were published; `goneByName`: what is known to have gone, by name. */
export function confirmationOf(
  publishedIds: readonly string[],
  members: Pick<MemberSet, "entries" | "state">,
  goneByName: readonly AnnouncedChange[] = [],
): readonly AnnouncedChange[] {
  const changes = changesBetween(publishedIds, members);
  // One that shares its id with another that is there cannot be told by it.
  const known = new Set([...members.state().ids, ...goneByName.map(({ from }) => from)]);
  const gone = changes.filter((change) => change.to === undefined && !known.has(change.from));
  const from = new Map(changes.map((change) => [change.name, change.from]));
  const said = Array.from(members.entries()).flatMap(([name, member]) => {
    if (member.state !== "counted") return [];
    const [before, sha256] = [from.get(name), member.digest];
    return [{ name, ...(before !== undefined && { from: before }), to: member.id, ...(sha256 !== undefined && { sha256 }), unchanged: true }];
  });
  return [...goneByName, ...gone, ...said];
}

/** Stands first among words that confirm everything: nothing else is meant, so that what was signed before, and perhaps withdrawn, brings nothing in any more. */
export const nothingElse: AnnouncedChange = { name: "", unchanged: true };

export function isNothingElse({ name, from, to, unchanged }: AnnouncedChange): boolean {
  return unchanged === true && name === "" && from === undefined && to === undefined;
}

/** Takes back what earlier words would have brought in, from the newest word on each object. What they gave up stays given up. */
export function takeBack(newest: Map<string, { readonly change: AnnouncedChange }>): void {
  for (const [name, { change }] of newest) if (change.to !== undefined) newest.delete(name);
}

/** What happened to published ids, as changes. What is gone is known by its id alone. */
export function changesBetween(publishedIds: readonly string[], members: Pick<MemberSet, "entries" | "state">): readonly AnnouncedChange[] {
  const { notPublished, notLive } = differenceOf(members.state().ids, publishedIds);
  const [news, went] = [new Set(notPublished), Map.groupBy(notLive, numberOfId)];
  const changes: AnnouncedChange[] = [];
  for (const [name, member] of members.entries()) {
    if (member.state !== "counted" || !news.has(member.id)) continue;
    const from = went.get(numberOfId(member.id))?.shift();
    changes.push({ name, ...(from !== undefined && { from }), to: member.id, ...(member.digest !== undefined && { sha256: member.digest }) });
  }
  return [...changes, ...[...went.values()].flat().map((from) => ({ name: "", from }))];
}

// Signatures: Ed25519 over everything that the announcement says, and where.

/** What is signed. */
export interface Statement {
  /** Where it holds: nobody can carry it to another namespace or kind. */
  readonly namespace: string;
  readonly kind: string;
  readonly spec: Pick<CheckSumSpec, "timestamp" | "announcement">;
}

/** A key to sign with, or to check by, with the name under which signatures mention it. */
export interface AnnouncementKey {
  readonly id: string;
  readonly key: KeyObject;
}

/** The public keys in PEM text. Throws an Error whose message completes "--flag: …". */
export function readPublicKeys(text: string): readonly AnnouncementKey[] {
  const blocks = Array.from(pemBlocks(text)).filter(({ label }) => label === "PUBLIC KEY");
  if (blocks.length === 0 || blocks.length > limits.announcementKeys) throw new Error("the file holds no public key in PEM, or too many");
  return blocks.map(({ base64 }) => {
    if (base64 === undefined) throw new Error("a public key in the file is cut off");
    return keyOf(createPublicKey({ key: Buffer.from(base64, "base64"), format: "der", type: "spki" }));
  });
}

/** The private key in PEM text (PKCS #8). */
export function readSigningKey(text: string): AnnouncementKey {
  const block = Array.from(pemBlocks(text)).find(({ label }) => label === "PRIVATE KEY");
  if (block?.base64 === undefined) throw new Error("the file holds no private key in PEM; make one with `openssl genpkey -algorithm ed25519`");
  const key = createPrivateKey({ key: Buffer.from(block.base64, "base64"), format: "der", type: "pkcs8" });
  return { id: keyOf(createPublicKey(key)).id, key };
}

function keyOf(key: KeyObject): AnnouncementKey {
  if (key.asymmetricKeyType !== "ed25519") throw new Error("a key in the file is not an Ed25519 key");
  return { id: hash("sha256", key.export({ format: "der", type: "spki" }), "hex").slice(0, 16), key };
}

/** The announcement with its signature. */
export function signed(statement: Statement, { id, key }: AnnouncementKey): NonNullable<CheckSumSpec["announcement"]> {
  const { announcement } = statement.spec;
  if (!announcement) throw new Error("there is no announcement to sign");
  return { ...announcement, signature: { key: id, value: sign(null, bytesOf(statement), key).toString("base64") } };
}

/** True if one of the keys has signed exactly this. */
export function isSigned(statement: Statement, keys: readonly AnnouncementKey[]): boolean {
  const { signature } = statement.spec.announcement ?? {};
  const known = signature && keys.find(({ id }) => id === signature.key);
  return known !== undefined && verify(null, bytesOf(statement), known.key, Buffer.from(signature?.value ?? "", "base64"));
}

/** When it was said, in milliseconds: the timestamp has whole seconds, and of two of the same second what was signed says which is the later, for everybody the same. */
export function saidMsOf(statement: Statement): number {
  const digest = hash("sha256", bytesOf(statement), "buffer");
  return Date.parse(statement.spec.timestamp) + (1000 * digest.readUInt32BE()) / 2 ** 32;
}

function bytesOf({ namespace, kind, spec: { timestamp, announcement } }: Statement): Buffer {
  const changes = (announcement?.changes ?? []).map(({ name, from = "", to = "", sha256 = "", unchanged }) =>
    unchanged ? [name, from, to, sha256, "unchanged"] : [name, from, to, sha256],
  );
  return Buffer.from(JSON.stringify(["keyturn announcement 1", namespace, kind, timestamp, announcement?.expires ?? "", changes]));
}
