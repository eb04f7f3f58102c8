// The life of published keys: which are added, retired, revived and removed, given what the sources hold now. Pure, and the heart of the controller.
import { entryId, type KeyEntry } from "./jwk.ts";

/** Where a key is in its life. Both times of a retiring key are fixed when it is replaced, so that no later step of the clock or of the spec moves them. */
type Standing = { readonly state: "Active" } | Retiring;
interface Retiring {
  readonly state: "Retiring";
  readonly replacedAtMs: number;
  readonly removeAtMs: number;
}

/** A key that is published. */
export interface PublishedKey extends PendingKey {
  readonly standing: Standing;
  /** Since when whoever asks gets it, without interruption; undefined if that is not so, or not known. */
  readonly availableSinceMs?: number | undefined;
}

/** A key that a source was seen to hold and that is not published yet. */
export interface PendingKey extends KeyEntry {
  /** The source that it came from; empty if nobody knows. */
  readonly source: string;
  /** When it was first published; of one that is pending, when it was first seen. */
  readonly sinceMs: number;
}

/** Something that keys come from, such as a Secret. */
export interface Source {
  readonly name: string;
  /** What it holds. Undefined: it is missing or invalid at present, and what came from it stays as it is. */
  readonly keys: readonly KeyEntry[] | undefined;
  /** What it held since the last run and no longer holds, the last one last. Such a key may have signed. */
  readonly passed: readonly KeyEntry[];
}

/** What the spec says about old keys. */
export interface HistoryRules {
  /** For keys that are replaced from now on. `keep`: they stay for that long. `replace`: they go when they are replaced. */
  readonly oldKeys: { readonly type: "keep"; readonly ttlMs: number } | { readonly type: "replace" };
  /** Thumbprints of keys that must not be published, whatever they are called and whatever else is true of them. */
  readonly revoked: ReadonlySet<string>;
  /** What there is room for. Where it is not enough for all keys, retiring keys go, the one that was replaced first before the others. */
  readonly rooms: readonly Room[];
  /** How many keys the spec wants at most. It counts when a key comes: a setting that is there for a moment takes nothing. */
  readonly maxKeys?: number | undefined;
  /** Nobody knows what time it is: no key's time is over. */
  readonly frozen?: boolean;
}

/** So much may be published together, and so much of it a key takes. */
export interface Room {
  readonly most: number;
  readonly takenBy: (key: PublishedKey) => number;
}

/** Something that happened to a key. */
export interface KeyChange {
  readonly type: "Added" | "Renewed" | "Retired" | "Revived" | "Removed" | "Revoked" | "Dropped";
  readonly kid: string;
  readonly source: string;
}

/** The keys to publish, active ones in the order of their sources, then retiring ones, the one that was replaced last first. */
export interface HistoryStep {
  readonly keys: readonly PublishedKey[];
  readonly changes: readonly KeyChange[];
  /** When time alone changes the keys; undefined if it never does. */
  readonly nextAtMs: number | undefined;
}

/**
 * Brings the published keys up to what the sources hold at `nowMs`.
 *
 * Guarantees, for `keep`: every key that a source holds is published; every key that one held, as far as `pending` and `passed` know, is published
 * from now on as one that was replaced now; no key goes before its time but by `revoked`, `rooms` and `maxKeys`, or because a source gives its `kid` to another.
 */
