// A schema that has changed wakes what was refused for it, and looking for that costs next to nothing.
import { beforeEach, describe, expect, test } from "vitest";
import type { Client } from "../client/client.ts";
import { defineKind, type Kind } from "../client/kind.ts";
import { ConfigMap } from "../client/builtin-kinds.ts";
import { EngineRig, Widget } from "../controller/engine-rig.fixture.ts";
import { reconcileWith } from "../controller/reconcile.ts";
import { VirtualClock } from "../testing/virtual-clock.ts";
import { silentLog } from "./lease-simulation.fixture.ts";
import { SchemaWatch } from "./schema-watch.ts";

const Gadget = defineKind({ group: "test.dev", version: "v2", kind: "Gadget", plural: "gadgets", namespaced: true });

describe("a schema watch", () => {
  let clock: VirtualClock;
  let hashes: Record<string, string> | Error;
  let requests: number;
  let watch: SchemaWatch;
  let told: string[];
  beforeEach(() => {
    clock = new VirtualClock();
    hashes = { "api/v1": "a", "apis/test.dev/v1": "b", "apis/test.dev/v2": "c" };
    requests = 0;
    told = [];
    const refuse = (): never => {
      throw new Error("nothing else is asked");
    };
    const client: Client = {
      get: refuse,
      list: refuse,
      create: refuse,
      replace: refuse,
      apply: refuse,
      jsonPatch: refuse,
      mergePatch: refuse,
      delete: refuse,
      deleteCollection: refuse,
      request: async () => {
        requests += 1;
        if (hashes instanceof Error) throw hashes;
        return {
          paths: Object.fromEntries(Object.entries(hashes).map(([name, hash]) => [name, { serverRelativeURL: `/openapi/v3/${name}?hash=${hash}` }])),
        };
      },
    };
    watch = new SchemaWatch({ client, clock, random: () => 0.5, log: silentLog });
    const listen = (name: string, kind: Kind): void =>
      watch.subscribe(
        () => [kind],
        () => void told.push(name),
      );
    listen("widgets", Widget);
    listen("gadgets", Gadget);
    listen("maps", ConfigMap);
    void watch.run(new AbortController().signal);
  });

  test("tells those whose kinds have changed, and asks six times an hour while nothing is refused", async () => {
    await clock.advance(3_600_000 - 1);
    expect(requests).toBe(6);
    hashes = { "api/v1": "a", "apis/test.dev/v1": "other", "apis/test.dev/v2": "c" };
    await clock.advance(600_000);
    expect(told).toEqual(["widgets"]);
  });

  test("looks at once and every half minute for a while when something is refused, and bears failures", async () => {
    await clock.advance(1_000);
    hashes = new Error("away");
    watch.expectChange();
    await clock.advance(60_000);
    expect(requests).toBe(4);
    hashes = { "api/v1": "a", "apis/test.dev/v1": "b", "apis/test.dev/v2": "d" };
    await clock.advance(30_000);
    expect(told).toEqual(["gadgets"]);
    await clock.advance(3_600_000);
    // Twelve more within the six minutes, and then one every ten.
    expect(requests).toBeLessThan(24);
  });
});

test("an object, or a part of one, that is refused for its schema is tried again within seconds of a change", async () => {
  const rig = new EngineRig();
  let isAllowed = false;
  let changed = (): void => {};
  let expected = 0;
  rig.put("a", { text: "one" });
  rig.put("b", { text: "two", parts: { side: "x" } });
  rig.refuse = ({ path }) => (path.includes("/configmaps/") && !isAllowed ? { status: 400, reason: "BadRequest" } : undefined);
  rig.start(
    (scope) => {
      const objects = scope.watch(Widget, { keep: ({ spec, metadata }) => ({ spec, metadata }) });
      scope.trigger(objects);
      return reconcileWith(
        scope,
        {
          observe: ({ key }) => objects.get(key),
          plan({ spec, metadata: { name } }, { refused }) {
            const part = spec.parts ? "side" : undefined;
            if (part !== undefined && refused.has(part)) return { steps: [], status: [] };
            const object = { metadata: { namespace: "default", name }, data: { text: spec.text } };
            const owner = { kind: Widget, name: { namespace: "default", name } };
            return { steps: [{ verb: "apply", kind: ConfigMap, object, owner, ...(part !== undefined && { part }) }], status: [] };
          },
        },
        { reasons: {} },
      );
    },
    { schemas: { subscribe: (_, listener) => (changed = listener), expectChange: () => void expected++ } },
  );
  expect(expected).toBe(0);
  await rig.during(1_800_000);
  // Each refusal asks for a look at the schemas: without, one that has changed is noticed when the next calm look comes.
  expect(expected).toBeGreaterThan(10);
  isAllowed = true;
  await rig.during(1_000);
  expect([rig.text("a"), rig.text("b")]).toEqual([undefined, undefined]);
  changed();
  await rig.during(11_000);
  expect([rig.text("a"), rig.text("b")]).toEqual(["one", "two"]);
});
