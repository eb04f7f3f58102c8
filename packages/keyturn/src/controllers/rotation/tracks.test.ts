import type { LaneTrack, Track } from "@keyturn/dashboard/contract";
import { expect, it } from "vitest";
import { rotationSetRecord } from "./records.ts";
import type { RotationLane, RotationSet } from "./rotation-set.ts";
import { rotationTracks } from "./tracks.ts";

const base = { apiVersion: "v1", namespace: "shop" };
const fine = { health: "healthy", reason: "Ready", message: "all is well", detail: "", about: [], conditions: [] } as const;

function lane(name: string, changes: Partial<RotationLane> = {}): RotationLane {
  const ref = { ...base, kind: "RotationTarget", resource: "rotationtargets.rotator.k8s.telekom.com", name };
  return { ref, rank: 1, delayMs: 60_000, held: [], planned: [], gapMs: 0, ...fine, ...changes };
}

function rotationSet(changes: Partial<RotationSet> = {}): RotationSet {
  return {
    id: "rotation/shop/keys",
    step: "rotation",
    ref: { ...base, kind: "RotationTarget", resource: "rotationtargets.rotator.k8s.telekom.com", name: "keys-live" },
    ...fine,
    set: "keys",
    source: { ...base, kind: "Secret", resource: "secrets", name: "signing-key" },
    policy: "Settled",
    lanes: [],
    versions: [],
    frozen: [],
    ...changes,
  };
}

const isLane = (track: Track): track is LaneTrack => track.type === "lane";
const lanesOf = (tracks: readonly Track[]): readonly LaneTrack[] => tracks.filter(isLane);
const held = (seq: number, fromMs: number, toMs?: number) => ({
  seq,
  digest: `d${seq}`,
  fromMs,
  ...(toMs === undefined ? {} : { toMs }),
  backfilled: seq === 1,
});

it("a version has one colour on its way from the source through the targets", () => {
  const [source, first, second] = lanesOf(
    rotationTracks(
      rotationSet({
        versions: [
          { seq: 3, digest: "d3", seenMs: 300 },
          { seq: 2, digest: "d2", seenMs: 200 },
        ],
        lanes: [
          lane("keys-next", { held: [held(2, 210, 310), held(3, 310)] }),
          lane("keys-live", { rank: 2, held: [held(1, 100, 320), held(2, 320)] }),
        ],
      }),
    ),
  );
  expect(source?.bars.map(({ label, look, fromMs, toMs }) => [label, look, fromMs, toMs])).toEqual([
    ["v2 d2", "past", 200, 300],
    ["v3 d3", "live", 300, undefined],
  ]);
  expect(first?.bars.map(({ label, look, hue }) => [label, look, hue])).toEqual([
    ["v2 d2", "past", 2],
    ["v3 d3", "live", 3],
  ]);
  expect(second?.bars.map(({ look, hue, filled }) => [look, hue, filled])).toEqual([
    ["past", 1, true],
    ["live", 2, undefined],
  ]);
  expect([source?.title, first?.title, second?.title]).toEqual(["signing-key", "next", "live"]);
});

it("what is live goes on until what is planned, and plans follow each other", () => {
  const [, target] = lanesOf(
    rotationTracks(
      rotationSet({
        lanes: [
          lane("keys-live", {
            held: [held(2, 100)],
            planned: [
              { atMs: 500, seq: 3, digest: "d3" },
              { atMs: 900, seq: 4 },
            ],
          }),
        ],
      }),
    ),
  );
  expect(target?.bars.map(({ look, label, fromMs, toMs }) => [look, label, fromMs, toMs])).toEqual([
    ["live", "v2 d2", 100, 500],
    ["planned", "v3 d3", 500, 900],
    ["planned", "v4", 900, undefined],
  ]);
});

it("a target that is to be emptied has nothing after that", () => {
  const [, target] = lanesOf(rotationTracks(rotationSet({ lanes: [lane("keys-live", { held: [held(2, 100)], planned: [{ atMs: 500 }] })] })));
  expect(target?.bars.map(({ look, toMs }) => [look, toMs])).toEqual([["live", 500]]);
});

it("gaps are marked in their lane, freezes in all of them", () => {
  const tracks = rotationTracks(
    rotationSet({ lanes: [lane("keys-live", { held: [held(1, 100, 200), held(2, 260)] })], frozen: [{ fromMs: 10, toMs: 20 }, { fromMs: 300 }] }),
  );
  const freezes = [
    { kind: "freeze", fromMs: 10, toMs: 20 },
    { kind: "freeze", fromMs: 300 },
  ];
  expect(lanesOf(tracks).map(({ bands }) => bands)).toEqual([freezes, [...freezes, { kind: "gap", fromMs: 200, toMs: 260 }]]);
  expect(tracks[0]).toMatchObject({ type: "group", warning: "frozen: the source is gone or unreadable" });
});

it("every bar has a name of its own and says why", () => {
  const tracks = rotationTracks(
    rotationSet({ lanes: [lane("keys-live", { held: [held(1, 100, 200), held(2, 200, 300), held(1, 300)], planned: [{ atMs: 500, seq: 3 }] })] }),
  );
  const bars = lanesOf(tracks).flatMap((track) => track.bars);
  expect(new Set(bars.map(({ id }) => id)).size).toBe(bars.length);
  for (const { facts } of bars) expect(facts.find(({ name }) => name === "why")).toBeDefined();
});

it("a target's page tells about its place, and that of the set about the whole", () => {
  const live = lane("keys-live", { rank: 2, held: [held(1, 100, 200), held(2, 200)], planned: [{ atMs: 900, seq: 3 }], gapMs: 5000 });
  const record = rotationSetRecord(rotationSet({ lanes: [live] }));
  expect(record.lanes?.[0]?.facts).toEqual([
    { name: "place in the chain", text: "2" },
    { name: "delay", spanMs: 60_000 },
    { name: "version", text: "2" },
    { name: "digest", text: "d2", mono: true },
    { name: "held since", atMs: 200 },
    { name: "in no target for", spanMs: 5000 },
    { name: "next", atMs: 900 },
  ]);
  expect(record.facts).toContainEqual({ name: "source", text: "Secret signing-key", ref: record.source });
});
