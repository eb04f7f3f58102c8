// `owns`: a change of what was made for an object wakes that object, whatever the change was.
import { beforeEach, expect, it } from "vitest";
import { ConfigMap } from "../client/builtin-kinds.ts";
import { nameOf } from "../client/kind.ts";
import type { ControllerScope, Reconcile } from "./controller.ts";
import { EngineRig, Widget } from "./engine-rig.fixture.ts";
import { liveIn, ownedWriter, ownerReferenceTo } from "./owned-objects.ts";

const maps = "/api/v1/namespaces/default/configmaps";
let rig: EngineRig;
beforeEach(() => {
  rig = new EngineRig();
});

/** Mirrors a widget's text into a ConfigMap of another name, so that no key of the one is a key of the other. */
function mirror(scope: ControllerScope): Reconcile {
  const objects = scope.watch(Widget, { keep: ({ spec }) => spec.text });
  const made = scope.watch(ConfigMap);
  scope.trigger(objects);
  scope.owns(made);
  return async ({ key, client, signal }) => {
    const name = nameOf(key);
    const target = { ...name, name: `${name.name}-map` };
    const text = objects.get(key);
    if (text === undefined) return;
    const writer = ownedWriter({ client, operator: scope.operator, controller: "widgets", owner: { kind: Widget, name }, signal });
    await writer.apply(ConfigMap, { metadata: target, data: { text } }, liveIn(made, `default/${target.name}`));
  };
}

it.each<[string, () => void]>([
  ["changed", () => rig.ask("PATCH", `${maps}/a-map`, { data: { text: "another's" } })],
  ["deleted", () => rig.ask("DELETE", `${maps}/a-map`)],
])("what was made for an object is made again when somebody has %s it, without a word from the object", async (_, meddle) => {
  rig.put("a", { text: "one" });
  rig.start(mirror, { primary: Widget });
  await rig.during(1_000);
  expect(rig.text("a-map")).toBe("one");
  meddle();
  await rig.during(1_000);
  expect(rig.text("a-map")).toBe("one");
});

it("an object hears of what has a controller reference to it, of what loses that, and of nothing else", async () => {
  const runs: string[] = [];
  rig.put("a", { text: "one" });
  rig.put("b", { text: "two" });
  rig.start(
    (scope) => {
      scope.trigger(scope.watch(Widget));
      scope.owns(scope.watch(ConfigMap));
      return async ({ key }) => void runs.push(key);
    },
    { primary: Widget },
  );
  await rig.during(1_000);
  const woken = async (ownerReferences: readonly object[]): Promise<readonly string[]> => {
    runs.length = 0;
    rig.ask("PATCH", `${maps}/x`, { metadata: { ownerReferences } });
    await rig.during(1_000);
    return runs.toSorted();
  };
  rig.putForeign("x");
  const to = (name: string): object => ownerReferenceTo(Widget, { metadata: { name, uid: "1", resourceVersion: "1" }, spec: { text: "" } });
  expect(await woken([{ ...to("a"), controller: false }])).toEqual([]);
  expect(await woken([to("a")])).toEqual(["default/a"]);
  expect(await woken([to("b")])).toEqual(["default/a", "default/b"]);
  expect(await woken([])).toEqual(["default/b"]);
});

it("needs the kind of the owner", () => {
  const setup = (scope: ControllerScope): Reconcile => {
    scope.owns(scope.watch(ConfigMap));
    return async () => {};
  };
  expect(() => rig.start(setup)).toThrow("widgets: owns() needs the kind of the owner, or a primary kind");
});
