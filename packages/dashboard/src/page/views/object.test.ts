import { expect, it } from "vitest";
import { lane, rotationSet } from "../timeline/records.fixture.ts";
import { objectFacts } from "./object.tsx";

const live = lane("keys-live", {
  rank: 2,
  held: [
    { seq: 1, digest: "d1", fromMs: 100, toMs: 200, backfilled: false },
    { seq: 2, digest: "d2", fromMs: 200, backfilled: false },
  ],
  planned: [{ atMs: 900, seq: 3 }],
  gapMs: 5000,
});

it("a target's page tells about its place, and that of the set about the whole", () => {
  const record = rotationSet({ lanes: [live], createdMs: 5, next: { atMs: 900, what: "keys-live gets version 3" } });
  expect(objectFacts(record, live)).toEqual([
    { name: "created", atMs: 5 },
    { name: "place in the chain", text: "2" },
    { name: "delay", spanMs: 60_000 },
    { name: "version", text: "2" },
    { name: "digest", text: "d2", mono: true },
    { name: "held since", atMs: 200 },
    { name: "in no target for", spanMs: 5000 },
    { name: "next", atMs: 900 },
  ]);
  expect(objectFacts(record)).toContainEqual({ name: "source", text: "Secret signing-key" });
});
