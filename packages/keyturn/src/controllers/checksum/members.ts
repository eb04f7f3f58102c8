// The objects of each namespace, or of several, as a checksum sees them: kept sorted and up to date change by change.
import { type Cache, type Clock, nameOf } from "@keyturn/runtime";
import { checksumOfSorted, contentDigestOfSorted, contentLine, type Member, numberOfId } from "./ids.ts";
import type { ProblemReason } from "./reasons.ts";

/** What is seen of an object: `other` if it is not for the gateways that this checksum is for. */
export type SeenMember = Member | "other";

/** What the cache keeps of an object: `unread` if nobody wants a checksum of its namespace, so that nothing of its content was looked at. */
export type KeptMember = SeenMember | "unread";

/** One namespace. */
interface NamespaceState {
  readonly members: MemberSet;
  /** How many objects the cache has, with those that are for others. */
  readonly objects: number;
}

interface Tracked {
  readonly members: MemberSet;
  readonly unread: Set<string>;
  objects: number;
  burst: Burst | undefined;
}

/** Follows the caches from now on. */
export class NamespaceMembers {
  readonly #clock: Clock;
  readonly #stabilizeMs: number;
  readonly #namespaces = new Map<string, Tracked>();

  constructor(caches: readonly Cache<KeptMember>[], options: { readonly clock: Clock; readonly stabilizeMs: number }) {
    this.#clock = options.clock;
    this.#stabilizeMs = options.stabilizeMs;
    for (const cache of caches) {
      cache.subscribe((change) => {
        const { namespace = "", name } = nameOf(change.key);
        this.#change(namespace, name, { value: "value" in change ? change.value : undefined, isNew: change.type === "added" });
      });
    }
  }

  /** The namespace as the cache shows it; an empty set if it has no objects. */
  of(namespace: string): NamespaceState {
    return this.#namespaces.get(namespace) ?? { members: new MemberSet(), objects: 0 };
  }

  /** Whether the object was not looked at when it last changed; without a name: whether that is so of any object there. */
  isUnread(namespace: string, name?: string): boolean {
    const { unread } = this.#namespaces.get(namespace) ?? {};
    return unread !== undefined && (name === undefined ? unread.size > 0 : unread.has(name));
  }

  /** An unread object was looked at after all. That is no change of it, and begins no burst. */
  read(namespace: string, name: string, member: SeenMember): void {
    const tracked = this.#namespaces.get(namespace);
    if (tracked?.unread.delete(name) && member !== "other") tracked.members.set(name, member);
  }

