// What the engine promises holds for every controller of the registry, and for one more: on a simulated API server, in virtual time.
import { describe, expect, test } from "vitest";
import { readFlags } from "../../packages/keyturn/src/feature/flag.ts";
import { features } from "../../packages/keyturn/src/registry.ts";
import { PromisedWorld, type Refusal, scenarios } from "./promised-world.ts";
import { toyFeature } from "./toy-feature.ts";

const registry = [...features, toyFeature];
/** Checksums of Ingresses are made by the same controller as those of Secrets, made with other settings. */
const twins = new Set(["checksum-ingress"]);
const names = registry
  .flatMap((feature) => feature.controllers((flag) => readFlags({ flag }, {}, {}).flag).map(({ name }) => name))
  .filter((name) => !twins.has(name));

function world(name: string, options: { readonly dryRun?: boolean } = {}): PromisedWorld {
  const scenario = scenarios[name];
  const { flags = {} } = scenario ?? {};
  const controllers = registry.flatMap((feature) => feature.controllers((flag) => readFlags({ flag }, flags, {}).flag));
  const controller = controllers.find((each) => each.name === name);
  if (!scenario || !controller) throw new Error(`nothing is known that would make ${name} write something`);
  return new PromisedWorld(scenario, controller, options);
}

const refusals: readonly Refusal[] = [
  { status: 403, reason: "Forbidden" },
  { status: 422, reason: "Invalid" },
  { status: 429, reason: "TooManyRequests" },
  { status: 500, reason: "InternalError" },
  { status: 503, reason: "ServiceUnavailable" },
];
const minute = 60_000;

describe.each(names)("%s", (name) => {
  test("writes, or this says nothing", async () => {
    const { pass, put, ...rest } = bound(world(name));
    await pass(20_000);
    put();
    await pass(minute);
    expect(rest.wanted()).not.toEqual([]);
  });

  test.each(refusals)(
    "a write that is refused with $status shows in its condition and an Event within a minute, and is tried again",
    async (refusal) => {
      const promised = world(name);
      const { pass, put, wanted } = bound(promised);
      await pass(20_000);
      promised.refusal = refusal;
      put();
      await pass(minute);
      expect(promised.told).toEqual({ condition: true, event: true });
      const tries = wanted().length;
      expect(tries).toBeLessThan(20);
      await pass(15 * minute);
      expect(wanted().length).toBeGreaterThan(tries);
      expect(wanted().length).toBeLessThan(tries + 60);
      promised.refusal = undefined;
      const before = wanted().length;
      await pass(15 * minute);
      expect(wanted().length).toBeGreaterThan(before);
      const after = wanted().length;
      await pass(30 * minute);
      expect(wanted().length).toBeLessThanOrEqual(after + 1);
    },
  );

  test("a paused object is left alone", async () => {
    const { pass, put, wanted } = bound(world(name));
    await pass(20_000);
    put({ paused: true });
    await pass(15 * minute);
    expect(wanted()).toEqual([]);
  });

  test("a dry run changes nothing anywhere, records nothing, and says what it would do", async () => {
    const promised = world(name, { dryRun: true });
    const { pass, put } = bound(promised);
    await pass(20_000);
    put();
    await pass(15 * minute);
    expect([promised.writes, promised.events]).toEqual([[], []]);
    expect(promised.logs.filter((text) => /withheld/.test(text))).not.toEqual([]);
  });
});

function bound(promised: PromisedWorld) {
  return {
    pass: (ms: number) => promised.pass(ms),
    put: (options?: { readonly paused?: boolean }) => promised.put(options),
    wanted: () => promised.wanted,
  };
}

test("every controller has its scenario", () => {
  expect(Object.keys(scenarios).toSorted()).toEqual(names.toSorted());
});
