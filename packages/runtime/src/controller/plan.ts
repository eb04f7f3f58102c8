// A plan: what a pure function makes of observed state and the time. Dry runs, tests and the command line read the same plan that the operator carries out.
import type { Kind, KubeObject, ObjectName } from "../client/kind.ts";

/** One change to make to an object kept on the planned object's behalf. */
export type Write =
  | { readonly verb: "apply"; readonly kind: Kind; readonly object: KubeObject }
  | { readonly verb: "remove"; readonly kind: Kind; readonly name: ObjectName };

/** Something that people should be told when the plan is carried out. */
export interface PlannedEvent {
  readonly type: "Normal" | "Warning";
  /** PascalCase, one of the controller's reasons. */
  readonly reason: string;
  readonly message: string;
}

/** The writes to make, in order, and what to say afterwards. */
export interface Plan<Status> {
  readonly writes: readonly Write[];
  /** The whole status as it should stand when the writes are done. */
  readonly status: Status;
  readonly notices: readonly PlannedEvent[];
  /** Wall-clock time in milliseconds at which time alone changes the plan; undefined if only a change of what was observed can. */
  readonly nextAtMs: number | undefined;
}

/** An `apply` write of a typed object. */
export function apply<T extends KubeObject>(kind: Kind<T>, object: T): Write {
  return { verb: "apply", kind, object };
}

/** A `remove` write. */
export function remove(kind: Kind, name: ObjectName): Write {
  return { verb: "remove", kind, name };
}
