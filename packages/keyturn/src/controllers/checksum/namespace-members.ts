// The members of every namespace, kept up to date from the cache, and when they last changed.
import { type Cache, type Clock, nameOf } from "@keyturn/runtime";
import type { Member } from "./member.ts";
import { MemberSet } from "./member-set.ts";
import { type Burst, settledAtMs, withChange } from "./settle.ts";

/** What is seen of an object: `other` if it is not for the gateways that this checksum is for. */
export type SeenMember = Member | "other";

/** What the cache keeps of an object: `unread` if nobody wants a checksum of its namespace, so that nothing of its content was looked at. */
export type KeptMember = SeenMember | "unread";

/** One namespace. */
export interface NamespaceState {
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
  readonly #settleMs: number;
  readonly #namespaces = new Map<string, Tracked>();

  constructor(caches: readonly Cache<KeptMember>[], options: { readonly clock: Clock; readonly settleMs: number }) {
    this.#clock = options.clock;
    this.#settleMs = options.settleMs;
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

  /** How long the latest burst of changes still needs to settle; 0 if there is none. */
  waitMs(namespace: string): number {
    const burst = this.#namespaces.get(namespace)?.burst;
    return burst ? Math.max(0, settledAtMs(burst, this.#settleMs) - this.#clock.monotonic()) : 0;
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
