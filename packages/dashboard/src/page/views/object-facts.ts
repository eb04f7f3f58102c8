// What there is to say about an object besides its conditions, as a list of facts.
import type { RotationLane } from "../../contract/index.ts";
import { servedText } from "../timeline/key-tracks.ts";
import type { Fact } from "../timeline/track.ts";
import type { ObjectRecord } from "./step-records.ts";

/** The facts of a record; of one lane of it, if the object is a target. */
export function objectFacts(record: ObjectRecord, lane?: RotationLane): readonly Fact[] {
  return [
    ...at("created", record.createdMs),
    ...at("so since", record.sinceMs),
    ...(lane === undefined ? ownFacts(record) : laneFacts(lane)),
    ...at("next", lane === undefined ? record.nextMs : lane.planned[0]?.atMs),
  ];
}

function ownFacts(record: ObjectRecord): readonly Fact[] {
  switch (record.type) {
    case "issued":
      return [
        ...text("application", record.application && `${record.application.name} (${record.application.id})`),
        ...text("Secret", record.target?.secret),
        ...text("cluster", record.target?.clusterId),
        ...at("issued", record.issuedMs),
        ...at("next rotation", record.nextRotationMs),
        ...at("deleting since", record.deletingSinceMs),
      ];
    case "rotationSet":
      return [
        ...text("set", record.set),
        ...text("source", record.source && `${record.source.kind} ${record.source.name}`),
        ...at("source as it is since", record.sourceSinceMs),
        ...text("policy", record.policy),
        ...text("targets", String(record.lanes.length)),
      ];
    case "keySet":
      return [
        ...text("ConfigMap", record.configMap),
        ...text("endpoint", record.endpoint),
        ...text("served", servedText(record)),
        ...text("revision", record.revision === undefined ? undefined : String(record.revision)),
        ...at("updated", record.updatedMs),
        ...at("next removal", record.nextRemovalMs),
        ...at("next certificate expires", record.nextExpiryMs),
      ];
    case "checksum":
      return [
        ...digest("checksum", record.checksums[0]?.checksum),
        ...digest("SHA-256", record.checksums[0]?.sha256),
        ...text("objects", String(record.checksums[0]?.count ?? 0)),
        ...at("made", record.checksums[0]?.timestampMs),
        ...at("holds since", record.checksums[0]?.sinceMs),
        ...at("awaited until", record.checksums[0]?.announcedUntilMs),
        ...record.problems.map((problem): Fact => ({ name: `left out: ${problem.name}`, text: problem.reason })),
      ];
    case "agent":
      return [
        ...text("identity", record.identity),
        ...text("state", record.state),
        ...digest("checksum", record.checksum),
        ...text("agrees", record.matches === undefined ? undefined : record.matches ? "yes" : "no"),
        ...text("generation", record.generation),
        ...text("Secrets", String(record.secrets)),
        ...at("set promoted", record.promotedMs),
        ...at("verified", record.verifiedMs),
        ...at("last heard of", record.renewedMs),
        ...text("alarms", record.alarms.join(", ")),
      ];
    case "workload":
    default:
      return [
        ...text("phase", record.phase),
        ...text("outdated", record.outdated),
        ...text("why", record.why),
        ...text("the plan", record.decision && [record.decision.type, record.decision.reason ?? ""].filter(Boolean).join(": ")),
        ...at("until", record.decision?.untilMs),
        ...at("restarted", record.restartedMs),
      ];
  }
}

function laneFacts(lane: RotationLane): readonly Fact[] {
  const live = lane.held.find(({ toMs }) => toMs === undefined);
  return [
    ...text("keeps", lane.object && `${lane.object.kind} ${lane.object.name}`),
    ...text("place in the chain", String(lane.rank)),
    { name: "delay", spanMs: lane.delayMs },
    ...text("version", live && String(live.seq)),
    ...digest("digest", live?.digest),
    ...at("held since", live?.fromMs),
    ...(lane.gapMs === 0 ? [] : [{ name: "in no target for", spanMs: lane.gapMs }]),
  ];
}

function at(name: string, atMs: number | undefined): readonly Fact[] {
  return atMs === undefined ? [] : [{ name, atMs }];
}

function text(name: string, value: string | undefined): readonly Fact[] {
  return value === undefined || value === "" ? [] : [{ name, text: value }];
}

function digest(name: string, value: string | undefined): readonly Fact[] {
  return value === undefined || value === "" ? [] : [{ name, text: value, mono: true }];
}
