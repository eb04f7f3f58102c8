// Explores everything that can happen to a small set, breadth first: every sequence of actions, with the operator killed at any write, away, or at work.
import { hash } from "node:crypto";
import type { RotationLog } from "../../src/controllers/rotation/history.ts";
import type { RotationPlan, RotationWrite } from "../../src/controllers/rotation/plan.ts";
import { RotationWorld } from "../rotation-model/rotation-world.ts";
import type { ScriptedTarget } from "../rotation-model/script.ts";
import type { Action } from "./actions.ts";
import type * as decisions from "./decisions.ts";
import { Invariants } from "./invariants.ts";

/** The functions that decide, or such with a mistake in them. */
export type Decisions = Pick<typeof decisions, "planRotation" | "withBelievedAnnotations" | "reportOf" | "statusObjectOf">;

/** A world to explore. */
export interface Exploration {
  readonly decisions: Decisions;
  readonly targets: Readonly<Record<string, ScriptedTarget>>;
  /** How many versions went through the set before it is explored; 0 for one that does not exist yet. */
  readonly versions: number;
  readonly actions: readonly Action[];
  /** Targets that wait for publications: those of all versions before. Default none. */
  readonly waiting?: readonly string[];
  /** Writes also fail, and the operator goes on. Default false: whoever fails is killed. */
  readonly fails?: boolean;
  /** The operator is also killed when only statuses are left to be written. Default false. */
  readonly cutsStatuses?: boolean;
  /** With 2, another leader plans, and carries that out later, when the first one has gone on. Default 1. */
  readonly leaders?: 1 | 2;
  /** How many actions there are at most. */
  readonly depth: number;
  /** How long an absence or a wait is, in seconds. */
  readonly waits: readonly number[];
}

/** What came of it. */
interface Explored {
  readonly states: number;
  readonly runs: number;
  /** The first story that went wrong, with what was wrong as its last line. */
  readonly wrong: readonly string[] | undefined;
}

interface State {
  readonly world: RotationWorld;
  readonly invariants: Invariants;
  readonly nowMs: number;
  /** Absent: the operator was killed, and has not been started again. */
  readonly plan: RotationPlan | undefined;
  /** What another leader has planned and not carried out. Nobody can promise anything of one that acts on what people have changed since. */
  readonly shelved?: Shelved | undefined;
  readonly actions: number;
  /** Waits since the last action: they are no actions, so there must be an end to them. */
  readonly waits: number;
  readonly parent: State | undefined;
  readonly what: string;
}

/** A plan that another leader has made and not carried out. */
export interface Shelved {
  readonly plan: RotationPlan;
  /** What it saw of the source. */
  readonly source: string;
  /** What was declared. */
  readonly shape: string;
}

const startMs = Date.UTC(2026, 0, 1);
/** More than any set needs to come to rest at one moment. */
const maxRuns = 12;
/** Above all delays together, so that what is older makes no difference. */
const oldMs = 100_000;

/** Explores until something is wrong, or until there is nothing new. */
export function explore(exploration: Exploration): Explored {
  const explorer = new Explorer(exploration);
  try {
    explorer.run();
    return { ...explorer.counts, wrong: undefined };
  } catch (error) {
    if (!(error instanceof Wrong)) throw error;
    return { ...explorer.counts, wrong: error.story };
  }
}

/** A story that went wrong. */
class Wrong extends Error {
  readonly story: readonly string[];

  constructor(state: State, what: string) {
    const story: string[] = [`     WRONG: ${what}`];
    for (let at: State | undefined = state; at; at = at.parent) story.unshift(`${inSeconds(at.nowMs)} ${at.what}  →  ${picture(at.world)}`);
    super(story.join("\n"));
    this.name = "Wrong";
    this.story = story;
  }
}

class Explorer {
  readonly #exploration: Exploration;
  readonly #seen = new Set<string>();
  #runs = 0;

  constructor(exploration: Exploration) {
    this.#exploration = exploration;
  }

