// Which keys are revoked: people name an entry, a certificate or a key, and what is withdrawn is the public key, under every name that it has or gets.
import { Buffer } from "node:buffer";
import type { KeyEntry } from "./jwk.ts";
import { limits } from "../../limits.ts";

/** A name that was found to mean a key. It is remembered, because the name may be all that is left of it: a renewed certificate has another `kid`. */
export interface RevokedKey {
  readonly name: string;
  readonly thumbprint: string;
}

/** What the names in the annotation come to. */
export interface Revocations {
  /** Of the keys that must not be published: all that the names mean. */
  readonly thumbprints: ReadonlySet<string>;
  /** What is remembered of it. */
  readonly revoked: readonly RevokedKey[];
  /** How many more there are than are remembered. */
  readonly unremembered: number;
  /** Names that no key is known by. */
  readonly unknown: readonly string[];
}

/** Where names are looked up. */
interface Known {
  readonly known: readonly KeyEntry[];
  readonly remembered: readonly RevokedKey[];
  /** What documents hold, which more people may write: asked only about names that mean nothing otherwise, and believed only about keys that are not known. */
  readonly published: () => readonly KeyEntry[];
}

/** So many are remembered: a copy is in an annotation of the document's ConfigMap, for which the API server has 256 KiB. */
const { revokedNames: maxRemembered } = limits;

/** The names in the annotation that revokes keys, none twice. All of them: the API server takes no more than 256 KiB. */
export function revokedNames(annotation = ""): readonly string[] {
  const names = annotation.split(",").map((name) => name.trim());
  return [...new Set(names.filter((name) => name !== ""))];
}

/** Finds out which keys the names mean: among those that are known now, among what was found out before, and last among what documents hold. */
export function resolveRevocations(names: readonly string[], { known, remembered, published }: Known): Revocations {
  const meanings = meaningsOf(known);
  for (const { name, thumbprint } of remembered) addMeaning(meanings, exactly(name), thumbprint);
  const first = names.map((name) => ({ name, thumbprints: lookUp(meanings, name) }));
  const isAllKnown = first.every(({ thumbprints }) => thumbprints.length > 0);
  const trusted = new Set(known.map(({ thumbprint }) => thumbprint));
  const others = meaningsOf(isAllKnown ? [] : published().filter(({ thumbprint }) => !trusted.has(thumbprint)));
  const found = first.map(({ name, thumbprints }) => ({ name, thumbprints: thumbprints.length > 0 ? thumbprints : lookUp(others, name) }));
  const revoked = found.flatMap(({ name, thumbprints }) => thumbprints.map((thumbprint) => ({ name, thumbprint })));
  return {
    thumbprints: new Set(revoked.map(({ thumbprint }) => thumbprint)),
    revoked: revoked.slice(0, maxRemembered),
    unremembered: Math.max(0, revoked.length - maxRemembered),
    unknown: found.filter(({ thumbprints }) => thumbprints.length === 0).map(({ name }) => name),
  };
}

/** True if a person can mean this key by the name: its `kid`, its thumbprint, or its certificate's, as JWKs (`x5t`, `x5t#S256`) or OpenSSL print it. */
export function isNamed(key: NamedKey, name: string): boolean {
  return lookUp(meaningsOf([key]), name).length > 0;
}

type NamedKey = Pick<KeyEntry, "jwk" | "thumbprint">;

/** Thumbprints by what names them: the cost of many names is not that of as many times all keys. */
type Meanings = Map<string, Set<string>>;

function meaningsOf(keys: readonly NamedKey[]): Meanings {
  const meanings: Meanings = new Map();
  for (const { jwk, thumbprint } of keys) {
    const certificates = [jwk.x5t, jwk["x5t#S256"]].filter((digest) => digest !== undefined);
    for (const name of [jwk.kid, thumbprint, ...certificates]) addMeaning(meanings, exactly(name), thumbprint);
    for (const digest of certificates) addMeaning(meanings, asFingerprint(Buffer.from(digest, "base64url").toString("hex")), thumbprint);
  }
  return meanings;
}

function addMeaning(meanings: Meanings, name: string, thumbprint: string): void {
  const meant = meanings.get(name);
  if (meant) meant.add(thumbprint);
  else meanings.set(name, new Set([thumbprint]));
}

function lookUp(meanings: Meanings, name: string): readonly string[] {
  return [...new Set([...(meanings.get(exactly(name)) ?? []), ...(meanings.get(asFingerprint(name)) ?? [])])];
}

function exactly(name: string): string {
  return `name ${name}`;
}

/** OpenSSL's capitals and colons do not count. */
function asFingerprint(name: string): string {
  return `fingerprint ${name.replaceAll(":", "").toLowerCase()}`;
}
