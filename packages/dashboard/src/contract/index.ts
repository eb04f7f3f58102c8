// What the server sends to the page: the one place that both sides are written against. Types, and the few names that are shared.
export type { AgentRecord, ChecksumProblem, ChecksumRecord, ChecksumView } from "./checksum-record.ts";
export type { IssuedRecord } from "./issued-record.ts";
export type { KeySetRecord, KeyView } from "./key-set-record.ts";
export type { Changes, DashboardRecord, End, Hello, Refusal, Session, SnapshotPart, StreamEvents, Tick } from "./messages.ts";
export type { CommandView, DifferenceView, EventView, HistoryEntry, ObjectDetail } from "./object-detail.ts";
export { type ConditionView, type Health, type ObjectRef, type RecordBase, type RecordId, type StepName, steps } from "./record.ts";
export { eventStreamPath, objectPath, sessionPath } from "./paths.ts";
export type { FreezeStretch, HeldStretch, PlannedStep, RotationLane, RotationSetRecord, RotationVersion } from "./rotation-record.ts";
export type { StepLeader, StepRecord, WatchTrouble } from "./step-record.ts";
export type { WorkloadRecord } from "./workload-record.ts";
