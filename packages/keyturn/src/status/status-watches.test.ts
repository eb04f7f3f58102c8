import { expect, it } from "vitest";
import { changesOf } from "./status-watches.ts";
import { lifeWith, nowMs, summary } from "./life.fixture.ts";

const before = lifeWith({ rotate: [summary({ name: "a" }), summary({ name: "b" })], publish: [summary({ kind: "JWKS", name: "a" })] });

function told(...args: Parameters<typeof changesOf>): readonly string[] {
  return changesOf(...args).map(({ type, step, summary: { kind, name } }) => `${type} ${step} ${kind} ${name}`);
}

it("tells everything at first", () => {
  expect(told(undefined, before)).toEqual(["added rotate RotationTarget a", "added rotate RotationTarget b", "added publish JWKS a"]);
});

it("tells what came, went and fares differently, and not what only grew older", () => {
  const after = lifeWith({
    rotate: [summary({ name: "a", health: "attention", reason: "NameConflict" }), summary({ name: "c" })],
    publish: [summary({ kind: "JWKS", name: "a", sinceMs: nowMs })],
  });
  expect(told(before, after)).toEqual(["changed rotate RotationTarget a", "added rotate RotationTarget c", "removed rotate RotationTarget b"]);
  expect(told(before, before)).toEqual([]);
});
