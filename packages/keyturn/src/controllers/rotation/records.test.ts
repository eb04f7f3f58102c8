// The past of a set, beyond what the operator still has written down.
import { expect, it } from "vitest";
import type { HeldStretch, RotationSet } from "./rotation-set.ts";
import { type RotationMemory, withMemory } from "./records.ts";

/** A set with one lane that has held these versions, each from ten times its number on. */
function recordRotationMemory(...seqs: readonly number[]): RotationSet {
  const ref = { apiVersion: "", kind: "", resource: "", namespace: "shop", name: "live" };
  const held = seqs.map((seq, index): HeldStretch => {
    const next = seqs[index + 1];
    return { seq, digest: `d${seq}`, fromMs: seq * 10, ...(next !== undefined && { toMs: next * 10 }), backfilled: false };
  });
  const versions = seqs.toReversed().map((seq) => ({ seq, digest: `d${seq}`, seenMs: seq * 10 }));
  const common = { health: "healthy", reason: "", message: "", detail: "", about: [], conditions: [] } as const;
  return {
    ...common,
    id: "",
    step: "rotation",
    ref,
    set: "keys",
    policy: "Settled",
    frozen: [],
    versions,
    lanes: [{ ...common, ref, rank: 1, delayMs: 0, held, planned: [], gapMs: 0 }],
  };
}

function after(...records: readonly RotationSet[]): RotationSet | undefined {
  let memory: RotationMemory | undefined;
  let last: RotationSet | undefined;
  for (const each of records) ({ set: last, memory } = withMemory(each, memory));
  return last;
}

it("is kept as it was seen, each stretch until the next began", () => {
  expect(after(recordRotationMemory(1, 2), recordRotationMemory(2, 3), recordRotationMemory(3, 4))).toEqual(recordRotationMemory(1, 2, 3, 4));
});

it("is what is written down where nothing was seen to go", () => {
  expect(after(recordRotationMemory(1, 2))).toEqual(recordRotationMemory(1, 2));
  expect(after(recordRotationMemory(1, 2), recordRotationMemory(1, 2))).toEqual(recordRotationMemory(1, 2));
});

it("is bounded", () => {
  const seqs = Array.from({ length: 100 }, (_, index) => index + 1);
  const last = after(...seqs.map((seq) => recordRotationMemory(seq, seq + 1)));
  expect([last?.lanes[0]?.held.length, last?.versions.length, last?.lanes[0]?.held.at(-1)?.seq, last?.versions[0]?.seq]).toEqual([40, 40, 101, 101]);
});
