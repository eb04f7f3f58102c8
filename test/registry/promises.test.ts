// What the engine promises holds for every controller of the registry, and for one more: on a simulated API server, in virtual time.
import type { ControllerDefinition } from "@keyturn/runtime";
import { describe, expect, test } from "vitest";
import { issuingController } from "../../packages/keyturn/src/controllers/eventing-auth/controller.ts";
import { readSettings } from "../../packages/keyturn/src/controllers/eventing-auth/flags.ts";
import type { FlagReader } from "../../packages/keyturn/src/feature/feature.ts";
import { readFlags } from "../../packages/keyturn/src/feature/flag.ts";
import { selectsAll } from "../../packages/keyturn/src/feature/pause-and-selection.ts";
import { features } from "../../packages/keyturn/src/registry.ts";
import { isRollouts } from "../../packages/keyturn/src/workloads/rollouts.ts";
import { type MakeController, PromisedWorld, type Refusal } from "./promised-world.ts";
import { type Scenario, scenarios } from "./scenarios.ts";
import { toyFeature } from "./toy-feature.ts";

const minute = 60_000;

/** By their names; those that restart workloads, which have one name together, by their feature's. */
function controllersOf({ flags = {} }: Pick<Scenario, "flags">): ReadonlyMap<string, ControllerDefinition> {
  const flag: FlagReader = (each) => readFlags({ each }, flags, {}).each;
  return new Map(
    [...features, toyFeature].flatMap((feature) =>
      feature.controllers(flag).map((controller) => [isRollouts(controller) ? feature.name : controller.name, controller] as const),
    ),
  );
}

function makeController(name: string, scenario: Scenario): MakeController {
  const controller = controllersOf(scenario).get(name);
  if (!controller) throw new Error(`there is no controller ${name}`);
  if (name !== "eventing-auth") return () => controller;
  // What the registry makes, but for the way to the servers outside.
  const settings = readSettings((flag) => readFlags({ flag }, scenario.flags ?? {}, {}).flag);
  return (openTransport) =>
    issuingController({ selects: selectsAll, settings, provider: { type: "ias", allowHttp: false, timeoutMs: 10_000 }, openTransport });
}

async function started(name: string, options: { readonly dryRun?: boolean } = {}): Promise<PromisedWorld> {
  const scenario = scenarioOf(name);
  const world = new PromisedWorld(scenario, makeController(name, scenario), options);
  await world.pass(20_000);
  return world;
}

/** Its life until before that change. */
async function lived(name: string, until: number): Promise<PromisedWorld> {
  const world = await started(name);
  for (const changes of scenarioOf(name).life.slice(0, until)) {
    world.change(changes);
    await world.pass(2 * minute);
  }
  return world;
}

function scenarioOf(name: string): Scenario {
  const scenario = scenarios[name];
  if (!scenario) throw new Error(`nothing is known that would make ${name} write something`);
  return scenario;
}

/** What is written while all goes well, each once, and what Ready says after each change. */
async function calmLife(name: string) {
  const world = await started(name);
  const readies: (string | undefined)[] = [];
  for (const changes of scenarioOf(name).life) {
    world.change(changes);
    await world.pass(2 * minute);
    readies.push(world.ready);
  }
  return { name, writes: [...new Set(world.writes)], reads: [...new Set(world.reads)], readies };
}

const lives = await Promise.all(Object.keys(scenarios).map(calmLife));