  get counts(): Omit<Explored, "wrong"> {
    return { states: this.#seen.size, runs: this.#runs };
  }

  run(): void {
    let level: readonly State[] = [this.#start()];
    while (level.length > 0) {
      const next: State[] = [];
      for (const state of level) {
        for (const successor of this.#successors(state)) {
          // There may be a million of them.
          const key = hash("sha1", keyOf(successor), "base64");
          if (this.#seen.has(key)) continue;
          this.#seen.add(key);
          next.push(successor);
        }
      }
      level = next;
    }
  }

  /** A set through which some versions went, each in its time. */
  #start(): State {
    const { targets, versions, waiting = [] } = this.#exploration;
    const world = new RotationWorld();
    for (const name of waiting) world.waiting.add(name);
    for (const [name, target] of Object.entries(targets)) world.putTarget(name, target);
    let state: State = {
      world,
      invariants: new Invariants(),
      nowMs: startMs,
      plan: undefined,
      actions: 0,
      waits: 0,
      parent: undefined,
      what: "start",
    };
    for (let version = 1; version <= versions; version++) {
      const content = `v${version}`;
      state =
        this.#acted(state, {
          name: `the source is ${content}`,
          isSourceNew: true,
          apply: (at, nowMs) => Boolean(at.published.set(content, nowMs) && at.putSource({ watched: content, content }, nowMs)),
        }) ?? state;
      state = this.#completed(state);
      state = this.#waited(state, 100);
    }
    return { ...state, actions: 0, waits: 0 };
  }

  *#successors(state: State): Generator<State> {
    const { actions, depth, waits } = { ...this.#exploration, actions: this.#exploration.actions };
    if (state.waits < 2) {
      for (const seconds of waits) {
        if (state.plan) yield this.#waited(state, seconds);
        else yield this.#completed({ ...passed(state, seconds), what: `away for ${seconds} s` });
      }
      const dueMs = dueOf(state);
      if (dueMs !== undefined && dueMs > state.nowMs && dueMs < state.nowMs + oldMs) {
        const due = { ...passed(state, (dueMs - state.nowMs) / 1000), plan: undefined, what: "the next moment at which something is due" };
        yield* this.#cutRuns(due);
      }
    }
    if (state.shelved) yield* this.#otherLeader(state, state.shelved);
    if (state.actions >= depth) return;
    if (this.#exploration.leaders === 2 && !state.shelved) {
      const shelved = { plan: this.#planned(state), source: sourceText(state.world), shape: state.invariants.declared.text };
      if (shelved.plan.writes.length > 0) yield { ...state, shelved, parent: state, what: "another leader looks" };
    }
    for (const action of actions) {
      const after = this.#acted(state, action);
      if (!after) continue;
      yield* this.#cutRuns(after);
      yield this.#completed(after);
    }
  }

  #acted(state: State, action: Action): State | undefined {
    const world = state.world.fork();
    if (!action.apply(world, state.nowMs)) return undefined;
    if (action.isSourceNew) world.changes += 1;
    const invariants = state.invariants.fork();
    invariants.edited(world, state.nowMs, { isSourceNew: action.isSourceNew ?? false });
    return { ...state, world, invariants, plan: undefined, actions: state.actions + 1, waits: 0, parent: state, what: action.name };
  }

  /** The other leader goes on with what it planned, until somebody is in its way; then both look again. */
  *#otherLeader(state: State, shelved: Shelved): Generator<State> {
    const { plan } = shelved;
    const { shelved: _, ...rest } = state;
    let at: State = rest;
    for (const write of plan.writes) {
      if (isStale(write, shelved, at)) break;
      at = { ...this.#carriedOut(at, { ...plan, writes: [write] }, 1), plan: undefined };
      yield at;
    }
    if (at !== rest) yield this.#completed({ ...at, parent: at, what: "another leader has gone on" });
  }

