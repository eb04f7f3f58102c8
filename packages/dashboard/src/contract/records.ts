// The records that the page draws: objects of the cluster, and how they fare.

// What every record of the page has: which object it is about, how that fares, and whether somebody should look.

/** One of the stages that a credential passes through: the name of its controller, such as `rotation`. */
export type StageName = string;

/** The name of one record: stable for as long as its object exists, and unique among all records. */
export type RecordId = string;

/** An object of the cluster. */
export interface ObjectRef {
  readonly apiVersion: string;
  readonly kind: string;
  /** `plural.group`, or `plural` alone for the core group: what `kubectl get` takes, and what rights are checked for. */
  readonly resource: string;
  /** Empty for kinds that are in no namespace. */
  readonly namespace: string;
  readonly name: string;
}

/**
 * How something fares. `healthy`: as it should be. `progressing`: on its way there by itself. `paused`: left alone because somebody asked for it, or held
 * back by a rule such as a maintenance window. `degraded`: it works, and somebody should look. `failed`: it does not work, and somebody should look.
 * `unknown`: nothing certain can be said about now, see `doubtsAbout`.
 */
export type Health = "healthy" | "progressing" | "paused" | "degraded" | "failed" | "unknown";

/** A condition of an object, as its status has it. */
export interface ConditionView {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
  /** Since when it says so. */
  readonly sinceMs?: number;
}

/** What happens next if nothing changes but the time. */
export interface NextStep {
  readonly atMs: number;
  /** Completes "the object …", such as `gets version 4`. */
  readonly what: string;
}

/** What is said about one object, by `keyturn status` and the page alike. Times are milliseconds since 1970 by the server's clock, see `Hello`. Absent fields are not known, or there is none. */
export interface ObjectReport {
  readonly ref: ObjectRef;
  /** What people call it, where that is not its object's kind and name. */
  readonly called?: { readonly kind: string; readonly name: string };
  readonly health: Health;
  /** Why, as one word of the controller's own wherever it has reported one. Empty if there is nothing to say. */
  readonly reason: string;
  /** The same as a sentence. */
  readonly message: string;
  /** Since when it fares so. */
  readonly sinceMs?: number;
  /** What is particular about it, short enough for a cell of a table. */
  readonly detail: string;
  readonly next?: NextStep;
  /** The names under which people may look for it: its own, and those of the Secrets and sets that it is about. All in its namespace. */
  readonly about: readonly string[];
  readonly conditions: readonly ConditionView[];
}

/** One record of a step. */
export interface ObjectRecord extends ObjectReport {
  readonly id: RecordId;
  readonly step: StageName;
  /** The object whose page this record leads to, and whose kind's rights decide who gets the record. */
  readonly ref: ObjectRef;
  readonly createdMs?: number;
  /** Of a record about several objects: each of them. The record then fares as the worst. */
  readonly lanes?: readonly ObjectReport[];
}

// How one of the five controllers fares.

/** What keeps a watch from showing what there is. */
export interface WatchTrouble {
  /** `plural.group`. */
  readonly resource: string;
  /** Absent if the whole cluster was meant. */
  readonly namespace?: string;
  /** `missing`: the kind is not installed. `forbidden`: a right is missing. `retrying`: the API server does not answer. `syncing`: the first list is on its way. */
  readonly state: "missing" | "forbidden" | "retrying" | "syncing";
  /** The missing right, or what failed. */
  readonly message: string;
}

/** One of the five steps. There are always five of these records; counts are made by the page from the other records. */
export interface StageRecord {
  readonly type: "step";
  /** `step/<name>`. */
  readonly id: string;
  readonly step: StageName;
  /** One sentence that says what the step does. */
  readonly summary: string;
  /** `on`: its objects are shown. `off`: it is not switched on in this operator. `absent`: none of its kinds is installed, and nobody misses them. `limited`: some of its kinds cannot be seen, see `troubles`. */
  readonly state: "on" | "off" | "absent" | "limited";
  /** The kinds whose objects are shown: `plural.group`. */
  readonly resources: readonly string[];
  /** Those of them that this viewer may not see; their records are left out. */
  readonly hidden: readonly string[];
  /** The only namespaces of which this viewer sees objects, of some kind at least; absent if they may see all there are. */
  readonly shownIn?: readonly string[];
  readonly troubles: readonly WatchTrouble[];
  /** Whether an operator works on it; absent until that has been found out. */
  readonly leader?: StageLeader;
  /** When the API server was last heard before it was too long ago to say what is now; absent while it is heard. */
  readonly asOfMs?: number;
}

/** Whether an operator works on a step: `none` does, or it is `unknown` whether one does; then `message` says why. */
export interface StageLeader {
  readonly state: "led" | "none" | "unknown";
  readonly message: string;
  /** With `none`: some of its controllers are led, so that what it says about their objects is up to date. */
  readonly partly?: true;
}

// A published JWKS and its keys.

/** A key of a JWKS, now or before. */
export interface KeyView {
  readonly kid: string;
  /** `Removed` keys are those that this server has seen go; it forgets them when it is restarted. */
  readonly state: "Active" | "Retiring" | "Removed";
  /** The first key that is `Active` is the one that signs. */
  readonly signs: boolean;
  /** The Secret that it came from; empty if that is not known. */
  readonly source: string;
  readonly algorithm: string;
  /** When it was first published. */
  readonly sinceMs: number;
  readonly replacedMs?: number;
  /** When it goes, or went. */
  readonly removeMs?: number;
  readonly certificateExpiresMs?: number;
}

