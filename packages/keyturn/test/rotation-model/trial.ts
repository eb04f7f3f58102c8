// Plays a story twice, with the controller's plan in a world in memory and with the naive simulator, and throws at the first difference or broken promise.
import type { planRotation } from "../../src/controllers/rotation/plan.ts";
import type { RotationPlan, RotationWrite } from "../../src/controllers/rotation/rotation-plan.ts";
import { passOf, type Sight } from "./naive-rules.ts";
import { Promises } from "./promises.ts";
import { heldVersion, type Log, type LogEntry, retainedVersions, sincePurge, versionOf } from "./rotation-log.ts";
import { RotationWorld, type WorldSource } from "./rotation-world.ts";
import type { Action, Script, ScriptedTarget } from "./script.ts";

/** The function under test. */
export type PlanFunction = typeof planRotation;

const startMs = Date.UTC(2026, 0, 1);
/** A clock that is further off than this, and known to be, is not acted by. */
const mostSkewMs = 30_000;

/** Plays a story to its end and until nothing is left to be done; throws with its timeline if anything is wrong. */
export function playScript(script: Script, plan: PlanFunction): void {
  try {
    new Trial(script, plan).play();
  } catch {
    // Again, and this time taking notes.
    const lines: string[] = [];
    try {
      new Trial(script, plan, lines).play();
    } catch (thrown) {
      throw new Error([thrown instanceof Error ? thrown.message : String(thrown), ...lines].join("\n"), { cause: thrown });
    }
    throw new Error("a story went wrong the first time and not the second: the plan is no pure function");
  }
}

class Trial {
  readonly #plan: PlanFunction;
  readonly #world = new RotationWorld();
  readonly #promises = new Promises(this.#world);
  readonly #script: Script;
  /** The timeline, if it is wanted. */
  readonly #lines: string[] | undefined;
  readonly #log: LogEntry[] = [];
  #now = startMs;
  #offset = 0;
  #isOffsetKnown = true;
  #offsets: readonly number[] = [0];
  #crashAfter: number | undefined;
  /** A pass was cut and has not been made up for. */
  #isUnfinished = false;
  #untouched = true;
  #next: number | undefined;
  /** Something was changed and there was no pass since. */
  #isUnseen = false;
  /** What passes have seen of the source, and since when. */
  #looked: { readonly mark: string; readonly since: number; readonly goneSince: number | undefined } = { mark: "", since: startMs, goneSince: undefined };