  /** How long the latest burst of changes still needs to stabilize; 0 if there is none. */
  waitMs(namespace: string): number {
    const burst = this.#namespaces.get(namespace)?.burst;
    return burst ? Math.max(0, stableAtMs(burst, this.#stabilizeMs) - this.#clock.monotonic()) : 0;
  }

  /** The burst was dealt with: the next change begins another. Only if nothing has changed since `state` was asked for. */
  endBurst(namespace: string, state: object): void {
    const tracked = this.#namespaces.get(namespace);
    if (tracked?.members.state() !== state) return;
    tracked.burst = undefined;
    if (tracked.objects === 0) this.#namespaces.delete(namespace);
  }

  #change(namespace: string, name: string, { value, isNew }: { readonly value: KeptMember | undefined; readonly isNew: boolean }): void {
    const tracked = this.#namespaces.get(namespace) ?? { members: new MemberSet(), unread: new Set(), objects: 0, burst: undefined };
    this.#namespaces.set(namespace, tracked);
    const wasUnread = tracked.unread.delete(name);
    if (value === "unread") tracked.unread.add(name);
    const isMember = value !== undefined && value !== "other" && value !== "unread";
    const changed = isMember ? tracked.members.set(name, value) : tracked.members.delete(name);
    if (changed || wasUnread || value === "unread") tracked.burst = withChange(tracked.burst, this.#clock.monotonic());
    tracked.objects += value === undefined ? -1 : isNew ? 1 : 0;
  }
}

// When a burst of changes is over.

/** A burst: its first and its latest change, on a clock that never runs backwards. */
export interface Burst {
  readonly firstMs: number;
  readonly lastMs: number;
}

/** A stream of changes that never pauses must not hold up a checksum for ever. */
const maxStabilizations = 10;

/** The burst with one more change. */
export function withChange(burst: Burst | undefined, nowMs: number): Burst {
  return { firstMs: burst?.firstMs ?? nowMs, lastMs: nowMs };
}

/** When a burst may be published: after a quiet time, or when it has lasted ten times as long. */
export function stableAtMs({ firstMs, lastMs }: Burst, stabilizeMs: number): number {
  return Math.min(lastMs + stabilizeMs, firstMs + maxStabilizations * stabilizeMs);
}

// The objects of one namespace.

/** What a checksum object says about a set: equal states are the same state. */
export interface SetState {
  /** In byte order, each as often as it is there. */
  readonly ids: readonly string[];
  readonly checksum: string;
  /** Over names and contents; undefined for kinds whose content is not covered. */
  readonly sha256: string | undefined;
}

/** An object that is left out, or that counts with a reservation. */
export interface Problem {
  readonly name: string;
  readonly reason: ProblemReason;
}

/**
 * A set of members by name.
 *
 * Guarantees: after any sequence of changes it says exactly what a set made anew from the same members says; a change costs no hash of
 * another member, and the two hashes over the whole list are made when somebody asks, and then remembered.
 */
export class MemberSet {
  readonly #members = new Map<string, Member>();
  readonly #ids = new SortedList();
  readonly #lines = new SortedList();
  #state: SetState | undefined;
  #problems: readonly Problem[] | undefined;

  /** How many objects there are, with those that are left out. */
  get size(): number {
    return this.#members.size;
  }

  /** Puts a member in, or in the place of an earlier one. False if nothing changed. */
  set(name: string, member: Member): boolean {
    const previous = this.#members.get(name);
    if (previous && isSameMember(previous, member)) return false;
    this.#forget(name, previous);
    this.#members.set(name, member);
    if (member.state === "counted") {
      this.#ids.add(member.id);
      if (member.digest !== undefined) this.#lines.add(contentLine(name, member.digest));
    }
    return true;
  }

  /** Takes a member out. False if there was none. */
  delete(name: string): boolean {
    const previous = this.#members.get(name);
    if (!previous) return false;
    this.#forget(name, previous);
    return this.#members.delete(name);
  }

  /** What is to be published about the set as it is now. */
  state(): SetState {
    this.#state ??= {
      ids: this.#ids.items(),
      checksum: checksumOfSorted(this.#ids.items()),
      sha256: this.#lines.items().length > 0 ? contentDigestOfSorted(this.#lines.items()) : undefined,
    };
    return this.#state;
  }

  /** What is wrong with objects of the set, in the order of their names. Of objects with the same id the first by name is not to blame. */
  problems(): readonly Problem[] {
    this.#problems ??= [...this.#leftOut(), ...this.#duplicates()].sort((left, right) => (left.name < right.name ? -1 : 1));
    return this.#problems;
  }

  /** The member of this name. */
  get(name: string): Member | undefined {
    return this.#members.get(name);
  }

  /** The members by name, for a copy with changes laid over it. */
  entries(): IterableIterator<[string, Member]> {
    return this.#members.entries();
  }

  *#leftOut(): Iterable<Problem> {
    for (const [name, member] of this.#members) if (member.state === "leftOut") yield { name, reason: member.reason };
  }

  *#duplicates(): Iterable<Problem> {
    const { ids } = this.state();
    const repeated = new Set(ids.filter((id, index) => id === ids[index + 1]));
    if (repeated.size === 0) return;
    const seen = new Set<string>();
    for (const [name, member] of [...this.#members].sort(([left], [right]) => (left < right ? -1 : 1))) {
      if (member.state === "leftOut" || !repeated.has(member.id)) continue;
      if (seen.has(member.id)) yield { name, reason: "DuplicateId" };
      seen.add(member.id);
    }
  }

  #forget(name: string, previous: Member | undefined): void {
    this.#state = undefined;
    this.#problems = undefined;
    if (previous?.state !== "counted") return;
    this.#ids.remove(previous.id);
    if (previous.digest !== undefined) this.#lines.remove(contentLine(name, previous.digest));
  }
}

function isSameMember(left: Member, right: Member): boolean {
  if (left.state === "leftOut" || right.state === "leftOut") return left === right;
  return left.id === right.id && left.digest === right.digest;
}

// A list of texts that stays in order while single ones come and go. The same text may be in it several times.

/** Up to so many changes, moving the rest of the list aside for each is quicker than sorting it anew. */
const fewChanges = 32;

/** Texts in the order of their UTF-16 units, which for ASCII is the order of bytes. */
class SortedList {
  #items: string[] = [];
  /** Changes that are not in the list yet, as what each text's number is to change by. */
  readonly #pending = new Map<string, number>();

