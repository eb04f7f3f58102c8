// How the Secrets of a namespace differ from their published checksum: for `keyturn diff`, agents and announcements.
import { type DeepReadonly, Secret, type Selection, type Stored } from "@keyturn/runtime";
import { leafOf, validityDatesOf } from "../../certificate.ts";
import type { Query, Report } from "../../feature/feature.ts";
import { type AnnouncedChange, type AnnouncementKey, isSigned, saidMsOf } from "./announcement.ts";
import { SecretCheckSum } from "./api.ts";
import { madeMsOf } from "./check-sum-object.ts";
import {
  checksumOfSorted,
  contentDigestOfSorted,
  contentLine,
  differenceOf,
  type IdRules,
  type Member,
  numberOfId,
  type SecretContent,
  secretMember,
} from "./ids.ts";
import { type SetState, wideName } from "./members.ts";
import { isWide, type ScopeChoice, scopeOfNamespace, scopesFor } from "./scopes.ts";

/** Which Secrets count, the same as for the control plane. */
interface DiffOptions {
  readonly rules: IdRules;
  readonly selection: Pick<Selection, "labels" | "fields">;
  /** What one checksum covers. */
  readonly scopeChoice: ScopeChoice;
  /** Every namespace that has a checksum, instead of the query's one. */
  readonly allNamespaces: boolean;
}

/** What is found in one namespace. */
interface NamespaceDiff {
  readonly namespace: string;
  readonly secrets: number;
  /** The newest checksum object; undefined if there is none. */
  readonly checksum: string | undefined;
  /** Until when the state of that object is awaited, if it was announced ahead. */
  readonly announcedUntil: string | undefined;
  /** The newest object that the Secrets match; undefined if there is none. */
  readonly matches: string | undefined;
  /** Against the newest object. */
  readonly differences: readonly SecretDifference[];
  readonly leftOut: readonly { readonly secret: string; readonly reason: string }[];
}

/** Compares, by the rules that control plane and agents share. */
export async function diffReport(query: Query, options: DiffOptions): Promise<Report> {
  const diffs = await namespaceDiffs(query, options);
  const text = diffs.length === 0 ? "no namespace has a checksum" : diffs.map(inWords).join("\n");
  return { text, data: diffs, differs: diffs.some(({ checksum, matches }) => checksum !== undefined && matches !== checksum) };
}

/** The same as data: one for each namespace that was asked about. */
export async function namespaceDiffs(
  { client, namespace, signal }: Pick<Query, "client" | "namespace" | "signal">,
  options: DiffOptions,
): Promise<readonly NamespaceDiff[]> {
  const { scopeChoice, selection, allNamespaces } = options;
  const scope = allNamespaces ? undefined : await scopeOfNamespace(client, namespace, scopeChoice, signal);
  const scopeIn = await scopesFor(client, scopeChoice, signal);
  const { items } = await client.list(SecretCheckSum, scope ? { namespace: scope.home } : {}, signal);
  const byNamespace = Map.groupBy(items, (object) => object.metadata.namespace ?? "");
  if (scope && !byNamespace.has(scope.home)) byNamespace.set(scope.home, []);
  const observe = secretObserver(options.rules);
  const diffs: NamespaceDiff[] = [];
  for (const [home, objects] of [...byNamespace].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const secrets = new Map<string, ObservedSecret>();
    // Checksums of another control plane, or from before the namespace lost its label, are of the namespace that they are in.
    for (const within of (scope ?? scopeIn(home))?.namespaces ?? [home]) {
      const list = await client.list(Secret, { ...selection, namespace: within }, signal);
      const nameIn = (name: string): string => (isWide(scopeChoice.rule) ? wideName(within, name) : name);
      for (const secret of list.items) secrets.set(nameIn(secret.metadata.name), observe(secret));
    }
    diffs.push(diffOf(home, observedSetOf(secrets), newestFirst(objects.map((object) => observedChecksum(object)))));
  }
  return diffs;
}

function diffOf(namespace: string, set: ObservedSet, objects: readonly ObservedChecksum[]): NamespaceDiff {
  const [newest] = objects;
  const isMatch = newest !== undefined && isOfState(newest, set.state);
  const { announcedUntilMs } = newest ?? {};
  return {
    namespace,
    secrets: set.state.ids.length,
    checksum: newest?.name,
    announcedUntil: announcedUntilMs === undefined ? undefined : new Date(announcedUntilMs).toISOString(),
    matches: objects.find((object) => isOfState(object, set.state))?.name,
    differences: isMatch || !newest?.ids ? [] : differencesTo(newest.ids, set),
    leftOut: Array.from(leftOutOf(set), ([secret, reason]) => ({ secret, reason })),
  };
}

function inWords(diff: NamespaceDiff): string {
  const { differences, leftOut } = diff;
  return [
    `namespace ${diff.namespace}: ${resultInWords(diff)}`,
    ...differences.map((difference) => `  ${difference.direction.padEnd(10)}  ${differenceInWords(difference)}`),
    ...leftOut.map(({ secret, reason }) => `  ${"left out".padEnd(10)}  ${secret} does not count: ${reason}`),
  ].join("\n");
}