  /** The operator at work while time goes by. */
  #waited(state: State, seconds: number): State {
    const untilMs = state.nowMs + seconds * 1000;
    let at: State = { ...state, waits: state.waits + 1 };
    for (let turns = 0; ; turns++) {
      const dueMs = dueOf(at);
      if (dueMs === undefined || dueMs > untilMs) break;
      if (turns > maxRuns * 3) throw new Wrong(at, "it does not come to rest");
      at = this.#completed({ ...at, nowMs: Math.max(dueMs, at.nowMs), parent: at, what: "due" });
    }
    return { ...at, nowMs: untilMs, parent: at, what: `${seconds} s go by` };
  }

  /** The first run, cut before each of its writes. Before the first: the operator is away. */
  *#cutRuns(state: State): Generator<State> {
    const plan = this.#planned(state);
    const cuts = plan.writes.length + (this.#exploration.cutsStatuses && plan.writes.length > 0 ? 1 : 0);
    for (let cut = 0; cut < cuts; cut++) {
      const killed = this.#carriedOut(state, plan, cut);
      if (this.#exploration.fails) yield { ...killed, world: killed.world.fork(), plan: undefined };
      killed.world.isFirstLook = true;
      yield { ...killed, plan: undefined };
    }
  }

  /** Runs until there is nothing more to do at this moment. */
  #completed(state: State): State {
    let at = state;
    for (let runs = 0; runs < maxRuns; runs++) {
      const plan = this.#planned(at);
      const isDone = plan.writes.length === 0;
      if (isDone) {
        const invariants = at.invariants.fork();
        invariants.ran(at.world, at.nowMs);
        const world = at.world.fork();
        world.isFirstLook = !world.isKindWatched;
        world.changes = 0;
        const done = { ...at, world, invariants, plan };
        const wrong = invariants.wrongAtRest(plan, world, reported(this.#exploration.decisions, plan, world));
        if (wrong !== undefined) throw new Wrong(done, wrong);
        return done;
      }
      at = this.#carriedOut(at, plan, plan.writes.length);
    }
    throw new Wrong(at, `after ${maxRuns} runs there is still something to do`);
  }

  #planned({ world, nowMs }: State): RotationPlan {
    const { planRotation, withBelievedAnnotations } = this.#exploration.decisions;
    this.#runs += 1;
    return planRotation(world.observe(withBelievedAnnotations), nowMs + world.clockAheadMs);
  }

  #carriedOut(state: State, plan: RotationPlan, stopAfter: number): State {
    const world = state.world.fork();
    const invariants = state.invariants.fork();
    const words = plan.writes.map(
      (write, index) =>
        `${index === stopAfter ? "✂ " : ""}${write.verb} ${"target" in write ? `${write.target}=` : ""}${"seq" in write ? write.seq : ""}`,
    );
    const next: State = { ...state, world, invariants, parent: state, what: `  run: ${words.join(", ")}` };
    for (const write of plan.writes.slice(0, stopAfter)) {
      const wrong = invariants.wrong(write, world, state.nowMs);
      if (wrong !== undefined) throw new Wrong(next, wrong);
      if (!world.carryOut({ ...plan, writes: [write] })) throw new Wrong(next, `${write.verb} is refused, though nobody else writes`);
      invariants.made(write, world, state.nowMs);
    }
    return next;
  }
}

/** Writes the statuses of targets, which is the last thing that a run does. Returns the reasons of Ready. */
export function reported({ reportOf, statusObjectOf }: Decisions, plan: RotationPlan, world: RotationWorld): ReadonlyMap<string, string> {
  return new Map(
    [...plan.targets].map(([name, schedule]) => {
      const object = statusObjectOf("shop", { name, uid: world.targets.get(name)?.uid ?? "", generation: 1, statusDigest: undefined });
      const { fields, conditions } = reportOf(object, schedule, plan);
      const seq = fields?.currentVersion?.seq;
      if (seq !== undefined) world.reported.set(name, seq);
      else if (fields) world.reported.delete(name);
      return [name, conditions["Ready"]?.reason ?? ""];
    }),
  );
}

/**
 * True if the other leader does not make a write any more. It reads the source again before anything moves. What people have changed meanwhile of the set itself,
 * and that an object which it makes anew was made and lost meanwhile, nobody could tell it in time.
 */
function isStale(write: RotationWrite, { plan, source, shape }: Shelved, { world, invariants }: State): boolean {
  if (!world.accepts(write)) return true;
  const isOtherSource = source !== sourceText(world);
  if (write.verb === "createRecord" || (write.verb === "rebuildRecord" && write.from.type === "source")) return isOtherSource;
  if (write.verb !== "writeTarget") return false;
  const isMove = plan.targets.get(write.target)?.restored === false;
  if (isMove && (isOtherSource || shape !== invariants.declared.text)) return true;
  return !write.precondition && (invariants.given.get(write.target)?.seq ?? 0) > write.seq;
}

/** What a leader sees of the source. */
export function sourceText(world: RotationWorld): string {
  return [...world.sources.values()].map(({ uid, content, writtenAt }) => `${uid} ${content} ${writtenAt}`).join();
}

/** When time alone brings something, by the API server's clock. */
function dueOf({ plan, world }: State): number | undefined {
  return plan?.nextAtMs && plan.nextAtMs - world.clockAheadMs;
}

