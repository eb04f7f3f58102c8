// The objects of one namespace as a checksum sees them, kept up to date change by change.
import { checksumOfSorted, contentDigestOfSorted, contentLine } from "./checksum.ts";
import type { Member } from "./member.ts";
import type { ProblemReason } from "./reasons.ts";
import { SortedList } from "./sorted-list.ts";

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
    if (previous && isSame(previous, member)) return false;
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

function isSame(left: Member, right: Member): boolean {
  if (left.state === "leftOut" || right.state === "leftOut") return left === right;
  return left.id === right.id && left.digest === right.digest;
}
