// One random story of a set: people edit it, the operator is killed and away, and a second leader carries out later what it has planned before.
import { type Random, seededRandom } from "@keyturn/runtime";
import { chance, drawInt, drawOne, drawWeighted } from "@keyturn/runtime/testing";
import type { RotationPlan } from "../../src/controllers/rotation/plan.ts";
import { RotationWorld } from "../rotation-model/rotation-world.ts";
import type { ScriptedTarget } from "../rotation-model/script.ts";
import {
  type Action,
  allDeleted,
  forgeries,
  givesUp,
  objectActions,
  operatorActions,
  recordActions,
  settingActions,
  sourceActions,
  stillActions,
  targetActions,
  unreadableActions,
} from "./actions.ts";
import { type Decisions, picture, reported, type Shelved, sourceText } from "./explorer.ts";
import { Invariants } from "./invariants.ts";

/** What a story is told by. */
interface Setting {
  readonly seed: number;
  readonly steps: number;
  /** Some targets wait for a version of their own. Default false. */
  readonly mayBeAbsent?: boolean;
  /** Default 1. */
  readonly leaders?: 1 | 2;
}

/** What came of it. */
interface Told {
  readonly writes: number;
  /** What happened, and what was wrong as its last line; undefined if nothing was. */
  readonly wrong: readonly string[] | undefined;
}

const startMs = Date.UTC(2026, 0, 1);
const waits = [0.5, 1, 2, 3, 5, 7, 12, 30];
/** More than any set needs to come to rest. */
const maxRuns = 14;
const maxTargets = 3;

/** Tells one story to its end, or until something is wrong. */
export function tellStory(decisions: Decisions, setting: Setting): Told {
  const story = new Story(decisions, setting);
  const wrong = story.tell();
  return { writes: story.writes, wrong: wrong === undefined ? undefined : [...story.lines, `     WRONG: ${wrong}`] };
}

class Story {
  readonly lines: string[] = [];
  writes = 0;
  readonly #decisions: Decisions;
  readonly #setting: Setting;
  readonly #random: Random;
  readonly #world = new RotationWorld();
  readonly #invariants = new Invariants();
  readonly #actions: readonly (readonly [weight: number, actions: readonly Action[]])[];
  #nowMs = startMs;
  #isRunning = true;
  #nextAtMs: number | undefined;
  #shelved: Shelved | undefined;

  constructor(decisions: Decisions, setting: Setting) {
    this.#decisions = decisions;
    this.#setting = setting;
    this.#random = seededRandom(setting.seed);
    const targets = this.#drawTargets();
    const names = Object.keys(targets);
    const [changes, ...others] = sourceActions;
    this.#actions = [
      [6, changes ? [changes] : []],
      [2, others],
      [5, targetActions(targets)],
      [0.3, [allDeleted]],
      [2, settingActions(names)],
      [2, objectActions(names)],
      [2, recordActions],
      [1, forgeries],
      [1, stillActions(names)],
      [0.5, [givesUp]],
      [0.5, unreadableActions],
      [1.5, operatorActions(names)],
    ];
    const first = names.slice(0, chance(this.#random, 0.4) ? 3 : 2);
    for (const name of first) if (targets[name]) this.#world.putTarget(name, targets[name]);
  }

  #drawTargets(): Readonly<Record<string, ScriptedTarget>> {
    const random = this.#random;
    const keeps = drawOne(random, [1, 0.5, 0]) ?? 1;
    const draw = (order: number, delay: number): ScriptedTarget => ({
      order,
      delay,
      deletionMode: chance(random, keeps) ? "keep" : "cascade",
      whenUnfilled: this.#setting.mayBeAbsent && chance(random, 0.3) ? "Absent" : "Backfill",
    });
    return { live: draw(2, 6), fallback: draw(3, 2), oldest: draw(4, 1), canary: draw(1, 6) };
  }

  tell(): string | undefined {
    for (let step = 0; step < this.#setting.steps; step++) {
      const wrong = this.#next();
      if (wrong !== undefined) return wrong;
    }
    return undefined;
  }

