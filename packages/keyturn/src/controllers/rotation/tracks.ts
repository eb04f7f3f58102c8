// A rotation set as lanes over time: the source, then each target. A version keeps its colour on its way through them.
import { type Band, type Bar, type Fact, hueCount, type LaneTrack, type Track } from "@keyturn/dashboard/contract";
import { formatDuration } from "@keyturn/runtime";
import { factDigest, shortDigest } from "../../feature/record.ts";
import type { HeldStretch, PlannedStep, RotationLane, RotationSet, RotationVersion } from "./rotation-set.ts";

/** The tracks of a set: its heading, its source, its targets. */
export function rotationTracks(record: RotationSet): readonly Track[] {
  const freezes: readonly Band[] = record.frozen.map((stretch) => ({ kind: "freeze", ...stretch }));
  const lanes = record.lanes.map((lane) => targetLane(lane, { record, freezes }));
  return [
    {
      type: "group",
      id: record.id,
      ref: record.ref,
      title: record.set,
      note: `${record.ref.namespace} · ${record.policy === "Queue" ? "every version" : "settled versions"}`,
      ...(record.frozen.some(({ toMs }) => toMs === undefined) ? { warning: "frozen: the source is gone or unreadable" } : {}),
    },
    sourceLane(record, freezes),
    ...lanes,
  ];
}

function sourceLane(record: RotationSet, freezes: readonly Band[]): LaneTrack {
  const oldestFirst = record.versions.toReversed();
  const bars = oldestFirst.map((version, index) => sourceBar(version, { id: `${record.id}/source`, until: oldestFirst[index + 1]?.seenMs }));
  return {
    type: "lane",
    id: `${record.id}/source`,
    title: record.source === undefined ? "no source" : record.source.name,
    ...(record.source === undefined ? {} : { ref: record.source }),
    note: "source",
    bars,
    bands: freezes,
    marks: [],
  };
}

function sourceBar(version: RotationVersion, { id, until }: { readonly id: string; readonly until: number | undefined }): Bar {
  return {
    id: `${id}/${version.seq}`,
    fromMs: version.seenMs,
    ...(until === undefined ? {} : { toMs: until }),
    look: until === undefined ? "live" : "past",
    ...ofVersion(version.seq, version.digest),
    facts: [
      { name: "seen", atMs: version.seenMs },
      ...(until === undefined ? [] : [{ name: "until", atMs: until }]),
      { name: "why", text: "the source was changed" },
      ...factDigest("digest", version.digest),
    ],
  };
}

function targetLane(lane: RotationLane, { record, freezes }: { readonly record: RotationSet; readonly freezes: readonly Band[] }): LaneTrack {
  const id = `${record.id}/${lane.ref.name}`;
  return {
    type: "lane",
    id,
    title: nameWithin(record.set, lane.ref.name),
    ref: lane.ref,
    note: `${lane.rank} · ${formatDuration(lane.delayMs)}`,
    bars: [...lane.held.map((held) => heldBar(held, { id, lane })), ...lane.planned.flatMap((step, index) => plannedBar(step, { id, lane, index }))],
    bands: [...freezes, ...gapsOf(lane)],
    marks: [],
  };
}

function heldBar(held: HeldStretch, { id, lane }: { readonly id: string; readonly lane: RotationLane }): Bar {
  const firstPlanned = lane.planned[0]?.atMs;
  const end = held.toMs ?? firstPlanned;
  const facts: readonly Fact[] = [
    { name: "since", atMs: held.fromMs },
    ...(end === undefined ? [] : [{ name: held.toMs === undefined ? "until" : "until", atMs: end }]),
    { name: "why", text: whyHeld(held, lane) },
    ...(held.toMs === undefined && lane.message !== "" ? [{ name: "state", text: lane.message }] : []),
    ...factDigest("digest", held.digest),
  ];
  return {
    id: `${id}/${held.seq}@${held.fromMs}`,
    fromMs: held.fromMs,
    ...(end === undefined ? {} : { toMs: end }),
    look: held.toMs === undefined ? "live" : "past",
    ...ofVersion(held.seq, held.digest),
    ...(held.backfilled && { filled: true }),
    facts,
  };
}

function whyHeld(held: HeldStretch, lane: RotationLane): string {
  if (held.backfilled) return "filled in: there is no older version for this target";
  if (lane.rank === 1 && held.seq === lane.promoted) return "it was promoted with keyturn promote";
  if (lane.rank === 1) return `the source had been as it is for ${formatDuration(lane.delayMs)}`;
  return `the target before got the next version, ${formatDuration(lane.delayMs)} earlier`;
}

function plannedBar(
  step: PlannedStep,
  { id, lane, index }: { readonly id: string; readonly lane: RotationLane; readonly index: number },
): readonly Bar[] {
  if (step.seq === undefined) return [];
  const until = lane.planned[index + 1]?.atMs;
  return [
    {
      id: `${id}/planned/${step.seq}`,
      fromMs: step.atMs,
      ...(until === undefined ? {} : { toMs: until }),
      look: "planned",
      ...ofVersion(step.seq, step.digest),
      facts: [
        { name: "planned", atMs: step.atMs },
        ...(until === undefined ? [] : [{ name: "until", atMs: until }]),
        { name: "why", text: lane.rank === 1 ? "if the source stays as it is" : "when it moves up from the target before" },
        ...factDigest("digest", step.digest),
      ],
    },
  ];
}

/** Targets are often called after their set, which the heading has already said. */
function nameWithin(set: string, name: string): string {
  return name.startsWith(`${set}-`) ? name.slice(set.length + 1) : name;
}

/** Stretches between two versions in which the target held none. */
function gapsOf(lane: RotationLane): readonly Band[] {
  return lane.held.flatMap((held, index): readonly Band[] => {
    const next = lane.held[index + 1];
    return held.toMs !== undefined && next !== undefined && next.fromMs > held.toMs ? [{ kind: "gap", fromMs: held.toMs, toMs: next.fromMs }] : [];
  });
}

function ofVersion(seq: number, digest: string | undefined): { readonly hue: number; readonly label: string; readonly title: string } {
  return { hue: seq % hueCount, label: digest === undefined ? `v${seq}` : `v${seq} ${shortDigest(digest)}`, title: `Version ${seq}` };
}
