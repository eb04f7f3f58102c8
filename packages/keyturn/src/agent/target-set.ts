// Which certificate of each Secret is to be served: the one that the API server has, or, if something is wrong with that one alone, the one that is served already. Pure.
import type { ObservedSecret, ObservedSet } from "../controllers/checksum/difference.ts";
import { versionOfId } from "../controllers/checksum/ids.ts";
import type { Policies, SecretSituation } from "./alarm-policies.ts";
import type { Manifest, SecretEntry } from "./manifest.ts";
import type { Statements } from "./statements.ts";

/** A Secret that stays as it is served, while the others go on. */
export interface HeldSecret {
  readonly secret: string;
  readonly situation: SecretSituation;
  readonly message: string;
}

/** What is to be served. */
export interface TargetSet {
  /** By name. */
  readonly secrets: Readonly<Record<string, SecretEntry>>;
  /** Secrets with which something is wrong, whether the policy for it keeps them or not. */
  readonly held: readonly HeldSecret[];
  /** With keys: when Secrets that are not served were given up, by name. */
  readonly givenUp?: Readonly<Record<string, number>>;
  /** With keys: when somebody last signed everything, and nothing else. */
  readonly confirmedMs?: number;
}

/** What a target is made from. */
interface TargetFacts {
  readonly observed: ObservedSet;
  readonly promoted: Manifest | undefined;
  /** Secrets of `promoted` whose files are on the disk no more: nothing of them can be kept. */
  readonly broken: ReadonlySet<string>;
  readonly policies: Policies;
  /** Whether somebody announced that a Secret is to have this id, so that it is meant even if it is older. */
  readonly isAnnounced: (secret: string, id: string) => boolean;
  /** Whether somebody announced that a Secret that has this id goes. */
  readonly isGivenUp: (secret: string, id: string) => boolean;
  /** With keys: what was signed. Nothing else is adopted or given up. */
  readonly statements: Statements | undefined;
}

/** Guarantees: each certificate of the result is one that the API server has now, or one that is promoted and whole. */
export function targetSetOf(facts: TargetFacts, nowMs: number): TargetSet {
  const { observed, promoted, broken, policies, statements } = facts;
  const secrets: Record<string, SecretEntry> = {};
  const held: HeldSecret[] = [];
  for (const [name, secret] of observed.secrets) {
    const before = broken.has(name) ? undefined : entryIn(promoted, name);
    const objection = (before && objectionTo(secret, { name, before, facts, nowMs })) ?? unannounced(secret, { name, before, facts });
    if (objection) held.push(objection);
    if (objection && policies[objection.situation] === "keep") {
      if (before) secrets[name] = before;
    } else if (secret.member.state === "counted") secrets[name] = entryOf(name, secret, { member: secret.member, before, statements });
  }
  if (!statements) return withLost({ secrets, held }, facts);
  const givenUp = new Map(Object.entries(promoted?.givenUp ?? {}).filter(([name]) => !Object.hasOwn(secrets, name)));
  for (const [name, before] of Object.entries(promoted?.secrets ?? {})) {
    if (observed.secrets.has(name)) continue;
    const givenUpMs = statements.givesUp(name, before);
    if (givenUpMs !== undefined && givenUpMs >= (before.announcedMs ?? -Infinity)) givenUp.set(name, givenUpMs);
    if (givenUp.has(name) || broken.has(name)) continue;
    held.push({ secret: name, situation: "Unannounced", message: `${name} is served and gone, and no signed announcement says so` });
    if (policies.Unannounced === "keep") secrets[name] = before;
  }
  const confirmedMs = Math.max(promoted?.confirmedMs ?? -Infinity, statements.confirmedMs ?? -Infinity);
  return { secrets, held, givenUp: Object.fromEntries(givenUp), ...(confirmedMs > -Infinity && { confirmedMs }) };
}

/**
 * What is gone while others go back to older certificates is lost, not deleted: so it is after a restored backup with what is newer than that. It stays until it
 * is there again, or somebody announces that it goes.
 */
function withLost({ secrets, held }: TargetSet, { observed, promoted, broken, policies, isGivenUp }: TargetFacts): TargetSet {
  const isRestored = held.some(({ situation }) => situation === "OlderCertificate");
  const gone = Object.entries(promoted?.secrets ?? {}).filter(([name]) => !observed.secrets.has(name) && !broken.has(name));
  const lost = gone.filter(([name, { id, isLost = false }]) => (isLost || isRestored) && !isGivenUp(name, id));
  return {
    secrets:
      policies.OlderCertificate === "keep"
        ? { ...secrets, ...Object.fromEntries(lost.map(([name, entry]) => [name, { ...entry, isLost: true }])) }
        : secrets,
    held: [
      ...held,
      ...lost.map(([secret]) => ({
        secret,
        situation: "OlderCertificate" as const,
        message: `${secret} was gone when others went back to older certificates, as after a restored backup`,
      })),
    ],
  };
}

