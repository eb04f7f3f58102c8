// What can be next for one EventingAuth: a question, a change, the end of a run, or the end of the object.
import type { ConditionReports } from "./conditions.ts";
import type { Application, Endpoints } from "./identity/provider.ts";

/** Questions to the identity provider. */
export type Look =
  | { readonly type: "look"; readonly at: "application"; readonly id: string }
  | { readonly type: "look"; readonly at: "namesakes" }
  /** An application that somebody may want to be this object's, and whether anybody can have credentials of it. */
  | { readonly type: "look"; readonly at: "candidate"; readonly id: string }
  /** A few applications of other objects: whether this is the directory that they were made in. */
  | { readonly type: "look"; readonly at: "others" }
  | { readonly type: "look"; readonly at: "secrets"; readonly id: string }
  | { readonly type: "look"; readonly at: "endpoints" };

/** Changes, each of which leaves something behind that the next decision can be made from. */
export type Act =
  /** Make an application, and write its id down before anything else. */
  | { readonly type: "create" }
  /** Take the time at which one was asked for, which is still to come by this clock, for now. */
  | { readonly type: "redate" }
  /** Nothing that was asked for can turn up any more: take out when that was. */
  | { readonly type: "settle" }
  /** Write down that an application is this object's: it carries the object's mark, or somebody said so. */
  | { readonly type: "adopt"; readonly id: string }
  /** Write down at which identity provider the application is. */
  | { readonly type: "locate" }
  /** Take the id of an application that is gone out of the status. */
  | { readonly type: "forget" }
  | { readonly type: "deleteApplication"; readonly id: string }
  /** Issue a client secret and write it to the runtime's cluster. */
  | {
      readonly type: "issue";
      readonly why: "first" | "repair" | "rotation";
      readonly application: Application;
      readonly endpoints: Endpoints;
      readonly known: readonly string[];
    }
  /** Put right what is not secret about the Secret. */
  | { readonly type: "mend"; readonly application: Application; readonly endpoints: Endpoints }
  | { readonly type: "deleteSecrets"; readonly id: string; readonly hints: readonly string[] }
  /** Fetch a token with what is in the runtime's cluster. */
  | { readonly type: "check" }
  | { readonly type: "deleteTargetSecret" }
  /** Give up the right to manage the application, before the object is let go. */
  | { readonly type: "forgetGrant" };

/** The end of a deletion: let the object go. */
export interface Release {
  readonly type: "release";
  readonly abandoned: readonly string[];
}

/** Nothing more to do for now. */
export interface Idle {
  readonly type: "idle";
  readonly reports: ConditionReports;
  /** True if everything is as it should be, so that the identity provider need not be asked again soon. */
  readonly complete: boolean;
  /** When time alone brings something to do; undefined if it does not. */
  readonly nextAtMs: number | undefined;
  /** True if a watch shows what is awaited, and nothing is worth reporting meanwhile. */
  readonly quiet?: boolean;
}

export type Step = Look | Act | Idle | Release;

/** Nothing can be done now, and the object is not as it should be. */
export function idle(reports: ConditionReports, nextAtMs?: number): Idle {
  return { type: "idle", reports, complete: false, nextAtMs };
}