/** A JWKSConfig or a JWKS. */
export interface KeySetRecord extends ObjectRecord {
  readonly type: "keySet";
  /** `jwks/<kind>/<namespace>/<name>`. */
  readonly id: string;
  readonly step: "jwks";
  /** Where the JWKS document is published. */
  readonly configMap: string;
  /** The path that clients should use. */
  readonly endpoint: string;
  /** Active ones first, then retiring ones, then removed ones. */
  readonly keys: readonly KeyView[];
  /** Counts the changes of what is published. */
  readonly revision?: number;
  readonly updatedMs?: number;
  readonly nextRemovalMs?: number;
  /** The earliest end of a certificate whose key is active. */
  readonly nextExpiryMs?: number;
  /** Whether pods answer with the JWKS document; absent if none are asked for. */
  readonly served?: { readonly holds: boolean; readonly reason: string; readonly message: string };
}

// A rotation set: its source, and a lane for each target.

/** A stretch of time in which a target held a version. */
export interface HeldStretch {
  /** Counts the states of the source. */
  readonly seq: number;
  /** SHA-256 of the content, in hex. */
  readonly digest: string;
  readonly fromMs: number;
  /** Absent for the version that is held now. */
  readonly toMs?: number;
  /** Only filled in, because there is no older version for this target. */
  readonly backfilled: boolean;
}

/** Something that will happen if nothing changes but the time. */
export interface PlannedStep {
  readonly atMs: number;
  /** The version that the target gets; absent if its object is deleted. */
  readonly seq?: number;
  /** Absent for a version that the operator has not recorded yet. */
  readonly digest?: string;
}

/** A target of a set: one lane. */
export interface RotationLane extends ObjectReport {
  /** The object that is kept for it; absent while there is none. */
  readonly object?: ObjectRef;
  /** The place in the chain, counted from 1. Targets of one rank stand side by side. */
  readonly rank: number;
  readonly order: number;
  readonly delayMs: number;
  /** Oldest first; the last without `toMs` is live. Reaches back as far as the cluster, or else this server, remembers. */
  readonly held: readonly HeldStretch[];
  /** In the order of time. */
  readonly planned: readonly PlannedStep[];
  /** Why the next version waits: the source must stay as it is (`Settling`), or the content moves up from the target before (`Following`). */
  readonly pending?: { readonly seq: number; readonly notBeforeMs: number; readonly reason: "Settling" | "Following" };
  /** How long a version is in no target at all on its way here; 0 if never. */
  readonly gapMs: number;
}

/** A state of the source that is remembered. */
export interface RotationVersion {
  readonly seq: number;
  readonly digest: string;
  readonly seenMs: number;
  /** The source is this version. */
  readonly isSource: boolean;
}

/** A stretch of time that does not count, because the source was gone or unreadable. */
export interface FreezeStretch {
  readonly fromMs: number;
  /** Absent while it lasts. */
  readonly toMs?: number;
}

/** A rotation set. Its `ref` is the target of the first rank; conditions are with the lanes, and here there are none. */
export interface RotationSetRecord extends ObjectRecord {
  readonly type: "rotationSet";
  /** `rotation/<namespace>/<set>`. */
  readonly id: string;
  readonly step: "rotation";
  readonly set: string;
  /** Absent while there is none, or more than one. */
  readonly source?: ObjectRef;
  /** Since when the source has been what it is. */
  readonly sourceSinceMs?: number;
  readonly policy: "Settled" | "Queue";
  /** By rank, then by name. */
  readonly lanes: readonly RotationLane[];
  /** Newest first. */
  readonly versions: readonly RotationVersion[];
  readonly frozen: readonly FreezeStretch[];
}

// The checksum of a namespace, and the agents that hold to it.

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
export interface ChecksumRecord extends ObjectRecord {
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
export interface AgentRecord extends ObjectRecord {
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

// An EventingAuth: an application at the identity provider and its credentials in a runtime's cluster.

/** A runtime with its application. */
export interface IssuedRecord extends ObjectRecord {
  readonly type: "issued";
  /** `issued/<namespace>/<name>`. */
  readonly id: string;
  readonly step: "eventing-auth";
  readonly application?: { readonly name: string; readonly id: string };
  /** Where the Secret is: in which cluster, under which name. */
  readonly target?: { readonly clusterId: string; readonly secret: string };
  /** When the credentials were issued. */
  readonly issuedMs?: number;
  /** Known only where the operator's flags are. */
  readonly nextRotationMs?: number;
  readonly deletingSinceMs?: number;
}

// A workload with a sidecar: whether it is outdated, and what the plan says about it.

/**
 * A workload. Those whose pods all have the sidecar that new ones would get are shown as `done` if Keyturn has restarted them, and else not at all.
 * `health` is made from the decision: restart and rolling are progressing, wait is paused, skip is degraded, stuck is failed.
 */
export interface WorkloadRecord extends ObjectRecord {
  readonly type: "workload";
  /** `workload/<kind>/<namespace>/<name>`. */
  readonly id: string;
  readonly step: "sidecars";
  /** `outdated`: to be restarted now. `rolling`: being restarted. `waiting`: will be restarted. `heldBack`: will not be. `unknown`: not known. */
  readonly phase: "outdated" | "rolling" | "done" | "waiting" | "heldBack" | "unknown";
  /** What is wrong with its pods, in one word; absent if nothing is or if it is not known. */
  readonly outdated?: string;
  /** The same in words, or why it is not known. */
  readonly why: string;
  /** What the plan of this moment does with it: the words of `keyturn plan sidecars`. */
  readonly decision?: {
    readonly type: "restart" | "rolling" | "finish" | "wait" | "skip" | "unknown";
    readonly reason?: string;
    readonly untilMs?: number;
  };
  /** A rollout that takes longer than it may. */
  readonly stuck: boolean;
  readonly restartedMs?: number;
}