/** With keys: why a Secret that counts is not adopted. What is promoted already needs no word, and nobody can go back to an earlier one. */
function unannounced(
  { member }: ObservedSecret,
  { name, before, facts }: { readonly name: string; readonly before: SecretEntry | undefined; readonly facts: TargetFacts },
): HeldSecret | undefined {
  const { statements, promoted } = facts;
  if (!statements || member.state === "leftOut") return undefined;
  if (before?.id === member.id && before.digest === member.digest) return undefined;
  const announcedMs = statements.adopts(name, { id: member.id, digest: member.digest });
  if (announcedMs !== undefined && announcedMs >= lastWordMs(promoted, name)) return undefined;
  return { secret: name, situation: "Unannounced", message: `${name} is ${member.id}, and no signed announcement says so` };
}

/** When the newest word was made that was ever followed on a Secret, or on all of them, whatever has become of its files. */
function lastWordMs(promoted: Manifest | undefined, name: string): number {
  const givenUpMs = promoted?.givenUp && Object.hasOwn(promoted.givenUp, name) ? promoted.givenUp[name] : undefined;
  return Math.max(entryIn(promoted, name)?.announcedMs ?? -Infinity, givenUpMs ?? -Infinity, promoted?.confirmedMs ?? -Infinity);
}

/** True if exactly this is promoted, by words that are no older. */
export function isPromoted(
  { secrets: promoted, confirmedMs: knownMs = -Infinity }: Manifest,
  { secrets, confirmedMs = -Infinity }: Pick<TargetSet, "secrets" | "confirmedMs">,
): boolean {
  if (confirmedMs > knownMs) return false;
  const names = Object.keys(promoted);
  if (names.length !== Object.keys(secrets).length) return false;
  return names.every((name) => {
    const [before, wanted] = [promoted[name], Object.hasOwn(secrets, name) ? secrets[name] : undefined];
    if (before === undefined || wanted === undefined || before.isLost !== wanted.isLost) return false;
    return before.id === wanted.id && before.digest === wanted.digest && !isNewer(wanted, before);
  });
}

function isNewer({ announcedMs: wantedMs = -Infinity }: SecretEntry, { announcedMs = -Infinity }: SecretEntry): boolean {
  return wantedMs > announcedMs;
}

/** What is wrong with a Secret that would take the place of `before`. */
function objectionTo(
  { member, ...dates }: ObservedSecret,
  { name, before, facts, nowMs }: { readonly name: string; readonly before: SecretEntry; readonly facts: TargetFacts; readonly nowMs: number },
): HeldSecret | undefined {
  const held = (situation: SecretSituation, message: string): HeldSecret => ({ secret: name, situation, message });
  if (member.state === "leftOut") {
    const situation = member.reason === "VersionMissing" || member.reason === "VersionInvalid" ? "LeftOut" : "BadCertificate";
    return held(situation, `${name} is served, is still there, and does not count: ${member.reason}`);
  }
  if (!holds(dates, nowMs) && holds(before, nowMs))
    return held("InvalidDates", `${name} would be replaced by a certificate that ${datesInWords(dates, nowMs)}`);
  if (!facts.statements && !facts.isAnnounced(name, member.id) && isOlder({ id: member.id, ...dates }, before))
    return held("OlderCertificate", `${name} is ${member.id} and would take the place of ${before.id}, which is newer`);
  return undefined;
}

/** An older version; or, under the same version, another certificate that was made before. */
function isOlder(live: Pick<SecretEntry, "id" | "notBeforeMs">, before: SecretEntry): boolean {
  // The id of what was saved from a damaged disk is not known.
  if (live.id === before.id || before.id === "") return false;
  const [version, versionBefore] = [versionOfId(live.id), versionOfId(before.id)];
  if (version !== versionBefore) return version < versionBefore;
  return live.notBeforeMs !== undefined && before.notBeforeMs !== undefined && live.notBeforeMs < before.notBeforeMs;
}

function entryOf(
  name: string,
  { notBeforeMs, notAfterMs }: ObservedSecret,
  {
    member: { id, digest },
    before,
    statements,
  }: {
    readonly member: Extract<ObservedSecret["member"], { state: "counted" }>;
    readonly before: SecretEntry | undefined;
    readonly statements: Statements | undefined;
  },
): SecretEntry {
  const words = [statements?.adopts(name, { id, digest }), before?.id === id ? before.announcedMs : undefined].filter(
    (timeMs) => timeMs !== undefined,
  );
  const announcedMs = words.length > 0 ? Math.max(...words) : undefined;
  return {
    id,
    digest: digest ?? "",
    ...(notBeforeMs !== undefined && { notBeforeMs }),
    ...(notAfterMs !== undefined && { notAfterMs }),
    ...(announcedMs !== undefined && { announcedMs }),
  };
}

function entryIn(promoted: Manifest | undefined, name: string): SecretEntry | undefined {
  return promoted && Object.hasOwn(promoted.secrets, name) ? promoted.secrets[name] : undefined;
}

type Dates = Pick<SecretEntry, "notBeforeMs" | "notAfterMs">;

/** Whether a certificate with these dates holds now. */
export function holds({ notBeforeMs = -Infinity, notAfterMs = Infinity }: Dates, nowMs: number): boolean {
  return notBeforeMs <= nowMs && nowMs < notAfterMs;
}

function datesInWords({ notAfterMs = Infinity }: Dates, nowMs: number): string {
  return notAfterMs <= nowMs ? "has expired" : "does not hold yet";
}
