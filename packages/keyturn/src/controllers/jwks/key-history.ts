// The life of published keys: which are added, retired, revived and removed, given what the sources hold now. Pure, and the heart of the controller.
import type { PublicJwk } from "./jwk.ts";

/** Where a key is in its life. Both times of a retiring key are fixed when it is replaced, so that no later step of the clock or of the spec moves them. */
type Standing = { readonly state: "Active" } | { readonly state: "Retiring"; readonly replacedAtMs: number; readonly removeAtMs: number };

/** A key that is published. Its `jwk.kid` is its identity. */
export interface PublishedKey {
  readonly jwk: PublicJwk;
  /** The Secret that it came from. */
  readonly source: string;
  readonly sinceMs: number;
  /** When its certificate expires. Reported; a key is not removed for it. */
  readonly notAfterMs: number;
  readonly standing: Standing;
}

/** A key that a Secret holds. */
export interface SourceKey {
  readonly jwk: PublicJwk;
  readonly notAfterMs: number;
}

/** A Secret that keys come from. Without `key` it is missing or invalid at present, and what came from it stays as it is. */
export interface Source {
  readonly name: string;
  readonly key: SourceKey | undefined;
}

/** What the spec says about old keys. */
export interface HistoryRules {
  /** For keys that are replaced from now on. `keep`: they stay for that long. `replace`: they go when they are replaced. */
  readonly oldKeys: { readonly type: "keep"; readonly ttlMs: number } | { readonly type: "replace" };
  /** Keys that must not be published, whatever else is true of them. */
  readonly revoked: ReadonlySet<string>;
  /** True if these keys can be published together. Where they cannot, retiring keys go, the one that was replaced first before the others. */
  readonly fits: (keys: readonly PublishedKey[]) => boolean;
}

/** Something that happened to a key. */
export interface KeyChange {
  readonly type: "Added" | "Renewed" | "Retired" | "Revived" | "Removed" | "Revoked" | "Dropped";
  readonly kid: string;
  readonly source: string;
}

/** The keys to publish, active ones in the order of their sources, then retiring ones, the one that was replaced last first. */
interface HistoryStep {
  readonly keys: readonly PublishedKey[];
  readonly changes: readonly KeyChange[];
  /** When time alone changes the keys; undefined if it never does. */
  readonly nextAtMs: number | undefined;
}

/** Brings the published keys up to what the sources hold at `nowMs`. */
export function advanceHistory(
  published: readonly PublishedKey[],
  { sources, rules, nowMs }: { readonly sources: readonly Source[]; readonly rules: HistoryRules; readonly nowMs: number },
): HistoryStep {
  const changes: KeyChange[] = [];
  const note = (type: KeyChange["type"], { jwk: { kid }, source }: Pick<PublishedKey, "jwk" | "source">): void =>
    void changes.push({ type, kid, source });
  const current = currentKeys(sources, rules.revoked);
  const unavailable = new Set(sources.filter(({ key }) => !key).map(({ name }) => name));
  const isHeld = ({ source, standing }: PublishedKey): boolean => standing.state === "Active" && unavailable.has(source);
  const unrevoked = published.filter((key) => !rules.revoked.has(key.jwk.kid));
  // A key is replaced only by another one: while there is none, the old ones stay, or the JWKS document would end up empty.
  const replaced = current.size > 0 || unrevoked.some(isHeld);
  const keys: PublishedKey[] = [];

  for (const key of published) {
    const successor = current.get(key.jwk.kid);
    if (rules.revoked.has(key.jwk.kid)) {
      note("Revoked", key);
    } else if (successor) {
      if (key.standing.state === "Retiring") note("Revived", key);
      else if (key.jwk["x5t#S256"] !== successor.jwk["x5t#S256"]) note("Renewed", key);
      keys.push({ ...successor, sinceMs: key.sinceMs });
    } else if (key.standing.state === "Retiring" && key.standing.removeAtMs <= nowMs) {
      note("Removed", key);
    } else if (key.standing.state === "Retiring" || !replaced || isHeld(key)) {
      // What is retiring was promised to stay until its date: what the spec says of old keys counts for those that are replaced from now on.
      keys.push(key);
    } else if (rules.oldKeys.type === "replace") {
      note("Removed", key);
    } else {
      note("Retired", key);
      keys.push({ ...key, standing: { state: "Retiring", replacedAtMs: nowMs, removeAtMs: nowMs + rules.oldKeys.ttlMs } });
    }
  }

  const known = new Set(published.map(({ jwk }) => jwk.kid));
  for (const key of current.values()) {
    if (known.has(key.jwk.kid)) continue;
    note("Added", key);
    keys.push({ ...key, sinceMs: nowMs });
  }

  const order = new Map(sources.map(({ name }, index) => [name, index]));
  keys.sort((left, right) => rank(left, order) - rank(right, order));
  while (!rules.fits(keys)) {
    const last = keys.at(-1);
    if (last?.standing.state !== "Retiring") break;
    note("Dropped", last);
    keys.pop();
  }
  return { keys, changes, nextAtMs: nextRemovalOf(keys) };
}

/** When the next retiring key goes; undefined if none is retiring. */
export function nextRemovalOf(keys: readonly PublishedKey[]): number | undefined {
  const times = keys.flatMap(({ standing }) => (standing.state === "Retiring" ? [standing.removeAtMs] : []));
  return times.length > 0 ? Math.min(...times) : undefined;
}

/** What the sources hold, by `kid`. A key that two Secrets hold counts for the first of them. */
function currentKeys(sources: readonly Source[], revoked: ReadonlySet<string>): ReadonlyMap<string, Omit<PublishedKey, "sinceMs">> {
  const keys = new Map<string, Omit<PublishedKey, "sinceMs">>();
  for (const { name, key } of sources) {
    if (!key || revoked.has(key.jwk.kid) || keys.has(key.jwk.kid)) continue;
    keys.set(key.jwk.kid, { ...key, source: name, standing: { state: "Active" } });
  }
  return keys;
}

/** Active keys by source, those of a source that is no longer listed after them; then retiring ones, newest first. */
function rank(key: PublishedKey, order: ReadonlyMap<string, number>): number {
  return key.standing.state === "Active" ? (order.get(key.source) ?? order.size) - Number.MAX_SAFE_INTEGER : -key.standing.replacedAtMs;
}