  /** All texts in order, as they are now; a later change does not show in what was returned. */
  items(): readonly string[] {
    if (this.#pending.size > 0) this.#items = this.#pending.size > fewChanges ? this.#sortedAnew() : this.#changed();
    this.#pending.clear();
    return this.#items;
  }

  add(item: string): void {
    this.#count(item, 1);
  }

  /** Takes one such text out. It must be there. */
  remove(item: string): void {
    this.#count(item, -1);
  }

  #count(item: string, change: number): void {
    const sum = (this.#pending.get(item) ?? 0) + change;
    if (sum === 0) this.#pending.delete(item);
    else this.#pending.set(item, sum);
  }

  #changed(): string[] {
    const items = [...this.#items];
    for (const [item, sum] of this.#pending) {
      const place = indexFor(item, items);
      items.splice(place, Math.max(0, -sum), ...Array.from({ length: Math.max(0, sum) }, () => item));
    }
    return items;
  }

  #sortedAnew(): string[] {
    const removals = new Map(this.#pending);
    const kept = this.#items.filter((item) => {
      const sum = removals.get(item) ?? 0;
      if (sum < 0) removals.set(item, sum + 1);
      return sum >= 0;
    });
    for (const [item, sum] of this.#pending) for (let more = sum; more > 0; more--) kept.push(item);
    return kept.sort();
  }
}

/** Where the item is first, or would be. */
function indexFor(item: string, items: readonly string[]): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((items[middle] ?? "") < item) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The objects of several namespaces as one set: named by namespace and name, and counted as Tengine counts them, without their namespace.

/** What is asked of a set of members, of one namespace or several. */
export type MemberView = Pick<MemberSet, "state" | "problems" | "get" | "entries">;

/** How an object of a scope with several namespaces is named. */
export function wideName(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

/** The sets of these namespaces, as they are now. Objects with the same number, which their ids do not tell apart for people, are named. */
export function wideMembers(sets: ReadonlyMap<string, MemberSet>): MemberView {
  const members = new Map<string, Member>();
  for (const [namespace, set] of sets) for (const [name, member] of set.entries()) members.set(wideName(namespace, name), member);
  const state = stateOf(members);
  return {
    state: () => state,
    get: (name) => members.get(name),
    entries: () => members.entries(),
    problems: () => problemsOf(members, state),
  };
}

function stateOf(members: ReadonlyMap<string, Member>): SetState {
  const [ids, lines]: [string[], string[]] = [[], []];
  for (const [name, member] of members) {
    if (member.state === "leftOut") continue;
    ids.push(member.id);
    if (member.digest !== undefined) lines.push(contentLine(name, member.digest));
  }
  ids.sort();
  return { ids, checksum: checksumOfSorted(ids), sha256: lines.length > 0 ? contentDigestOfSorted(lines.sort()) : undefined };
}

/** What is left out; and, of objects with the same number, all but the first by name. */
function problemsOf(members: ReadonlyMap<string, Member>, { ids }: SetState): readonly Problem[] {
  const repeated = new Set<string>();
  const seenNumbers = new Set<string>();
  for (const number of ids.map(numberOfId)) (seenNumbers.has(number) ? repeated : seenNumbers).add(number);
  const [problems, numbers, known]: [Problem[], Set<string>, Set<string>] = [[], new Set(), new Set()];
  for (const [name, member] of [...members].sort(([left], [right]) => (left < right ? -1 : 1))) {
    if (member.state === "leftOut") problems.push({ name, reason: member.reason });
    else if (repeated.has(numberOfId(member.id))) {
      if (known.has(member.id)) problems.push({ name, reason: "DuplicateId" });
      else if (numbers.has(numberOfId(member.id))) problems.push({ name, reason: "DuplicateNumber" });
      known.add(member.id);
      numbers.add(numberOfId(member.id));
    }
  }
  return problems;
}
