// What users are promised, checked at every single write: without the simulator, by what is in the world alone.
import type { RotationWrite } from "../../src/controllers/rotation/plan.ts";
import type { RotationWorld } from "./rotation-world.ts";

/** What the promises are judged by at a run. */
interface Circumstances {
  /** True time. */
  readonly now: number;
  /** How far two readings of the process's clock may have been apart in this story. */
  readonly toleranceMs: number;
  /** Since when runs have seen the source as it is now. */
  readonly sourceSince: number;
  /** Since when there has been no source object, as runs saw it. */
  readonly sourceGoneSince: number | undefined;
  /** Targets were never edited, added or removed, and no name was taken: the order and gaps of versions are then promised too. */
  readonly untouched: boolean;
}

/** Watches writes go by and throws when one breaks a promise. */
export class Promises {
  readonly #world: RotationWorld;
  /** Every content that the source ever had. */
  readonly sourceContents = new Set<string>();
  readonly #held = new Map<string, number>();
  /** When each target was first seen with each version. */
  readonly #entered: { readonly target: string; readonly seq: number; readonly at: number }[] = [];

  constructor(world: RotationWorld) {
    this.#world = world;
  }

  /** A RotationTarget left: nothing is promised about it any more. */
  forget(target: string): void {
    this.#held.delete(target);
  }

  /** Everything is gone; what comes is a fresh start. */
  forgetAll(): void {
    this.#held.clear();
    this.#entered.length = 0;
  }

  /** Called before a write is made. */
  check(write: RotationWrite, circumstances: Circumstances): void {
    if (write.verb === "deleteTarget") this.#checkRemoval(write.target, circumstances);
    if (write.verb !== "writeTarget") return;
    const { target, seq, digest } = write;
    promise(this.#world.objects.get(target)?.ours !== false, `P12: ${target} is somebody else's`);
    promise(this.sourceContents.has(digest), `P1: ${target} gets ${digest}, which the source never was`);
    const before = this.#held.get(target);
    promise(before === undefined || seq >= before, `P2: ${target} goes back from version ${before} to ${seq}`);
    if (before !== seq) this.#checkCommit({ target, seq, before }, circumstances);
    this.#held.set(target, seq);
    this.#entered.push({ target, seq, at: circumstances.now });
    if (circumstances.untouched) this.#checkOrder();
  }

  #checkCommit(
    { target, seq, before }: { readonly target: string; readonly seq: number; readonly before: number | undefined },
    given: Circumstances,
  ): void {
    const { ranked, changePolicy } = this.#world;
    const own = ranked.find(({ name }) => name === target);
    if (!own || before === undefined || !given.untouched) return;
    const { rank, delayMs } = own;
    const membersOf = (other: number): readonly string[] => ranked.flatMap((each) => (each.rank === other ? [each.name] : []));
    // Members of one rank catch up with each other after a crash.
    const isLive = membersOf(1).some((other) => (this.#held.get(other) ?? 0) >= seq);
    if (rank === 1 && !isLive && changePolicy === "Settled") {
      const forMs = given.now - given.sourceSince;
      promise(forMs + given.toleranceMs >= delayMs, `P4: ${target} gets version ${seq} after ${forMs} ms instead of ${delayMs}`);
    }
    for (const other of rank > 1 ? membersOf(rank - 1) : []) {
      const left = this.#entered.find((each) => each.target === other && each.seq > before)?.at;
      const forMs = left === undefined ? -1 : given.now - left;
      promise(
        left !== undefined && forMs + given.toleranceMs >= delayMs,
        `P5: ${target} drops version ${before} ${forMs} ms after ${other} did, instead of ${delayMs}`,
      );
    }
    const delays = ranked.map((each) => each.delayMs);
    const neverGrow = delays.every((each, index) => index === 0 || each <= (delays[index - 1] ?? 0));
    const nextDelay = ranked.find((each) => each.rank === rank + 1)?.delayMs ?? 0;
    const hasStabilized = membersOf(rank).every((other) => this.#hadFor(other, before, given.now) >= nextDelay);
    // A first fill waits for nothing; when a crash cuts it in two, its second part may be replaced before its time.
    for (const other of neverGrow && hasStabilized && changePolicy === "Settled" ? membersOf(rank + 1) : []) {
      promise((this.#held.get(other) ?? 0) >= before, `P6: version ${before} leaves ${target} before it is in ${other}`);
    }
  }

  /** For how long a target has held this version or a later one; forever unless it was its first. */
  #hadFor(target: string, seq: number, now: number): number {
    const entries = this.#entered.filter((each) => each.target === target);
    const index = entries.findIndex((each) => each.seq >= seq);
    return index > 0 ? Number.POSITIVE_INFINITY : now - (entries[index]?.at ?? Number.POSITIVE_INFINITY);
  }

  #checkOrder(): void {
    const { ranked } = this.#world;
    for (const higher of ranked) {
      const lower = ranked.filter(({ rank }) => rank < higher.rank).map(({ name }) => this.#held.get(name) ?? Number.POSITIVE_INFINITY);
      promise(Math.min(...lower) >= (this.#held.get(higher.name) ?? 0), `P3: ${higher.name} is ahead of a target of a lower order`);
    }
  }

  #checkRemoval(target: string, { now, toleranceMs, sourceGoneSince }: Circumstances): void {
    const delayMs = this.#world.ranked.find(({ name }) => name === target)?.delayMs ?? 0;
    promise(this.#world.targets.get(target)?.deletionMode === "cascade", `P13: ${target} keeps its content`);
    promise(this.#world.objects.get(target)?.ours === true, `P12: ${target} is somebody else's`);
    const goneFor = sourceGoneSince === undefined ? -1 : now - sourceGoneSince;
    promise(sourceGoneSince !== undefined && goneFor + toleranceMs >= delayMs, `P13: ${target} goes after ${goneFor} ms instead of ${delayMs}`);
  }
}

function promise(holds: boolean, message: string): void {
  if (!holds) throw new Error(message);
}
