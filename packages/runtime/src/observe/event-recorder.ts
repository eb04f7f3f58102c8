// Kubernetes Events about an object, with repetition folded into a series.
import type { Kind } from "../client/kind.ts";
import type { ObjectName } from "../client/object.ts";

/** What an Event says. */
export interface EventToRecord {
  readonly kind: Kind;
  readonly object: ObjectName & { readonly uid?: string; readonly resourceVersion?: string };
  readonly type: "Normal" | "Warning";
  /** PascalCase; shared with the condition and the metric label. */
  readonly reason: string;
  /** What was done, PascalCase verb: `Publish`, `Rotate`. Default `Reconcile`. */
  readonly action?: string;
  readonly message: string;
}

/** Records Events. Never throws and never waits: an Event that cannot be written is counted and dropped. */
export interface EventRecorder {
  record(event: EventToRecord): void;
}