const always: readonly Refusal[] = [
  { status: 403, reason: "Forbidden" },
  { status: 503, reason: "ServiceUnavailable" },
  { status: 503, reason: "ServiceUnavailable", headers: { "retry-after": "3600" } },
];
const others: readonly Refusal[] = [
  { status: 409, reason: "Conflict" },
  { status: 422, reason: "Invalid" },
  { status: 500, reason: "InternalError" },
  "cut",
  { status: 404, reason: "NotFound" },
  "silence",
  { status: 429, reason: "TooManyRequests" },
  { status: 400, reason: "BadRequest" },
  "garbage",
  { status: 401, reason: "Unauthorized" },
  { status: 429, reason: "TooManyRequests", headers: { "retry-after": "3600" } },
  { status: 418, reason: "Teapot" },
  { status: 409, reason: "AlreadyExists" },
  { status: 302, reason: "Found", headers: { location: "/elsewhere" } },
  { status: 410, reason: "Gone" },
  { status: 500, reason: "", headers: { "retry-after": "3600" } },
  { status: 413, reason: "RequestEntityTooLarge" },
  { status: 504, reason: "Timeout" },
];
/** Each write is refused in the ways that are always tried, and in one more, which is another for the next write. With `REFUSALS=all` in all of them. */
const refusalsOf = (index: number): readonly Refusal[] => [
  ...always,
  ...(process.env["REFUSALS"] === "all" ? others : [others[index % others.length] ?? "cut"]),
];
const words: Readonly<Record<Exclude<Refusal, object>, string>> = {
  cut: "a cut connection",
  garbage: "what is no object",
  silence: "no response at all",
};
const inWords = (how: Refusal): string =>
  typeof how === "string" ? words[how] : [how.status, how.reason, ...Object.entries(how.headers ?? {}).map((header) => header.join(" "))].join(" ");

/**
 * Whoever has not been given the right restarts workloads all the same, and remembers no restarts: that is logged, and no failure. Nor is a look at a template
 * that would only have spared a restart.
 */
const isToldOtherwise = (write: string, how: Refusal): boolean =>
  write === "GET deployments/web" || (write.endsWith(" leases/keyturn-restarts") && typeof how === "object" && how.status === 403);

/** Every write and every read of every controller, and every way to refuse it that is tried. */
const cases = lives.flatMap(({ name, writes, reads, readies }) =>
  [...writes.entries(), ...reads.entries()].flatMap(([index, write]) =>
    refusalsOf(index)
      .filter((how) => !isToldOtherwise(write, how))
      .map((how) => ({ name, write, how, refusal: inWords(how), readies })),
  ),
);

/** What is made at the identity provider for each try to copy it into a cluster that refuses it, and is not used then, is cleared away. */
const isOfEveryTry = (said: string): boolean => said.startsWith("Normal OldSecretsDeleted runtime: ");

test.each(cases)(
  "$name: `$write`, refused with $refusal, is told within a minute, tried ever less often, and goes on by itself",
  async ({ name, write, how, readies }) => {
    const world = await started(name);
    const isRead = /\bGET /.test(write);
    const tries = (): number => (isRead ? world.reads : world.writes).filter((each) => each === write).length;
    const warnings = (): number => world.events.filter((event) => event.startsWith("Warning ")).length;
    world.refused = { write, how };
    for (const [index, changes] of scenarioOf(name).life.entries()) {
      const before = { tries: tries(), warnings: warnings() };
      world.change(changes);
      for (let seconds = 0; seconds < 90 && tries() === before.tries; seconds += 6) await world.pass(6_000);
      if (world.refused && tries() > before.tries) {
        await world.pass(minute);
        expect(warnings()).toBeGreaterThan(before.warnings);
        // Of a status that cannot be written, Events alone can tell.
        if (!write.endsWith("/status") && world.allReady.length > 0) expect(world.allReady).toContainEqual(expect.stringMatching(/^False /));
        const first = tries() - before.tries;
        // The identity provider is asked three times in a run, what is read may be asked for six times, and a status twice after a conflict.
        expect(first).toBeLessThan(isRead ? 90 : write.startsWith("tenant's ") || how !== "cut" ? 45 : 30);
        const told = world.said.length;
        await world.pass(15 * minute);
        // Nothing that is said of a failure is another at every try.
        expect(world.said.slice(told).filter((said) => !isOfEveryTry(said))).toEqual([]);
        const more = tries() - before.tries - first;
        expect(more).toBeGreaterThan(0);
        expect(more).toBeLessThan(45);
        world.refused = undefined;
        const then = tries();
        await world.pass(6 * minute);
        expect(tries()).toBeGreaterThan(then);
      }
      await world.pass(2 * minute);
      if (!world.refused) expect(world.ready).toBe(readies[index]);
    }
    expect(world.refused).toBeUndefined();
  },
);

