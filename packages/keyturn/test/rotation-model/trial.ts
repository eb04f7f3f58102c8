// Plays a story twice, with the controller's plan in a world in memory and with the naive simulator, and throws at the first difference or broken promise.
import type { planRotation, RotationPlan, RotationWrite } from "../../src/controllers/rotation/plan.ts";
import { differenceBetween, partDone } from "./difference.ts";
import { runOf, type Sight } from "./naive-rules.ts";
import { Promises } from "./promises.ts";
import type { LogEntry } from "./rotation-log.ts";
import { RotationWorld, type WorldSource } from "./rotation-world.ts";
import type { Action, Script } from "./script.ts";

/** The function under test. */
type PlanFunction = typeof planRotation;

const startMs = Date.UTC(2026, 0, 1);
/** One run in so many is tried with a crash after each of its writes. */
const crashEvery = 8;
/** A clock that is further off than this, and known to be, is not acted by. */
const maxSkewMs = 30_000;

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
  /** A run was cut and has not been made up for. */
  #isUnfinished = false;
  #untouched = true;
  #next: number | undefined;
  /** Something was changed and there was no run since. */
  #isUnseen = false;
  #runs = 0;
  /** What runs have seen of the source, and since when. */
  #looked: { readonly source: string; readonly since: number; readonly goneSince: number | undefined } = {
    source: "",
    since: startMs,
    goneSince: undefined,
  };

  constructor(script: Script, plan: PlanFunction, lines?: string[]) {
    this.#script = script;
    this.#plan = plan;
    this.#lines = lines;
    this.#world.changePolicy = script.changePolicy;
    script.targets.forEach((target, index) => this.#world.putTarget(nameOfTarget(index), target));
  }

  play(): void {
    for (const action of this.#script.actions) this.#act(action);
    this.#comeToRest();
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
        break;
      case "crash":
        this.#crashAfter = action.after;
        return;
      case "clock":
        this.#offset = action.offset * 1000;
        this.#isOffsetKnown = action.known;
        this.#offsets = [...this.#offsets, action.known ? 0 : this.#offset];
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
    else this.#run();
  }

  /** Time goes by and nothing happens: everything must come to rest, and the last word of the source be live. */
  #comeToRest(): void {
    this.#note(() => "comes to rest");
    this.#crashAfter = undefined;
    this.#offset = 0;
    this.#isOffsetKnown = true;
    for (let turns = 0; turns < 100; turns += 1) {
      this.#run();
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

  #putSource(change: Partial<WorldSource>): void {
    this.#promises.sourceContents.add(this.#world.putSource(change, this.#now).content);
  }

  #editTargets(action: Extract<Action, { readonly do: "edit" | "add" | "leave" }>): void {
    const name = nameOfTarget(action.target);
    const target = this.#world.targets.get(name);
    if (!this.#catchUp()) return;
    if (action.do === "edit" && target) this.#world.putTarget(name, { ...target, delay: target.delayMs / 1000, ...action.to });
    if (action.do === "add" && !target) this.#world.putTarget(name, action.spec);
    if (action.do === "leave" && target && this.#world.targets.size > 1) {
      this.#log.push({ type: "Left", target: name, object: this.#world.removeTarget(name) });
      this.#promises.forget(name);
    }
  }

  /** People are slower than a restart: before they edit anything, what was cut has been made up for, and what they did before has been seen. */
  #catchUp(): boolean {
    while (!this.#isSkewed && (this.#isUnfinished || this.#isUnseen)) this.#run();
    return !this.#isUnfinished && !this.#isUnseen;
  }

  get #isSkewed(): boolean {
    return this.#isOffsetKnown && Math.abs(this.#offset) > maxSkewMs;
  }

  #editObject(action: Extract<Action, { readonly do: "drift" | "foreign" }>): void {
    const name = nameOfTarget(action.target);
    if (!this.#world.targets.has(name) || !this.#catchUp()) return;
    if (action.do === "foreign") {
      this.#untouched = false;
      this.#world.takeName(name);
    } else if (!this.#world.spoil(name, action.how)) return;
    const isAbsent = action.do === "foreign" || action.how === "deleted";
    this.#log.push({ type: "Drifted", target: name, to: isAbsent ? "absent" : "edited" });
  }

  /** A write to the source that changes nothing that matters. */
  #touch(isSeen: boolean): void {
    this.#run();
    if (this.#world.sources.has("source")) this.#putSource({});
    if (isSeen && !this.#isUnfinished && this.#planNow().writes.length > 0) throw new Error("P18: an edit of nothing that matters made a write");
  }

  /** Lets time go by, with a run whenever the plan asked for one. */
  #wait(forMs: number): void {
    const end = this.#now + forMs;
    while (this.#next !== undefined && this.#next <= end) {
      if (this.#next <= this.#now) throw new Error("P10: the plan asks for a run that is overdue");
      this.#checkIdle(this.#next);
      this.#now = this.#next;
      this.#run();
    }
    this.#checkIdle(end);
    this.#now = end;
  }

  #toTheBrink(): void {
    if (this.#isUnfinished) return this.#run();
    if (this.#next === undefined || this.#next <= this.#now + 1) return;
    this.#now = this.#next - 1;
    this.#run();
  }

  /** Nothing may be due before the plan says so. What is due once stays due, so the last moment decides. */
  #checkIdle(until: number): void {
    if (this.#isUnfinished || this.#isUnseen || until <= this.#now + 1) return;
    const late = runOf(this.#log, this.#sight(until - 1));
    if (late.length > 0) throw new Error(`the plan sleeps until ${(until - startMs) / 1000} s, but before: ${JSON.stringify(late)}`);
  }

  #planNow(world = this.#world): RotationPlan {
    // The runtime corrects a clock that is known to be off, and gives up on one that is too far off.
    const nowMs = this.#isOffsetKnown ? this.#now : this.#now + this.#offset;
    return this.#plan(world.observe(), nowMs, this.#isSkewed ? { reason: "ClockSkew", message: "off", untilMs: nowMs + maxSkewMs } : undefined);
  }

  /** P8: wherever a plan is cut, beginning anew comes to the same end. Tried on copies of the world. */
  #checkEveryCrash(plan: RotationPlan): void {
    const ends = Array.from({ length: plan.writes.length + 1 }, (_, stopAfter) => {
      const world = this.#world.fork();
      world.carryOut(plan, { stopAfter });
      for (let next = this.#planNow(world); next.writes.length > 0; next = this.#planNow(world)) world.carryOut(next);
      return world.picture();
    });
    const cut = ends.findIndex((end) => end !== ends.at(-1));
    if (cut >= 0)
      throw new Error(`P8: cut after ${cut} of ${plan.writes.map(inWords).join(", ")}, it ends with ${ends[cut]} instead of ${ends.at(-1)}`);
  }

  #sight(at: number): Sight {
    const clockMs = this.#isOffsetKnown ? at : at + this.#offset;
    return { clockMs, skewed: this.#isSkewed, ...this.#world.sight(), changePolicy: this.#world.changePolicy };
  }

  /** A run, and another one for as long as the plan asks for it at once. Together they do what is due. */
  #run(): void {
    const sight = this.#sight(this.#now);
    const expected = runOf(this.#log, sight);
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
      if (plan.writes.length > 1 && (this.#runs += 1) % crashEvery === 0) this.#checkEveryCrash(plan);
      if (plan.writes.length > 0) this.#note(() => `run: ${plan.writes.map(inWords).join(", ")}${isCut ? ` -- cut after ${stopAfter}` : ""}`);
      this.#carryOut(plan, stopAfter);
      // The plan's times are the server's, as far as the process knows.
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
    const circumstances = {
      now: this.#now,
      toleranceMs,
      sourceSince: this.#looked.since,
      sourceGoneSince: this.#looked.goneSince,
      untouched: this.#untouched,
    };
    const world = this.#world;
    const isDone = world.carryOut(plan, { stopAfter, onWrite: (write) => this.#promises.check(write, circumstances) });
    if (!isDone) throw new Error("a write was refused, though nobody else writes");
  }

  /** Notes since when runs have seen the source as it is. */
  #lookAtSource(): void {
    const { source } = this.#world.sight();
    const seen = source.found === "one" ? `${source.uid} ${source.watched}` : source.found;
    if (seen === this.#looked.source) return;
    const since = source.found === "one" ? Math.min(source.writtenAt, this.#now) : this.#now;
    this.#looked = { source: seen, since, goneSince: source.found === "none" ? this.#now : undefined };
  }

  #compare(expected: readonly LogEntry[]): void {
    this.#log.push(...expected);
    const difference = differenceBetween(this.#log, this.#world);
    if (difference !== undefined) throw new Error(`${difference}\nexpected of this run: ${JSON.stringify(expected)}`);
    if (expected.at(-1)?.type === "Purged") this.#startAfresh();
    const again = this.#planNow();
    if (again.writes.length > 0) throw new Error(`P7: a second run writes ${again.writes.map(({ verb }) => verb).join(", ")}`);
  }

  /** What nobody holds any more is forgotten, also what RotationTargets left behind: somebody tidies up. */
  #startAfresh(): void {
    this.#promises.forgetAll();
    for (const [name, object] of this.#world.objects) if (object.ours && !this.#world.targets.has(name)) this.#world.objects.delete(name);
  }

  /** After a run that was cut, the world must be as after some part of what was to be done, from its beginning. */
  #adopt(expected: readonly LogEntry[], writesMade: number): void {
    if (writesMade === 0) return;
    const done = partDone(this.#log, expected, this.#world);
    if (!done) throw new Error(`after a crash the world is as after no part of ${JSON.stringify(expected)}`);
    this.#log.push(...done);
    if (done.at(-1)?.type === "Purged") this.#startAfresh();
    // Records go after the last object: from then on nothing is promised that they were needed for.
    else if (expected.at(-1)?.type === "Purged" && ![...this.#world.objects.values()].some(({ ours }) => ours)) this.#promises.forgetAll();
  }
}

function nameOfTarget(index: number): string {
  return `t${index + 1}`;
}

function inWords(write: RotationWrite): string {
  return `${write.verb} ${"target" in write ? `${write.target}=` : ""}${"seq" in write ? write.seq : ""}`;
}