  #next(): string | undefined {
    const chosen = drawWeighted(this.#random, [
      [9, "act"],
      [8, "wait"],
      [2, "start"],
      [this.#setting.leaders === 2 ? 2 : 0, "other"],
    ] as const);
    if (chosen === "act") return this.#act();
    if (chosen === "wait") return this.#wait((drawOne(this.#random, waits) ?? 1) * 1000);
    if (chosen === "other") return this.#otherLeader();
    this.#isRunning = true;
    this.#tell("the operator is there");
    return this.#complete();
  }

  #act(): string | undefined {
    const action = drawOne(this.#random, drawWeighted(this.#random, this.#actions) ?? []);
    if (!action || (/is created/.test(action.name) && this.#world.targets.size >= maxTargets)) return undefined;
    if (!action.apply(this.#world.fork(), this.#nowMs)) return undefined;
    action.apply(this.#world, this.#nowMs);
    if (action.isSourceNew) this.#world.changes += 1;
    this.#invariants.edited(this.#world, this.#nowMs, { isSourceNew: action.isSourceNew ?? false });
    // What a leader does long after people have changed their minds is late, and nobody can promise otherwise.
    this.#shelved = undefined;
    this.#tell(action.name);
    if (!this.#isRunning) return undefined;
    if (chance(this.#random, 0.6)) return this.#complete();
    const plan = this.#planned();
    const cut = drawInt(this.#random, [0, plan.writes.length]);
    const wrong = this.#carryOut(plan, cut);
    this.#tell("✂ the operator is killed");
    this.#isRunning = false;
    this.#world.isFirstLook = true;
    return wrong;
  }

  #wait(forMs: number): string | undefined {
    const untilMs = this.#nowMs + forMs;
    for (let turns = 0; this.#isRunning && this.#nextAtMs !== undefined && this.#nextAtMs <= untilMs; turns++) {
      if (turns > maxRuns * 3) return "it does not come to rest";
      this.#nowMs = Math.max(this.#nowMs, this.#nextAtMs);
      const wrong = this.#complete();
      if (wrong !== undefined) return wrong;
    }
    this.#nowMs = untilMs;
    this.#tell(`${forMs / 1000} s go by${this.#isRunning ? "" : ", with no operator"}`);
    return undefined;
  }

  /** Another leader looks; or goes on with what it planned when it did, for as long as nobody is in its way. */
  #otherLeader(): string | undefined {
    const source = sourceText(this.#world);
    const shelved = this.#shelved;
    if (!shelved) {
      this.#shelved = { plan: this.#planned(), source, shape: this.#invariants.declared.text };
      this.#tell("another leader looks");
      return undefined;
    }
    this.#shelved = undefined;
    // Before anything moves, the source is read again.
    if (shelved.source !== source) return undefined;
    this.#tell("another leader goes on");
    return this.#carryOut(shelved.plan, shelved.plan.writes.length, true) ?? (this.#isRunning ? this.#complete() : undefined);
  }

  /** Runs until there is nothing more to do at this moment. */
  #complete(): string | undefined {
    for (let runs = 0; runs < maxRuns; runs++) {
      const plan = this.#planned();
      if (plan.writes.length > 0) {
        const wrong = this.#carryOut(plan, plan.writes.length);
        if (wrong !== undefined) return wrong;
        continue;
      }
      this.#nextAtMs = plan.nextAtMs && plan.nextAtMs - this.#world.clockAheadMs;
      this.#world.isFirstLook = !this.#world.isKindWatched;
      this.#world.changes = 0;
      this.#invariants.ran(this.#world, this.#nowMs);
      return this.#invariants.wrongAtRest(plan, this.#world, reported(this.#decisions, plan, this.#world));
    }
    return `after ${maxRuns} runs there is still something to do`;
  }

  #planned(): RotationPlan {
    const { planRotation, withBelievedAnnotations } = this.#decisions;
    return planRotation(this.#world.observe(withBelievedAnnotations), this.#nowMs + this.#world.clockAheadMs);
  }

  /** `mayBeRefused`: others may have written meanwhile. */
  #carryOut(plan: RotationPlan, writes: number, mayBeRefused = false): string | undefined {
    for (const write of plan.writes.slice(0, writes)) {
      const isAccepted = this.#world.accepts(write);
      const wrong = isAccepted ? this.#invariants.wrong(write, this.#world, this.#nowMs) : undefined;
      const isMade = isAccepted && wrong === undefined && this.#world.carryOut({ ...plan, writes: [write] });
      this.#tell(`  ${write.verb} ${"target" in write ? `${write.target}=` : ""}${"seq" in write ? write.seq : ""}${isMade ? "" : " ✂"}`);
      if (!isMade) return wrong ?? (mayBeRefused ? undefined : `${write.verb} is refused, though nobody else writes`);
      this.#invariants.made(write, this.#world, this.#nowMs);
      this.writes += 1;
    }
    return undefined;
  }

  #tell(what: string): void {
    this.lines.push(`${String((this.#nowMs - startMs) / 1000).padStart(6)} s ${what}  →  ${picture(this.#world)}`);
  }
}