export function advanceHistory(
  { keys: published, pending }: { readonly keys: readonly PublishedKey[]; readonly pending: readonly PendingKey[] },
  { sources: given, rules, nowMs }: { readonly sources: readonly Source[]; readonly rules: HistoryRules; readonly nowMs: number },
): HistoryStep {
  const withAlg = algorithmsOf([...given.flatMap(({ keys = [] }) => keys), ...published]);
  const sources = given.map((source) => ({ ...source, keys: source.keys?.map(withAlg), passed: source.passed.map(withAlg) }));
  const changes: KeyChange[] = [];
  const note = (type: KeyChange["type"], { jwk: { kid }, source }: Pick<PublishedKey, "jwk" | "source">): void =>
    void changes.push({ type, kid, source });
  const isRevoked = ({ thumbprint }: KeyEntry): boolean => rules.revoked.has(thumbprint);
  const seen = seenKeys(sources, pending.map(withAlg), nowMs).filter((key) => !isRevoked(key));
  const available = sources.map((source) => lastWordOf(source, seen));
  const current = currentKeys(available, isRevoked);
  const unavailable = new Set(available.filter(({ keys }) => !keys).map(({ name }) => name));
  const isHeld = ({ source, standing }: PublishedKey): boolean => standing.state === "Active" && unavailable.has(source);
  // A key is replaced only by another one: while there is none, the old ones stay, or the JWKS document would end up empty.
  const replaced = current.size > 0 || published.some((key) => !isRevoked(key) && isHeld(key));
  const retiring = (ttlMs: number): Retiring => ({ state: "Retiring", replacedAtMs: nowMs, removeAtMs: nowMs + ttlMs });
  const namesakes = Map.groupBy(current.values(), ({ jwk: { kid } }) => kid);
  const isNamedAnew = ({ jwk: { kid }, thumbprint }: KeyEntry): boolean => namesakes.get(kid)?.every((key) => key.thumbprint !== thumbprint) === true;
  const successorOf = (key: KeyEntry): Omit<PublishedKey, "sinceMs"> | undefined => current.get(entryId(key)) ?? current.get(entryId(withAlg(key)));
  const passed = new Map(seen.filter((key) => !successorOf(key) && !isNamedAnew(key)).map((key) => [entryId(key), key]));
  const { oldKeys } = rules;
  const keys: PublishedKey[] = [];
  const known = new Set<string>();

  for (const key of published) {
    const successor = successorOf(key);
    if (successor && known.has(entryId(successor))) continue;
    known.add(entryId(successor ?? key));
    const isOver = key.standing.state === "Retiring" && key.standing.removeAtMs <= nowMs && !rules.frozen;
    if (isRevoked(key)) {
      note("Revoked", key);
    } else if (successor) {
      if (key.standing.state === "Retiring") note("Revived", key);
      else if (key.jwk["x5t#S256"] !== successor.jwk["x5t#S256"]) note("Renewed", key);
      keys.push({ ...successor, sinceMs: key.sinceMs, availableSinceMs: key.availableSinceMs });
    } else if (isNamedAnew(key)) {
      // Verifiers that find two keys by one name take neither.
      note("Removed", key);
    } else if (key.standing.state === "Retiring" && oldKeys.type === "keep" && passed.has(entryId(key))) {
      // It was in use again for a moment, and may have signed then.
      const standing = retiring(oldKeys.ttlMs);
      keys.push({ ...key, standing: standing.removeAtMs > key.standing.removeAtMs ? standing : key.standing });
    } else if (isOver) {
      note("Removed", key);
    } else if (key.standing.state === "Retiring" || !replaced || isHeld(key)) {
      // What is retiring was promised to stay until its date: what the spec says of old keys counts for those that are replaced from now on.
      keys.push(key);
    } else if (oldKeys.type === "replace") {
      note("Removed", key);
    } else {
      note("Retired", key);
      keys.push({ ...key, standing: retiring(oldKeys.ttlMs) });
    }
  }

  for (const key of current.values()) {
    if (known.has(entryId(key))) continue;
    note("Added", key);
    keys.push({ ...key, sinceMs: nowMs });
  }
  for (const key of passed.values()) {
    if (known.has(entryId(key)) || oldKeys.type === "replace") continue;
    note("Added", key);
    keys.push({ ...key, sinceMs: nowMs, standing: retiring(oldKeys.ttlMs) });
  }

  const order = new Map(sources.map(({ name }, index) => [name, index]));
  keys.sort((left, right) => rank(left, order) - rank(right, order));
  const { maxKeys } = rules;
  const isCounted = maxKeys !== undefined && changes.some(({ type }) => type === "Added");
  for (const dropped of withoutRoom(keys, isCounted ? [...rules.rooms, { most: maxKeys, takenBy: () => 1 }] : rules.rooms)) {
    note("Dropped", dropped);
    keys.pop();
  }
  return { keys, changes, nextAtMs: rules.frozen ? undefined : nextRemovalOf(keys) };
}