function resultInWords({ secrets, checksum, announcedUntil, matches, differences }: NamespaceDiff): string {
  if (checksum === undefined) return `${secrets} Secrets count, and there is no checksum`;
  if (matches === checksum) return `${secrets} Secrets, exactly as checksum ${checksum} says`;
  const awaited = announcedUntil === undefined ? "" : `, which is announced and awaited until ${announcedUntil}`;
  const count = differences.length > 0 ? `${differences.length} Secrets differ` : "the Secrets differ in what is not listed";
  return `${count} from checksum ${checksum}${awaited}${matches === undefined ? "" : `; they match ${matches}, which is older`}`;
}

// The Secrets of a namespace at one moment, by id and digest. Never their content.

/** The Secrets of a namespace. */
export interface ObservedSet {
  readonly state: SetState;
  /** By name; with those that do not count. */
  readonly secrets: ReadonlyMap<string, ObservedSecret>;
}

/** A Secret as the agent remembers it. */
export interface ObservedSecret {
  readonly member: Member;
  /** Of its certificate; absent if it has none. */
  readonly notBeforeMs?: number;
  readonly notAfterMs?: number;
}

/** Turns Secrets into what is kept of them, by the same rules as the control plane's. */
export function secretObserver(rules: IdRules): (secret: SecretContent) => ObservedSecret {
  return function observedSecret(secret) {
    const member = secretMember(secret, rules);
    const encoded = secret.data?.["tls.crt"];
    if (member.state === "leftOut" || !encoded) return { member };
    const leaf = leafOf(encoded);
    return { member, ...(leaf && validityDatesOf(leaf)) };
  };
}

/** The set that these Secrets make, by name. */
export function observedSetOf(secrets: ReadonlyMap<string, ObservedSecret>): ObservedSet {
  const ids: string[] = [];
  const lines: string[] = [];
  for (const [name, { member }] of secrets) {
    if (member.state === "leftOut") continue;
    ids.push(member.id);
    if (member.digest !== undefined) lines.push(contentLine(name, member.digest));
  }
  ids.sort();
  const sha256 = lines.length > 0 ? contentDigestOfSorted(lines.sort()) : undefined;
  return { secrets, state: { ids, checksum: checksumOfSorted(ids), sha256 } };
}

/** Secrets that are there and do not count, with the reason. */
export function leftOutOf({ secrets }: ObservedSet): ReadonlyMap<string, string> {
  return new Map(Array.from(secrets).flatMap(([name, { member }]) => (member.state === "leftOut" ? [[name, member.reason] as const] : [])));
}

/** How the set differs from published ids. `known`: Secrets that were seen before, for the names of those that are gone. */
export function differencesTo(
  published: readonly string[],
  set: ObservedSet,
  known: Readonly<Record<string, { readonly id: string }>> = {},
): readonly SecretDifference[] {
  const live = new Map(Array.from(set.secrets).flatMap(([name, { member }]) => (member.state === "counted" ? [[name, member.id] as const] : [])));
  const knownNames = new Map(Object.entries(known).map(([name, { id }]) => [id, name]));
  return setDifference({ live, leftOut: leftOutOf(set), published, knownNames });
}

// What is kept of a checksum object, and which of two is the newer.

/** How new a checksum object is, in whole seconds. */
export interface Stamp {
  readonly timestampMs: number;
  readonly createdMs: number;
}

/** A checksum object as the agent remembers it. */
export interface ObservedChecksum {
  readonly name: string;
  /** Empty if the object has none; it then matches nothing. */
  readonly checksum: string;
  readonly sha256?: string;
  /** Undefined if they did not fit into the object. */
  readonly ids?: readonly string[];
  readonly stamp: Stamp;
  /** Of one whose signature was checked: when it was said, by what was signed alone. */
  readonly saidMs?: number;
  /** Somebody announced it: what it says is meant, however much changes. */
  readonly isAnnounced?: boolean;
  /** What the announcement is about. */
  readonly changes?: readonly AnnouncedChange[];
  /** Of a state that is still to be written: until when it is awaited. */
  readonly announcedUntilMs?: number;
}

/** Whatever an announcement says of itself, and whoever made it: after a day it is no longer the reason why nothing fits. The operator waits an hour. */
const longestWaitMs = 24 * 3_600_000;

/** What is kept of an object. */
export function observedChecksum({ metadata, spec, status }: Stored<DeepReadonly<SecretCheckSum>>): ObservedChecksum {
  const createdMs = Date.parse(metadata.creationTimestamp ?? "") || 0;
  const { checksum = "", sha256, ids, announcement } = spec;
  return {
    name: metadata.name,
    checksum,
    ...(sha256 !== undefined && { sha256 }),
    ...(ids && { ids }),
    stamp: { timestampMs: madeMsOf({ metadata, spec }), createdMs },
    ...(announcement && { isAnnounced: true, ...(announcement.changes && { changes: announcement.changes }) }),
    ...(announcement && !status?.reached && { announcedUntilMs: Math.min(Date.parse(announcement.expires) || 0, createdMs + longestWaitMs) }),
  };
}

