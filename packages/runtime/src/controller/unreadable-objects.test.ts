// An object that a controller's own code cannot read is not one that is gone: what was made from it stays, and people hear of it.
import { beforeEach, expect, test } from "vitest";
import { ConfigMap } from "../client/builtin-kinds.ts";
import type { Stored } from "../client/kind.ts";
import type { ControllerScope, Reconcile } from "./controller.ts";
import { EngineRig, Widget } from "./engine-rig.fixture.ts";
import { reconcileWith } from "./reconcile.ts";
import { liveIn } from "./owned-objects.ts";

/** Mirrors a widget's url into a ConfigMap, and deletes that when the widget is gone. */
function mirror(keep: (widget: Stored<Widget>) => Stored<Widget>): (scope: ControllerScope) => Reconcile {
  return (scope) => {
    const objects = scope.watch(Widget, { keep });
    const maps = scope.watch(ConfigMap);
    scope.trigger(objects);
    scope.owns(maps, Widget);
    return reconcileWith(
      scope,
      {
        observe: ({ key }) => ({ key, widget: objects.get(key) }),
        plan({ key, widget }) {
          const name = { namespace: "default", name: key.slice("default/".length) };
          const owner = { kind: Widget, name };
          if (!widget) return { steps: [{ verb: "delete", kind: ConfigMap, name, owner }], status: [] };
          const object = { metadata: name, data: { text: widget.spec.text } };
          return {
            steps: [{ verb: "apply", kind: ConfigMap, object, owner, live: liveIn(maps, key) }],
            status: [{ regarding: { kind: Widget, object: widget }, conditions: { Ready: { status: "True", reason: "Ready", message: "made" } } }],
          };
        },
        regarding(key) {
          const object = objects.get(key);
          return object ? [{ kind: Widget, object }] : [];
        },
      },
      { reasons: { Ready: { meaning: "It is made.", health: "healthy" } } },
    );
  };
}

/** As a user's typo makes it throw. */
function keepUrl(widget: Stored<Widget>): Stored<Widget> {
  const { href } = new URL(widget.spec.text);
  return { ...widget, spec: { text: href === `${widget.spec.text}/` ? widget.spec.text : href } };
}

let rig: EngineRig;
beforeEach(() => {
  rig = new EngineRig();
});
const good = "https://shop.example";

test("an edit that cannot be read deletes nothing, shows in Ready and an Event, and is over when it can be read", async () => {
  rig.put("a", { text: good });
  rig.put("b", { text: good });
  rig.start(mirror(keepUrl));
  await rig.during(1_000);
  rig.put("a", { text: "shop.example" });
  const requests = await rig.during(10_000);
  expect(rig.text("a")).toBe(good);
  expect(requests.filter((request) => request.startsWith("DELETE"))).toEqual([]);
  expect(rig.condition("a")).toBe("False Unreadable");
  expect(rig.condition("b")).toBe("True Ready");
  expect(rig.warnings).toContain("Unreadable");
  expect(JSON.stringify([rig.events, rig.status("a")])).not.toContain("shop.example");
  rig.put("a", { text: `${good}/new` });
  await rig.during(1_000);
  expect(rig.text("a")).toBe(`${good}/new`);
  expect(rig.condition("a")).toBe("True Ready");
});

test("a process that never could read it takes it for there all the same, whatever wakes the key", async () => {
  rig.put("a", { text: good });
  rig.start(mirror(keepUrl));
  await rig.during(1_000);
  rig.stop();
  rig.put("a", { text: "shop.example" });
  rig.start(mirror(keepUrl));
  await rig.during(10_000);
  expect(rig.text("a")).toBe(good);
  expect(rig.condition("a")).toBe("False Unreadable");
});

test("an index that throws is no deletion either: what is found by it stays, and the object says so", async () => {
  rig.put("a", { text: good });
  rig.start((scope) => {
    const host = (widget: Stored<Widget>): readonly string[] => [new URL(widget.spec.text).host];
    const objects = scope.watch(Widget, { keep: (widget) => widget, indexes: { host } });
    const maps = scope.watch(ConfigMap);
    scope.trigger(objects);
    // One key for all of a host, which deletes what no widget of it asks for.
    scope.trigger(objects, () => ["shop.example"]);
    return async ({ key, client, signal }) => {
      if (key !== "shop.example") return;
      const name = { namespace: "default", name: "host" };
      const found = objects.byIndex("host", key);
      if (found.length === 0) await client.delete(ConfigMap, name, {}, signal);
      else if (!maps.get("default/host")) await client.create(ConfigMap, { metadata: name, data: { text: "there" } }, {}, signal);
    };
  });
  await rig.during(1_000);
  expect(rig.text("host")).toBe("there");
  rig.put("a", { text: "shop.example" });
  await rig.during(10_000);
  expect(rig.text("host")).toBe("there");
  expect(rig.condition("a")).toBe("False Unreadable");
  rig.put("a", { text: "https://other.example" });
  await rig.during(1_000);
  expect([rig.text("host"), rig.condition("a")]).toEqual([undefined, "True Reconciled"]);
});

test("what is really deleted is, also if it could not be read last", async () => {
  rig.put("a", { text: good });
  rig.start(mirror(keepUrl));
  await rig.during(1_000);
  rig.put("a", { text: "shop.example" });
  await rig.during(1_000);
  rig.delete("a");
  await rig.during(1_000);
  expect(rig.text("a")).toBeUndefined();
});
