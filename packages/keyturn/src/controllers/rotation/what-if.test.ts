// What manifests would do to a set, before they are applied.
import { expect, test } from "vitest";
import { RotationWorld } from "../../../test/rotation-model/rotation-world.ts";
import { planRotation } from "./plan.ts";
import { declaredTargets, differenceOf, withDeclared } from "./what-if.ts";

const startMs = Date.UTC(2026, 0, 1);
const nowMs = startMs + 1_000_000;

/** live holds v2 and fallback v1. */
function rotated(): RotationWorld {
  const world = new RotationWorld();
  world.putTarget("live", { order: 1, delay: 60, deletionMode: "keep", whenUnfilled: "Backfill" });
  world.putTarget("fallback", { order: 2, delay: 5, deletionMode: "keep", whenUnfilled: "Backfill" });
  for (const [value, atMs] of [
    ["v1", startMs],
    ["v2", startMs + 100_000],
  ] as const) {
    world.putSource({ watched: value, content: value }, atMs);
    for (const afterMs of [0, 60_000, 61_000]) world.carryOut(planRotation(world.observe(), atMs + afterMs));
  }
  return world;
}

function manifest(name: string, order: number, delay: string): string {
  return `apiVersion: rotator.k8s.telekom.com/v1\nkind: RotationTarget\nmetadata: { name: ${name} }\nspec: { rotationSet: keys, rotationOrder: ${order}, rotationDelay: ${delay} }\n`;
}

function applied(texts: readonly string[], prune = false): ReturnType<typeof differenceOf> {
  const before = rotated().observe();
  const declared = declaredTargets("a.yaml", texts.join("---\n"));
  return differenceOf(before, withDeclared(before, declared, prune), nowMs);
}

test("what is there already changes nothing", () => {
  expect(applied([manifest("live", 1, "1m"), manifest("fallback", 2, "5s")], true)).toEqual({ changes: [], dangers: [] });
});

test("two targets of one order lose the fallback, and that is named as dangerous", () => {
  expect(applied([manifest("live", 2, "1m")])).toEqual({
    changes: ["live is renumbered from order 1 to 2"],
    dangers: ["version 1 would be in no target any more"],
  });
});

test("a stage in front is no danger; a target that is pruned is named", () => {
  const front = [manifest("canary", 1, "1h"), manifest("live", 2, "1m"), manifest("fallback", 3, "5s")];
  expect(applied(front)).toEqual({
    changes: ["live is renumbered from order 1 to 2", "fallback is renumbered from order 2 to 3", "canary is added: order 1, delay 1h"],
    dangers: [],
  });
  expect(applied([manifest("live", 1, "1m")], true)).toEqual({
    changes: ["fallback is removed; its object stays, and nobody looks after it"],
    dangers: ["version 1 would be in no target any more"],
  });
});

test("a shorter delay that makes a version live earlier is named", () => {
  const world = rotated();
  world.putSource({ watched: "v3", content: "v3" }, nowMs - 1000);
  world.carryOut(planRotation(world.observe(), nowMs));
  const before = world.observe();
  const after = withDeclared(before, declaredTargets("a.yaml", manifest("live", 1, "10s")), false);
  expect(differenceOf(before, after, nowMs).dangers).toEqual(["version 3 would be live 50s earlier"]);
});

test("other kinds are passed over, and what is no RotationTarget is refused with the file's name", () => {
  expect(declaredTargets("a.yaml", "kind: Secret\nmetadata: { name: x }\n---\n")).toEqual([]);
  expect(() => declaredTargets("a.yaml", "kind: RotationTarget\nmetadata: { name: x }\nspec: { rotationOrder: no }\n")).toThrow("a.yaml");
  expect(() => declaredTargets("a.yaml", "a: [")).toThrow("a.yaml is no YAML");
});