/** The same for an agent: with keys, an announcement that none of them has signed is none. */
export function checksumObserver(keys: readonly AnnouncementKey[] | undefined): (object: Stored<DeepReadonly<SecretCheckSum>>) => ObservedChecksum {
  return function observe(object) {
    const { namespace = "" } = object.metadata;
    const { announcement: _, ...spec } = object.spec;
    if (!keys) return observedChecksum(object);
    const statement = { namespace, kind: SecretCheckSum.kind, spec: object.spec };
    return isSigned(statement, keys) ? { ...observedChecksum(object), saidMs: saidMsOf(statement) } : observedChecksum({ ...object, spec });
  };
}

/** Negative if the first is the older. Times are whole seconds, so that two objects can be equally new. */
export function compareStamps(left: Stamp, right: Stamp): number {
  return left.timestampMs - right.timestampMs || left.createdMs - right.createdMs;
}

/** The newest first; equally new ones by name. */
export function newestFirst(objects: Iterable<ObservedChecksum>): readonly ObservedChecksum[] {
  return [...objects].sort((left, right) => compareStamps(right.stamp, left.stamp) || (left.name < right.name ? -1 : 1));
}

/** Whether the object is of this state: the same ids and, where the object covers them, the same contents. */
export function isOfState(object: ObservedChecksum, state: SetState): boolean {
  return object.checksum === state.checksum && (object.sha256 === undefined || object.sha256 === (state.sha256 ?? object.sha256));
}

/** The newer of two; undefined only if there is none. */
export function newerStamp(left: Stamp | undefined, right: Stamp | undefined): Stamp | undefined {
  if (!left || !right) return left ?? right;
  return compareStamps(left, right) < 0 ? right : left;
}

// Which Secrets differ and in which direction, with their names.

/**
 * One Secret that differs. `missing`: the checksum has it and the namespace has not. `unexpected`: the other way round.
 * `changed`: both have it, in another version or with another certificate.
 */
export interface SecretDifference {
  readonly direction: "missing" | "unexpected" | "changed";
  /** Undefined if only the checksum knows it and it was never seen under a name. */
  readonly secret: string | undefined;
  readonly live: string | undefined;
  readonly published: string | undefined;
  /** Why a Secret that is there does not count. */
  readonly leftOut?: string;
}

/** What differences are found between. */
interface Compared {
  /** Ids of the live set, by name. */
  readonly live: ReadonlyMap<string, string>;
  /** Secrets that are there and do not count, with the reason. */
  readonly leftOut: ReadonlyMap<string, string>;
  readonly published: readonly string[];
  /** Names under which ids were known before. */
  readonly knownNames: ReadonlyMap<string, string>;
}

/** Every Secret that differs, in the order of their numbers. */
export function setDifference({ live, leftOut, published, knownNames }: Compared): readonly SecretDifference[] {
  const { notPublished, notLive } = differenceOf(live.values(), published);
  // Sets are large and differences small, so only names that are asked for are looked up.
  const wanted = new Set(notPublished);
  const liveNames = new Map<string, string[]>();
  for (const [name, id] of live) if (wanted.has(id)) liveNames.set(id, [...(liveNames.get(id) ?? []), name]);
  const leftOutByNumber = new Map(Array.from(leftOut, ([name, reason]) => [numberOfName(name), { name, reason }]));
  const unexpected = Map.groupBy(notPublished, numberOfId);

  const differences: SecretDifference[] = notLive.map((id) => {
    const number = numberOfId(id);
    const counterpart = unexpected.get(number)?.shift();
    if (counterpart !== undefined) return { direction: "changed", secret: takeName(liveNames, counterpart), live: counterpart, published: id };
    const broken = leftOutByNumber.get(number);
    if (broken) return { direction: "missing", secret: broken.name, live: undefined, published: id, leftOut: broken.reason };
    return { direction: "missing", secret: knownNames.get(id), live: undefined, published: id };
  });
  for (const id of [...unexpected.values()].flat())
    differences.push({ direction: "unexpected", secret: takeName(liveNames, id), live: id, published: undefined });
  return differences.toSorted((a, b) => numberOfId(idOf(a)).localeCompare(numberOfId(idOf(b)), "en", { numeric: true }));
}

/** One difference as a line for people. */
export function differenceInWords({ direction, secret, live, published, leftOut }: SecretDifference): string {
  const who = secret ?? `the Secret with number ${numberOfId(published ?? "")}`;
  if (direction === "changed") return `${who} is ${live} and should be ${published}`;
  if (direction === "unexpected") return `${who} (${live}) is not in the checksum`;
  return `${who} (${published}) is ${leftOut === undefined ? "missing" : `there and does not count: ${leftOut}`}`;
}

function idOf({ live, published }: SecretDifference): string {
  return published ?? live ?? "";
}

/** Several Secrets can have one id; each is named once. */
function takeName(names: ReadonlyMap<string, string[]>, id: string): string | undefined {
  return names.get(id)?.pop();
}

function numberOfName(name: string): string {
  const digits = name.slice(name.lastIndexOf("-") + 1);
  return digits.replace(/^0+(?=\d)/, "");
}
