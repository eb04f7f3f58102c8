// What must hold at every single write of the operator, whatever people and machines do: E1 to E5, judged by true contents and true time alone.
import type { RotationPlan, RotationWrite } from "../../src/controllers/rotation/plan.ts";
import type { RotationWorld } from "../rotation-model/rotation-world.ts";

/** A shape as it is declared: the names of each rank, and what is promised by it. */
interface Declared {
  readonly ranks: readonly { readonly names: readonly string[]; readonly delayMs: number }[];
  readonly text: string;
}

/** A first delay that still counts, because the target that asks for it went, or was moved, a short time ago. */
interface Demand {
  readonly delayMs: number;
  readonly untilMs: number;
}

/** What stayed longer makes no difference. */
const oldMs = 20_000;
/** A return within this time, while nobody looked, cannot be told from no change. */
const blurMs = 2000;

/** Watches a set from outside. Forked with each branch of a story. */
export class Invariants {
  /** Since when the source has, without interruption, been what it is. */
  sourceSince = 0;
  #source: string | undefined;
  /** For how long the source has been each content at most, up to when it was another. */
  stayed = new Map<string, number>();
  /** Nobody looked when the source became what it is: since when that is can be told by the server's time of the write alone, which is of whole seconds. */
  #isBlurred = false;
  /** What the operator last gave each target, by name. */
  given = new Map<string, { readonly seq: number; readonly content: string }>();
  /** Contents that were ever in a target. */
  held = new Set<string>();
  /** Contents that were live, and when they stopped to be; undefined for those that are. */
  live = new Map<string, number | undefined>();
  #liveSeq = 0;
  #newest = 0;
  /** The shape that the operator has seen, and has gone by. */
  settled: Declared | undefined;
  /** Another shape that is declared, and since when the operator knows. */
  changed: { readonly text: string; readonly seenMs: number } | undefined;
  /** What is declared, and since when it truly is. */
  declared = { text: "", sinceMs: 0 };
  demands: readonly Demand[] = [];
  /** How far the operators' clocks have been ahead and behind: times are kept as well as they agree. */
  #clocks = { aheadMs: 0, behindMs: 0 };

  fork(): Invariants {
    const other = new Invariants();
    other.sourceSince = this.sourceSince;
    other.#source = this.#source;
    other.stayed = new Map(this.stayed);
    other.#isBlurred = this.#isBlurred;
    other.given = new Map(this.given);
    other.held = new Set(this.held);
    other.live = new Map(this.live);
    other.#liveSeq = this.#liveSeq;
    other.#newest = this.#newest;
    other.settled = this.settled;
    other.changed = this.changed;
    other.declared = this.declared;
    other.demands = this.demands;
    other.#clocks = this.#clocks;
    return other;
  }

  /** Somebody has changed something in the world. */
  edited(world: RotationWorld, nowMs: number, { isSourceNew }: { readonly isSourceNew: boolean }): void {
    if (isSourceNew) {
      if (this.#source !== undefined) this.stayed.set(this.#source, this.#stayedMs(this.#source, nowMs));
      const source = world.sources.get("source") ?? world.sources.get("other");
      this.#source = source?.readable ? source.content : undefined;
      this.sourceSince = nowMs;
      this.#isBlurred = world.isFirstLook || world.changes > 1;
    }
    const { aheadMs, behindMs } = this.#clocks;
    this.#clocks = { aheadMs: Math.max(aheadMs, world.clockAheadMs), behindMs: Math.max(behindMs, -world.clockAheadMs) };
    const { text } = declaredShape(world);
    if (text !== this.declared.text) this.declared = { text, sinceMs: nowMs };
    // Who deletes a target together with its object has asked for that.
    for (const name of this.given.keys()) if (!world.targets.has(name) && !world.objects.has(name)) this.given.delete(name);
    // What somebody has given up is nobody's to bring back.
    for (const [name, { seq }] of this.given) if (world.givenUp.has(seq)) this.given.delete(name);
    // With the newest record goes the only knowledge of delays that were.
    const newest = Math.max(0, ...world.records.keys());
    if (newest < this.#newest) this.settled = undefined;
    this.#newest = newest;
    // A first fill that was cut, and of which nothing is left, did not happen.
    const isCut = [...world.records.values()].every(({ log }) => log?.commits.length === 0);
    if (isCut && ![...world.objects.values()].some(({ ours }) => ours)) this.#forget();
    if (world.records.size > 0) return;
    // Without a history, what a target held whose object is gone too cannot be known. When everything went, what comes is a fresh start.
    for (const name of this.given.keys()) if (!world.objects.has(name) && !world.reported.has(name)) this.given.delete(name);
    if (![...world.targets.keys()].some((name) => this.given.has(name))) this.#reset();
  }

  /** By so much something may come before its time. */
  get #skewMs(): number {
    return this.#clocks.aheadMs + this.#clocks.behindMs;
  }

  #stayedMs(content: string, nowMs: number): number {
    return Math.max(this.stayed.get(content) ?? -1, this.#source === content ? nowMs - this.sourceSince : -1);
  }

  #forget(): void {
    this.held.clear();
    this.live.clear();
    this.#liveSeq = 0;
  }

