// What a controller may do, declared once: RBAC, chart, docs and the start-up check all come from this list.
import type { Kind } from "../client/kind.ts";

/** The verbs of the Kubernetes API that a rule can grant. */
export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete";

/** A right that a controller needs, and why. */
export interface AccessRule {
  readonly kind: Pick<Kind, "group" | "plural" | "namespaced">;
  readonly verbs: readonly Verb[];
  readonly subresource?: string;
  /** Limits the rule to objects of these names (not possible for list, watch and create). */
  readonly resourceNames?: readonly string[];
  /** Limits the rule to this namespace, wherever else the operator works. Default everywhere that it works. */
  readonly namespace?: string;
  /** One sentence for the reference: what the right is used for. */
  readonly why: string;
}
