// The checksum of a namespace, and the agents that hold to it.
import type { ConditionView, RecordBase } from "./record.ts";

/** A checksum that is or was published. */
export interface ChecksumView {
  /** The object's name. */
  readonly name: string;
  /** MD5 of all ids, in hex. */
  readonly checksum: string;
  readonly sha256?: string;
  readonly count: number;
  readonly timestampMs: number;
  /** Since when it counts; absent for one that is announced and still awaited. */
  readonly sinceMs?: number;
  /** Until when its state is awaited. */
  readonly announcedUntilMs?: number;
  /** What its condition `Current` says. */
  readonly reason: string;
  readonly conditions: readonly ConditionView[];
}

/** An object that a checksum leaves out, or counts with a reservation. */
export interface ChecksumProblem {
  readonly name: string;
  readonly reason: string;
}

/** The checksums of one kind in one namespace. Its `ref` is the newest of them. The exact difference is in `ObjectDetail`. */
export interface ChecksumRecord extends RecordBase {
  readonly type: "checksum";
  /** `checksum/<kind>/<namespace>`, the kind being SecretCheckSum or IngressCheckSum. */
  readonly id: string;
  readonly step: "checksum";
  /** `current`: the objects are as the newest checksum says. `awaited`: an announced state is still to come. `differs`: they are not, see the reason. */
  readonly standing: "current" | "awaited" | "differs";
  /** Newest first. */
  readonly checksums: readonly ChecksumView[];
  readonly problemCount: number;
  /** The first of them. */
  readonly problems: readonly ChecksumProblem[];
  /** Agents of this namespace by whether they have the checksum that counts. Always 0 for Ingresses. */
  readonly agents: { readonly current: number; readonly behind: number; readonly silent: number };
}

/** An agent: a gateway's copy of the certificates of a namespace. Its `ref` is its Lease. */
export interface AgentRecord extends RecordBase {
  readonly type: "agent";
  /** `agent/<namespace>/<name of the Lease>`. */
  readonly id: string;
  readonly step: "checksum";
  readonly identity: string;
  /** The agent's own word for what it does. */
  readonly state: string;
  /** Of the set that it serves. */
  readonly checksum: string;
  readonly generation: string;
  /** Whether its checksum is the one that counts; absent if there is none to compare with. */
  readonly matches?: boolean;
  readonly secrets: number;
  /** How old its set is. */
  readonly promotedMs?: number;
  readonly verifiedMs?: number;
  /** When it was last heard of, and until when that is good for. */
  readonly renewedMs?: number;
  readonly validUntilMs?: number;
  readonly differences: { readonly missing: number; readonly unexpected: number; readonly changed: number };
  readonly alarms: readonly string[];
}