  #reset(): void {
    this.#forget();
    this.settled = undefined;
    this.changed = undefined;
    this.demands = [];
  }

  /** The operator has written down what it saw. */
  #saw(world: RotationWorld, nowMs: number): void {
    const { text } = declaredShape(world);
    if (text === this.settled?.text) this.changed = undefined;
    else if (text !== this.changed?.text) this.changed = { text, seenMs: nowMs };
  }

  /** The operator has written down what it saw, or has done all that there was to do. */
  ran(world: RotationWorld, nowMs: number): void {
    this.#saw(world, nowMs);
    this.demands = this.demands.filter(({ untilMs }) => untilMs > nowMs);
    const { settled, changed } = this;
    if (settled && changed) {
      if (nowMs < changed.seenMs + longestDelay(settled)) return;
      const delayMs = firstDelay(settled);
      this.demands = [...this.demands, { delayMs, untilMs: changed.seenMs + delayMs }];
    }
    this.settled = declaredShape(world);
    this.changed = undefined;
  }

  /** What is wrong with a write, before it is made. */
  wrong(write: RotationWrite, world: RotationWorld, nowMs: number): string | undefined {
    if (write.verb === "deleteRecord") return this.#wrongDeletion(write.seq, world);
    if (write.verb === "deleteTarget") return this.#wrongRemoval(write.target, world);
    return write.verb === "writeTarget" ? this.#wrongContent(write, world, nowMs) : undefined;
  }

  /** A write has been made. */
  made(write: RotationWrite, world: RotationWorld, nowMs: number): void {
    this.#newest = Math.max(0, ...world.records.keys());
    // An older log says nothing to anybody.
    if ("log" in write && write.log && write.seq === this.#newest) this.ran(world, nowMs);
    // The history has served its purpose, and what comes is a fresh start.
    if (write.verb === "deleteRecord" && world.records.size === 0) {
      this.given.clear();
      this.#reset();
    }
    // What a target held whose object went with its source is nobody's any more.
    if (write.verb === "deleteTarget") this.given.delete(write.target);
    if (write.verb !== "writeTarget") return;
    const { target, seq, digest: content } = write;
    this.given.set(target, { seq, content });
    this.held.add(content);
    const [first] = declaredShape(world).ranks;
    if (!first?.names.includes(target)) return;
    // A target that gets back what it held, when others are further, makes nothing live again.
    if (seq >= this.#liveSeq) this.live.set(content, undefined);
    else if (!this.live.has(content)) this.live.set(content, nowMs);
    this.#liveSeq = Math.max(this.#liveSeq, seq);
    // With several in the first place, a version is no longer live when one of them has another.
    if (seq === this.#liveSeq) for (const [other, stopped] of this.live) if (stopped === undefined && other !== content) this.live.set(other, nowMs);
  }

  /** E4, and R5: the history of what is there is not thrown away. */
  #wrongDeletion(seq: number, world: RotationWorld): string | undefined {
    for (const name of world.targets.keys()) {
      const object = world.objects.get(name);
      if (object?.ours && object.applied?.isProven && object.applied.seq === seq && object.applied.digest === object.digest)
        return `E4: the record of version ${seq} goes, which ${name} holds`;
    }
    return undefined;
  }

  #wrongRemoval(target: string, world: RotationWorld): string | undefined {
    if (world.sources.size > 0) return `E2: the object of ${target} is deleted, and the source is there`;
    return world.targets.get(target)?.deletionMode === "keep" ? `E2: the object of ${target} is deleted, which keeps its content` : undefined;
  }

  #wrongContent(
    { target, seq, digest: content }: RotationWrite & { readonly verb: "writeTarget" },
    world: RotationWorld,
    nowMs: number,
  ): string | undefined {
    const before = this.given.get(target);
    if (before && before.seq > seq) return `E3: ${target} goes back from version ${before.seq} to ${seq}`;
    if (before?.seq === seq) return before.content === content ? undefined : `E3: version ${seq} is ${before.content} and ${content}`;
    const publishedMs = world.waiting.has(target) ? (world.published.get(content) ?? Number.POSITIVE_INFINITY) : 0;
    if (publishedMs > nowMs) return `publish-before: ${target} gets ${content}, whose key is not published for long enough`;
    const lost = this.#lost(world);
    if (lost !== undefined) return `E4: ${target} moves on, and ${lost} is lost`;
    return (
      (before && world.objects.has(target) ? this.#wrongMove(target, nowMs) : undefined) ??
      this.#early(target, content, { world, nowMs }) ??
      this.#nowhere(target, content, { world, nowMs })
    );
  }

  /** No target moves because of a change of shape alone: it must have held for the longest delay of the shape before. */
  #wrongMove(target: string, nowMs: number): string | undefined {
    const { settled, declared } = this;
    if (!settled || declared.text === settled.text) return undefined;
    return nowMs + this.#skewMs < declared.sinceMs + longestDelay(settled)
      ? `E2: ${target} moves ${nowMs - declared.sinceMs} ms after the set was changed from ${settled.text} to ${declared.text}`
      : undefined;
  }

  #early(target: string, content: string, { world, nowMs }: { readonly world: RotationWorld; readonly nowMs: number }): string | undefined {
    // Nothing is protected yet.
    if (this.live.size === 0) return undefined;
    const { ranks } = declaredShape(world);
    const isFirst = ranks[0]?.names.includes(target) ?? false;
    const isJoining = !this.given.has(target) || !world.objects.has(target);
    if (this.held.has(content) && (!isFirst || isJoining)) return undefined;
    const delayMs = Math.max(
      ranks[0]?.delayMs ?? 0,
      ...this.demands.filter(({ untilMs }) => untilMs > nowMs + this.#skewMs).map((demand) => demand.delayMs),
    );
    const heldMs = this.#stayedMs(content, nowMs);
    return heldMs + (this.#isBlurred ? blurMs : 0) + this.#skewMs < delayMs
      ? `E1: ${target} gets ${content} after ${heldMs} ms instead of ${delayMs}`
      : undefined;
  }

  #nowhere(target: string, content: string, { world, nowMs }: { readonly world: RotationWorld; readonly nowMs: number }): string | undefined {
    const object = world.objects.get(target);
    const before = object?.ours ? object.digest : undefined;
    if (before === undefined || before === content || !this.live.has(before)) return undefined;
    const { ranks } = declaredShape(world);
    if (ranks.some(({ delayMs }, index) => index > 0 && delayMs > (ranks[index - 1]?.delayMs ?? 0))) return undefined;
    const others = [...world.targets.keys()].filter((name) => name !== target);
    if (others.some((name) => world.objects.get(name)?.ours && world.objects.get(name)?.digest === before)) return undefined;
    const stoppedMs = this.live.get(before) ?? nowMs;
    const furtherMs = ranks.slice(1).reduce((sum, { delayMs }) => sum + delayMs, 0);
    return nowMs + this.#skewMs < stoppedMs + furtherMs
      ? `E2: ${before} is nowhere ${nowMs - stoppedMs} ms after it was live instead of ${furtherMs}`
      : undefined;
  }

  /** A content that the log says a target holds, and that is nowhere any more. */
  #lost(world: RotationWorld): string | undefined {
    const head = [...world.records.values()].toSorted((a, b) => b.seq - a.seq)[0];
    const kept = new Set([
      ...Array.from(world.records.values(), ({ digest }) => digest),
      ...Array.from(world.sources.values(), ({ content }) => content),
    ]);
    for (const object of world.objects.values()) if (object.ours) kept.add(object.digest);
    for (const name of world.targets.keys()) {
      const last = head?.log?.commits.findLast(({ at }) => Object.hasOwn(at, name));
      if (last && !kept.has(last.digest) && !world.givenUp.has(last.seq)) return last.digest;
    }
    return undefined;
  }

  /** What is wrong when all is done and only an event can bring more. `reasons` are those of Ready, by target. */
  wrongAtRest(plan: RotationPlan, world: RotationWorld, reasons: ReadonlyMap<string, string>): string | undefined {
    const [source, ...others] = world.sources.values();
    if (!source?.readable || others.length > 0) return undefined;
    const [first] = declaredShape(world).ranks;
    const behind = first?.names.find((name) => world.objects.get(name)?.digest !== source.content);
    const happy = [...reasons].find(([, reason]) => isContent(reason))?.[0];
    if (behind !== undefined && plan.nextAtMs === undefined && happy !== undefined)
      return `E5: ${behind} does not hold ${source.content}, nothing will change that, and ${happy} says ${reasons.get(happy)}`;
    const isStopped = plan.setBlocker !== undefined || [...plan.targets.values()].some(({ blocker, unpublished }) => blocker ?? unpublished);
    // Where nothing is left that was live, the next version is waited for.
    const isAwaited = plan.nextAtMs !== undefined && ![...world.records.values()].some(({ digest }) => this.live.has(digest));
    const empty = [...world.targets.values()].find(
      ({ name, whenUnfilled }) =>
        whenUnfilled === "Backfill" && !world.objects.has(name) && (isContent(reasons.get(name)) || !(isStopped || isAwaited)),
    )?.name;
    return empty !== undefined ? `E5: ${empty} has no object, and nobody says why` : undefined;
  }

  /** All that decides about the future, with times as ages. */
  key(nowMs: number, ageOf: (timeMs: number | undefined) => number): string {
    const { sourceSince, stayed, given, held, live, settled, changed, declared, demands } = this;
    let text = `#${this.#skewMs} ${this.#liveSeq} ${this.#isBlurred} ${this.#newest} ${declared.text} ${ageOf(declared.sinceMs)} ${ageOf(sourceSince)} ${[...held].sort().join()} ${settled?.text} ${settled && longestDelay(settled)} ${changed?.text} ${ageOf(changed?.seenMs)}`;
    for (const content of [...stayed.keys()].sort()) text += `,${content} ${Math.min(stayed.get(content) ?? 0, oldMs)}`;
    for (const name of [...given.keys()].sort()) text += `;${name} ${given.get(name)?.seq} ${given.get(name)?.content}`;
    for (const content of [...live.keys()].sort()) text += `.${content} ${ageOf(live.get(content))}`;
    for (const { delayMs, untilMs } of demands) if (untilMs > nowMs) text += `!${delayMs} ${untilMs - nowMs}`;
    return text;
  }
}

function isContent(reason: string | undefined): boolean {
  return reason === "UpToDate" || reason === "Rotating";
}

function declaredShape(world: RotationWorld): Declared {
  const orders = [...new Set(Array.from(world.targets.values(), ({ order }) => order))].sort((a, b) => a - b);
  const ranks = orders.map((order) => {
    const members = [...world.targets.values()].filter((target) => target.order === order);
    return { names: members.map(({ name }) => name).sort(), delayMs: Math.max(...members.map(({ delayMs }) => delayMs)) };
  });
  return { ranks, text: ranks.map(({ names }) => names.join("=")).join(" < ") };
}

function firstDelay({ ranks }: Declared): number {
  return ranks[0]?.delayMs ?? 0;
}

function longestDelay({ ranks }: Declared): number {
  return Math.max(0, ...ranks.map(({ delayMs }) => delayMs));
}
