// What every record of the page has: which object it is about, how that fares, and whether somebody should look.

/** The five steps of a credential's life, in their order. The names are those of the controllers. */
export const steps = ["eventing-auth", "rotation", "jwks", "checksum", "sidecars"] as const;
export type StepName = (typeof steps)[number];

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
 * How something fares. `ok`: as it should be, and nothing is under way. `busy`: as it should be, and something is under way. `waiting`: held back by a rule,
 * such as a maintenance window. `warning`: somebody should look when there is time. `error`: it does not work. `unknown`: nothing can be said.
 */
export type Health = "ok" | "busy" | "waiting" | "warning" | "error" | "unknown";

/** A condition of an object, as its status has it. */
export interface ConditionView {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
  /** Since when it says so. */
  readonly sinceMs?: number;
}

/** What every record has. Times are milliseconds since 1970 by the server's clock, see `Hello`. Absent fields are not known, or there is none. */
export interface RecordBase {
  readonly id: RecordId;
  readonly step: StepName;
  /** The object whose page this record leads to, and whose kind's rights decide who gets the record. */
  readonly ref: ObjectRef;
  readonly health: Health;
  /** Why, as one word of the controller's own. Empty if there is nothing to say. */
  readonly reason: string;
  /** The same as a sentence. */
  readonly message: string;
  /** Since when it fares so. */
  readonly sinceMs?: number;
  readonly createdMs?: number;
  readonly conditions: readonly ConditionView[];
  /** When something happens next by itself, the earliest of all. */
  readonly nextMs?: number;
}