function passed(state: State, seconds: number): State {
  return { ...state, nowMs: state.nowMs + seconds * 1000, waits: state.waits + 1, parent: state };
}

/** All that decides about the future of a state, with times as ages and without identities. Texts are put together by hand: most of an exploration is this. */
function keyOf({ world, invariants, nowMs, plan, shelved, actions, waits }: State): string {
  const ageOf = (timeMs: number | undefined): number => (timeMs === undefined ? -1 : Math.min(nowMs - timeMs, oldMs));
  const sources = [...world.sources.values()];
  const [source] = sources;
  const uids = new Map<string, string>();
  let text = `${plan === undefined} ${world.isFirstLook || world.changes > 1 ? "?" : world.changes} ${actions} ${waits} ${sources.map(({ content, readable, writtenAt }) => `${content} ${readable} ${ageOf(writtenAt)}`).join()}`;
  text += ` ${[...world.paused].sort().join()} ${world.isPaused} ${world.isKindWatched} ${world.maintenance !== undefined} ${[...world.refused].sort().join()} ${[...world.givenUp].join()} ${world.clockAheadMs}`;
  for (const [content, fromMs] of world.waiting.size === 0 ? [] : world.published) text += `~${content} ${Math.max(ageOf(fromMs), -oldMs)}`;
  for (const { name, uid, order, delayMs, deletionMode } of [...world.targets.values()].sort(byName)) {
    text += `|${name} ${order} ${delayMs} ${deletionMode} ${world.reported.get(name)}`;
    uids.set(uid, name);
  }
  for (const { name, ours, digest, applied, ownedByTarget } of [...world.objects.values()].sort(byName))
    text += `|${name} ${ours} ${digest} ${ownedByTarget} ${applied ? `${applied.seq} ${applied.digest} ${ageOf(applied.atMs)} ${applied.isProven}` : ""}`;
  for (const seq of [...world.records.keys()].sort((a, b) => a - b)) {
    const { digest, seenAtMs, owners, log, proof } = world.records.get(seq) ?? {};
    text += `|${seq} ${digest} ${ageOf(seenAtMs)} ${proof} ${owners
      ?.map((uid) => uids.get(uid) ?? "")
      .sort()
      .join()}`;
    if (log) text += logKey(log, ageOf, source?.uid);
  }
  for (const write of shelved?.plan.writes ?? [])
    text += `>${write.verb} ${"target" in write ? write.target : ""} ${"seq" in write ? write.seq : ""} ${"atMs" in write ? ageOf(write.atMs) : ""} ${world.accepts(write)}`;
  return text + invariants.key(nowMs, ageOf);
}

function logKey(
  { source, commits, frozen, backfilled, shape }: RotationLog,
  ageOf: (timeMs: number | undefined) => number,
  uid: string | undefined,
): string {
  let text = ` ${source.state} ${ageOf(source.sinceMs)} ${"uid" in source && source.uid === uid} ${backfilled.join()}`;
  for (const { seq, digest, departedMs, liveMs, settledMs, at } of commits) {
    text += `,${seq} ${digest} ${ageOf(departedMs)} ${ageOf(liveMs)} ${settledMs}`;
    for (const name of Object.keys(at).sort()) text += ` ${name} ${ageOf(at[name])}`;
  }
  for (const { fromMs, toMs } of frozen) text += `;${ageOf(fromMs)} ${ageOf(toMs)}`;
  return `${text} ${shape?.ranks.join("<")} ${shape?.longestMs} ${shape?.next?.ranks.join("<")} ${ageOf(shape?.next?.sinceMs)}`;
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1;
}

/** What a person would see of a world. */
export function picture(world: RotationWorld): string {
  const [source] = world.sources.values();
  const targets = [...world.targets.values()].sort((a, b) => a.order - b.order).map(({ name, order }) => `${name}:${order}=${world.held(name)}`);
  const left = [...world.objects.keys()].filter((name) => !world.targets.has(name)).map((name) => `(${name}=${world.held(name)})`);
  return `source=${source?.content ?? "-"} ${[...targets, ...left].join(" ")} records ${[...world.records.keys()].join(",")}`;
}

function inSeconds(timeMs: number): string {
  return `${String((timeMs - startMs) / 1000).padStart(6)} s`;
}