/** The retiring keys at the end for which there is no room, the last one first. */
function withoutRoom(keys: readonly PublishedKey[], rooms: readonly Room[]): readonly PublishedKey[] {
  // Each key is measured once: there may be thousands too many.
  const left = rooms.map(({ most, takenBy }) => keys.reduce((rest, key) => rest - takenBy(key), most));
  const dropped: PublishedKey[] = [];
  for (const key of keys.toReversed()) {
    if (key.standing.state !== "Retiring" || left.every((rest) => rest >= 0)) break;
    for (const [index, { takenBy }] of rooms.entries()) left[index] = (left[index] ?? 0) + takenBy(key);
    dropped.push(key);
  }
  return dropped;
}

/** When the next retiring key goes; undefined if none is retiring. */
export function nextRemovalOf(keys: readonly PublishedKey[]): number | undefined {
  const times = keys.flatMap(({ standing }) => (standing.state === "Retiring" ? [standing.removeAtMs] : []));
  return times.length > 0 ? Math.min(...times) : undefined;
}

/** What the sources held, in the order in which it was seen. */
function seenKeys(sources: readonly Source[], pending: readonly PendingKey[], nowMs: number): readonly PendingKey[] {
  return [...pending, ...sources.flatMap(({ name, passed }) => passed.map((key) => ({ ...key, source: name, sinceMs: nowMs })))];
}

/** A source that is not available holds what it was last seen to hold, if that was never published: it counts as any other then. */
function lastWordOf(source: Source, seen: readonly PendingKey[]): Pick<Source, "name" | "keys"> {
  const last = source.keys ? undefined : seen.findLast(({ source: name }) => name === source.name);
  return last ? { name: source.name, keys: [last] } : source;
}

/**
 * Completes entries that say no `alg` from those that call the same key the same and say one, the first of them: verifiers that find both in a document
 * take neither.
 */
function algorithmsOf(entries: readonly KeyEntry[]): <K extends KeyEntry>(key: K) => K {
  const known = new Map(
    entries.toReversed().flatMap(({ jwk, thumbprint }) => (jwk.alg === undefined ? [] : [[entryId({ jwk: { kid: jwk.kid }, thumbprint }), jwk]])),
  );
  return (key) => {
    const jwk = key.jwk.alg === undefined ? known.get(entryId(key)) : undefined;
    return jwk ? { ...key, jwk } : key;
  };
}

/** What the sources hold. A key that two of them hold counts for the first. */
function currentKeys(
  sources: readonly Pick<Source, "name" | "keys">[],
  isRevoked: (key: KeyEntry) => boolean,
): ReadonlyMap<string, Omit<PublishedKey, "sinceMs">> {
  const current = new Map<string, Omit<PublishedKey, "sinceMs">>();
  for (const { name, keys = [] } of sources) {
    for (const { jwk, thumbprint, notAfterMs } of keys) {
      const key = { jwk, thumbprint, notAfterMs, source: name, standing: { state: "Active" } } as const;
      if (!isRevoked(key) && !current.has(entryId(key))) current.set(entryId(key), key);
    }
  }
  return current;
}

/** Active keys by source, those of a source that is no longer listed after them; then retiring ones, newest first. */
function rank(key: PublishedKey, order: ReadonlyMap<string, number>): number {
  return key.standing.state === "Active" ? (order.get(key.source) ?? order.size) - Number.MAX_SAFE_INTEGER : -key.standing.replacedAtMs;
}