describe.each(lives)("$name", ({ name, writes }) => {
  test("tells of a failure, and does not forget how often it failed, while changes keep coming", async () => {
    const world = await started(name);
    const [first = []] = scenarioOf(name).life;
    const write = writes.find((each) => !each.endsWith("/status")) ?? "";
    world.refused = { write, how: { status: 503, reason: "ServiceUnavailable" } };
    world.change(first);
    for (let count = 0; count < 20; count++) {
      await world.pass(3_000);
      world.churn(count);
    }
    expect(world.events.filter((event) => event.startsWith("Warning "))).not.toEqual([]);
    for (let count = 20; count < 100; count++) {
      world.churn(count);
      await world.pass(3_000);
    }
    expect(world.failures.size).toBeGreaterThan(0);
    for (const failures of world.failures.values()) expect(failures).toEqual(failures.toSorted((a, b) => a - b));
    // A change of what the plan is made from is tried at once, and brings a run for each of its objects at most.
    expect(world.writes.filter((each) => each === write).length).toBeLessThan(100 * (first.length + 2));
  });

  test("leaves a paused object alone", async () => {
    const { life, ofIt } = scenarioOf(name);
    const world = await started(name);
    for (const changes of life) {
      world.change(
        changes.filter(({ isGone }) => !isGone),
        { paused: true },
      );
      await world.pass(5 * minute);
    }
    expect(world.writes.filter((write) => write.includes(ofIt) && !write.endsWith("/status"))).toEqual([]);
  });

  const later = Array.from(scenarioOf(name).life.keys()).slice(1);

  test.each(later)("leaves an object alone that is paused before change %i of its life", async (from) => {
    const { life, tells, ofIt, endsIt = [] } = scenarioOf(name);
    const world = await lived(name, from);
    const known = life
      .slice(0, from)
      .flat()
      .filter(({ object, isGone }) => object.metadata.name === tells && !isGone);
    world.change(known.slice(-1), { paused: true });
    await world.pass(10_000);
    const before = world.writes.length;
    for (const changes of life.slice(from)) {
      world.change(
        changes.filter(({ object, isGone }) => !isGone || object.metadata.name !== tells),
        { paused: true },
      );
      await world.pass(5 * minute);
    }
    expect(world.writes.slice(before).filter((write) => write.includes(ofIt) && !write.endsWith("/status") && !endsIt.includes(write))).toEqual([]);
  });

  test.each(later)("changes nothing anywhere in a dry run that begins before change %i of its life", async (from) => {
    const world = await lived(name, from);
    world.startOperator({ dryRun: true });
    await world.pass(minute);
    const before = { writes: world.writes.length, events: world.events.length };
    for (const changes of scenarioOf(name).life.slice(from)) {
      world.change(changes);
      await world.pass(5 * minute);
    }
    expect([world.writes.slice(before.writes), world.events.slice(before.events)]).toEqual([[], []]);
  });

  test("changes nothing anywhere in a dry run, records nothing, and says what it would do", async () => {
    const world = await started(name, { dryRun: true });
    for (const changes of scenarioOf(name).life) {
      world.change(changes);
      await world.pass(5 * minute);
    }
    expect([world.writes, world.events]).toEqual([[], []]);
    expect(world.logs.filter((text) => /withheld/.test(text))).not.toEqual([]);
  });
});

test("every controller has its scenario", () => {
  expect(Object.keys(scenarios).toSorted()).toEqual([...controllersOf({}).keys()].toSorted());
});