  constructor(script: Script, plan: PlanFunction, lines?: string[]) {
    this.#script = script;
    this.#plan = plan;
    this.#lines = lines;
    this.#world.changePolicy = script.changePolicy;
    script.targets.forEach((target, index) => this.#putTarget(index, target));
  }

  play(): void {
    for (const action of this.#script.actions) this.#act(action);
    this.#settle();
  }

  #act(action: Action): void {
    this.#note(() => JSON.stringify(action));
    switch (action.do) {
      case "set":
        this.#putSource({ watched: `v${action.value}`, content: action.unwatched > 0 ? `v${action.value}+` : `v${action.value}` });
        break;
      case "delete":
        this.#world.sources.clear();
        break;
      case "recreate":
        this.#putSource({ uid: this.#world.nextId() });
        break;
      case "lose path":
        this.#putSource({ readable: this.#world.sources.get("source")?.readable === false });
        break;
      case "second source":
        if (!this.#world.sources.delete("other")) this.#putSource({ name: "other", uid: this.#world.nextId() });
        break;
      case "touch":
        return this.#touch(action.seen);
      case "wait":
        return this.#wait(action.seconds * 1000);
      case "brink":
        return this.#toTheBrink();
      case "down":
        this.#now += action.seconds * 1000;
        this.#pass();
        break;
      case "crash":
        this.#crashAfter = action.after;
        return;
      case "clock":
        this.#offset = action.offset * 1000;
        this.#isOffsetKnown = action.known;
        this.#offsets = [...this.#offsets, action.known ? 0 : this.#offset];
        this.#pass();
        break;
      case "edit":
      case "add":
      case "leave":
        this.#untouched = false;
        this.#editTargets(action);
        break;
      case "drift":
      case "foreign":
        this.#editObject(action);
        break;
    }
    if ("seen" in action && !action.seen) this.#isUnseen = true;
    else this.#pass();
  }

  /** Time goes by and nothing happens: everything must come to rest, and the last word of the source be live. */
  #settle(): void {
    this.#note(() => "settle");
    this.#crashAfter = undefined;
    this.#offset = 0;
    this.#isOffsetKnown = true;
    for (let turns = 0; turns < 100; turns += 1) {
      this.#pass();
      if (this.#next === undefined) break;
      // Time that ran ahead, by a clock that was fast, has to be made up for.
      this.#now = Math.max(this.#next, this.#now);
    }
    if (this.#next !== undefined) throw new Error("P10: it does not come to rest");
    const source = this.#world.sight().source;
    for (const { name, rank } of this.#world.ranked) {
      const held = this.#world.held(name);
      if (source.found === "one" && rank === 1 && held !== "x" && !this.#isSeenAs(held, source.watched)) {
        throw new Error(`P10: the source has come to rest as ${source.watched}, and ${name} holds ${held}`);
      }
    }
    this.#now += 86_400_000;
    if (this.#planNow().writes.length > 0) throw new Error("P10: it does not stay at rest");
  }

  #isSeenAs(held: string, watched: string): boolean {
    return held === watched || held === `${watched}+`;
  }

  #note(text: () => string): void {
    if (!this.#lines) return;
    const held = this.#world.ranked.map(({ name }) => `${name}=${this.#world.held(name)}@${this.#world.objects.get(name)?.applied?.seq ?? "-"}`);
    const sources = [...this.#world.sources.values()].map(({ content, readable }) => (readable ? content : "unreadable")).join("+");
    this.#lines.push(`${((this.#now - startMs) / 1000).toFixed(1).padStart(8)} s  source=${sources || "-"}  [${held.join(" ")}]  ${text()}`);
  }

  #putTarget(index: number, { delay, ...spec }: ScriptedTarget, uid = this.#world.nextId()): void {
    const name = `t${index + 1}`;
    this.#world.targets.set(name, { ...spec, name, uid, delayMs: delay * 1000 });
  }

  #putSource(change: Partial<WorldSource>): void {
    const { name = "source" } = change;
    const first: WorldSource = { name, uid: this.#world.nextId(), watched: "v0", content: "v0", readable: true, writtenAt: 0 };
    // The server's times are of whole seconds; the controller takes the later end.
    const writtenAt = Math.ceil(this.#now / 1000) * 1000;
    const source = { ...first, ...this.#world.sources.get(name), ...change, writtenAt };
    this.#world.sources.set(name, source);
    this.#promises.sourceContents.add(source.content);
  }

  #editTargets(action: Extract<Action, { readonly do: "edit" | "add" | "leave" }>): void {
    const name = `t${action.target + 1}`;
    const target = this.#world.targets.get(name);
    if (!this.#catchUp()) return;
    if (action.do === "edit" && target) {
      const { delay = target.delayMs / 1000, ...others } = action.to;
      this.#putTarget(action.target, { ...target, ...others, delay }, target.uid);
    }
    if (action.do === "add" && !target) this.#putTarget(action.target, action.spec);
    if (action.do === "leave" && target && this.#world.targets.size > 1) {
      this.#log.push({ type: "Left", target: name, object: this.#world.removeTarget(name) });
      this.#promises.forget(name);
    }
  }

  /** People are slower than a restart: before they edit anything, what was cut has been made up for, and what they did before has been seen. */
  #catchUp(): boolean {
    while (!this.#isSkewed && (this.#isUnfinished || this.#isUnseen)) this.#pass();
    return !this.#isUnfinished && !this.#isUnseen;
  }

  get #isSkewed(): boolean {
    return this.#isOffsetKnown && Math.abs(this.#offset) > mostSkewMs;
  }

  #editObject(action: Extract<Action, { readonly do: "drift" | "foreign" }>): void {
    const name = `t${action.target + 1}`;
    if (!this.#world.targets.has(name) || !this.#catchUp()) return;
    const object = this.#world.objects.get(name);
    const resourceVersion = this.#world.nextId();
    if (action.do === "foreign") {
      this.#untouched = false;
      if (object?.ours === false) this.#world.objects.delete(name);
      else {
        const foreign = { resource: "secrets", name, uid: this.#world.nextId(), resourceVersion, ours: false, digest: "theirs", ownedByTarget: false };
        this.#world.objects.set(name, foreign);
      }
      this.#log.push({ type: "Drifted", target: name, to: "absent" });
    } else if (object?.ours) {
      const { applied, ...bare } = object;
      if (action.how === "deleted") this.#world.objects.delete(name);
      if (action.how === "edited") this.#world.objects.set(name, { ...object, resourceVersion, digest: "edited" });
      if (action.how === "unlabelled") this.#world.objects.set(name, { ...bare, resourceVersion });
      this.#log.push({ type: "Drifted", target: name, to: action.how === "deleted" ? "absent" : "edited" });
    }
  }

  /** A write to the source that changes nothing that matters. */
  #touch(isSeen: boolean): void {
    this.#pass();
    const source = this.#world.sources.get("source");
    if (source) this.#world.sources.set("source", { ...source, writtenAt: Math.ceil(this.#now / 1000) * 1000 });
    if (isSeen && !this.#isUnfinished && this.#planNow().writes.length > 0) throw new Error("P18: an edit of nothing that matters made a write");
  }

  /** Lets time go by, with a pass whenever the plan asked for one. */
  #wait(forMs: number): void {
    const end = this.#now + forMs;
    while (this.#next !== undefined && this.#next <= end) {
      if (this.#next <= this.#now) throw new Error("P10: the plan asks for a pass that is overdue");
      this.#checkIdle(this.#next);
      this.#now = this.#next;
      this.#pass();
    }
    this.#checkIdle(end);
    this.#now = end;
  }

  #toTheBrink(): void {
    if (this.#isUnfinished) return this.#pass();
    if (this.#next === undefined || this.#next <= this.#now + 1) return;
    this.#now = this.#next - 1;
    this.#pass();
  }

  /** Nothing may be due before the plan says so. What is due once stays due, so the last moment tells. */
  #checkIdle(until: number): void {
    if (this.#isUnfinished || this.#isUnseen || until <= this.#now + 1) return;
    const late = passOf(this.#log, this.#sight(until - 1));
    if (late.length > 0) throw new Error(`the plan sleeps until ${(until - startMs) / 1000} s, but before: ${JSON.stringify(late)}`);
  }

  #planNow(): RotationPlan {
    const ahead = this.#isOffsetKnown ? -this.#offset : undefined;
    return this.#plan(this.#world.observe(ahead), this.#now + this.#offset);
  }

  #sight(at: number): Sight {
    const clockMs = this.#isOffsetKnown ? at : at + this.#offset;
    return { clockMs, skewed: this.#isSkewed, ...this.#world.sight(), changePolicy: this.#world.changePolicy };
  }

  /** A pass, and another one for as long as the plan asks for it at once. Together they do what is due. */
  #pass(): void {
    const sight = this.#sight(this.#now);
    const expected = passOf(this.#log, sight);
    const unnoted = this.#looked;
    if (!sight.skewed) this.#lookAtSource();
    const crashAfter = this.#crashAfter ?? Number.POSITIVE_INFINITY;
    this.#crashAfter = undefined;
    let writes = 0;
    let isCut = false;
    do {
      const plan = this.#planNow();
      const stopAfter = crashAfter - writes;
      isCut = stopAfter <= plan.writes.length;
      if (plan.writes.length > 0) this.#note(() => `pass: ${plan.writes.map(inWords).join(", ")}${isCut ? ` -- cut after ${stopAfter}` : ""}`);
      this.#carryOut(plan, stopAfter);
      // The plan's times are the server's, as far as the process can tell.
      this.#next = plan.nextAtMs === undefined ? undefined : plan.nextAtMs - (this.#isOffsetKnown ? 0 : this.#offset);
      writes += plan.writes.length;
      if (plan.writes.length === 0) break;
    } while (!isCut && this.#next !== undefined && this.#next <= this.#now);
    if (isCut) this.#next = undefined;
    // What was seen and not written down was not seen.
    if (isCut && crashAfter === 0) this.#looked = unnoted;
    if (isCut) this.#adopt(expected, crashAfter);
    else this.#compare(expected);
    // With a clock that cannot be trusted nothing is made up for.
    this.#isUnfinished = isCut || (this.#isUnfinished && this.#isSkewed);
    this.#isUnseen &&= this.#isSkewed;
  }

  #carryOut(plan: RotationPlan, stopAfter: number): void {
    const toleranceMs = Math.max(...this.#offsets) - Math.min(...this.#offsets);
    const circumstances = { now: this.#now, toleranceMs, sourceSince: this.#looked.since, sourceGoneSince: this.#looked.goneSince, untouched: this.#untouched };
    const world = this.#world;
    const isDone = world.carryOut(plan, { stopAfter, onWrite: (write) => this.#promises.check(write, circumstances) });
    if (!isDone) throw new Error("a write was refused, though nobody else writes");
  }

  /** Notes since when passes have seen the source as it is. */
  #lookAtSource(): void {
    const { source } = this.#world.sight();
    const mark = source.found === "one" ? `${source.uid} ${source.watched}` : source.found;
    if (mark === this.#looked.mark) return;
    const since = source.found === "one" ? Math.min(source.writtenAt, this.#now) : this.#now;
    this.#looked = { mark, since, goneSince: source.found === "none" ? this.#now : undefined };
  }

  #compare(expected: readonly LogEntry[]): void {
    this.#log.push(...expected);
    const difference = differenceBetween(this.#log, this.#world);
    if (difference !== undefined) throw new Error(`${difference}\nexpected of this pass: ${JSON.stringify(expected)}`);
    if (expected.at(-1)?.type === "Purged") this.#startAfresh();
    const again = this.#planNow();
    if (again.writes.length > 0) throw new Error(`P7: a second pass writes ${again.writes.map(({ verb }) => verb).join(", ")}`);
  }

  /** What nobody holds any more is forgotten, also what RotationTargets left behind: somebody tidies up. */
  #startAfresh(): void {
    this.#promises.forgetAll();
    for (const [name, object] of this.#world.objects) if (object.ours && !this.#world.targets.has(name)) this.#world.objects.delete(name);
  }

  /** After a pass that was cut, the world must be as after some part of what was to be done, from its beginning. */
  #adopt(expected: readonly LogEntry[], writesMade: number): void {
    if (writesMade === 0) return;
    const isNote = ["Observed", "Back", "Gone"].includes(expected[0]?.type ?? "");
    const drops = expected.filter(({ type }) => type === "Dropped" || type === "Purged");
    const steps = expected.slice(0, expected.length - drops.length);
    for (let done = steps.length; done >= (isNote ? 1 : 0); done -= 1) {
      const log = [...this.#log, ...steps.slice(0, done)];
      // Versions may be dropped in any order.
      const isPurging = drops.some(({ type }) => type === "Purged");
      const going = isPurging ? retainedVersions(sincePurge(log)) : drops.filter((drop) => drop.type === "Dropped");
      const dropped = going.filter(({ seq }) => !this.#world.records.has(seq)).map(({ seq }): LogEntry => ({ type: "Dropped", seq }));
      const isPurged = isPurging && this.#world.records.size === 0;
      const candidate: Log = isPurged ? [...log, { type: "Purged" }] : [...log, ...dropped];
      if (differenceBetween(candidate, this.#world) !== undefined) continue;
      this.#log.splice(0, this.#log.length, ...candidate);
      if (isPurged) this.#startAfresh();
      else if (isPurging) this.#promises.forgetAll();
      return;
    }
    throw new Error(`after a crash the world is as after no part of ${JSON.stringify(expected)}`);
  }
}

function inWords(write: RotationWrite): string {
  return `${write.verb} ${"target" in write ? `${write.target}=` : ""}${"seq" in write ? write.seq : ""}`;
}

/** What is in the world and not in the log, or the other way round. */
function differenceBetween(whole: Log, world: RotationWorld): string | undefined {
  const log = sincePurge(whole);
  for (const name of world.targets.keys()) {
    const held = heldVersion(log, name);
    const object = world.objects.get(name);
    const expected = typeof held === "number" ? versionOf(log, held).content : held === "absent" ? (object?.ours === false ? "x" : "-") : "?";
    if (world.held(name) !== expected) return `${name} holds ${world.held(name)} instead of ${expected}`;
    const commit = log.findLast((entry) => entry.type === "Committed" && entry.target === name);
    if (typeof held === "number" && object?.applied?.seq !== held) return `${name} has version ${object?.applied?.seq} instead of ${held}`;
    if (typeof held === "number" && commit?.type === "Committed" && object?.applied?.atMs !== commit.at) {
      return `${name} is dated ${((object?.applied?.atMs ?? 0) - startMs) / 1000} s instead of ${(commit.at - startMs) / 1000} s`;
    }
  }
  const kept = [...world.records.values()].sort((a, b) => a.seq - b.seq).map(({ seq, digest }) => `${seq}:${digest}`);
  const wanted = retainedVersions(log).map(({ seq, content }) => `${seq}:${content}`);
  return kept.join() === wanted.join() ? undefined : `the history is [${kept.join()}] instead of [${wanted.join()}]`;
}
