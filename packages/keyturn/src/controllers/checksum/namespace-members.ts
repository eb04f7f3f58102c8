// The members of every namespace, kept up to date from the cache, and when they last changed.
import { type Cache, type Clock, nameOf } from "@keyturn/runtime";
import type { Member } from "./member.ts";
import { MemberSet } from "./member-set.ts";
import { type Burst, settledAtMs, withChange } from "./settle.ts";

/** What the cache keeps of an object: `other` if it is not for the gateways that this checksum is for. */
export type KeptMember = Member | "other";

/** One namespace. */
export interface NamespaceState {
  readonly members: MemberSet;
  /** How many objects the cache has, with those that are for others. */
  readonly objects: number;
}

interface Tracked {
  readonly members: MemberSet;
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
    const tracked = this.#namespaces.get(namespace) ?? { members: new MemberSet(), objects: 0, burst: undefined };
    this.#namespaces.set(namespace, tracked);
    const changed = value === undefined || value === "other" ? tracked.members.delete(name) : tracked.members.set(name, value);
    if (changed) tracked.burst = withChange(tracked.burst, this.#clock.monotonic());
    tracked.objects += value === undefined ? -1 : isNew ? 1 : 0;
  }
}
