// The steps from what is to what should be, for one EventingAuth. After each one is decided anew from what is then known.
import type { Application, Endpoints } from "./identity/identity-provider.ts";
import type { Verdicts } from "./status.ts";

/** Questions to the identity provider. */
export type Look =
  | { readonly type: "look"; readonly at: "application"; readonly id: string }
  | { readonly type: "look"; readonly at: "namesakes" }
  | { readonly type: "look"; readonly at: "namesake"; readonly id: string }
  | { readonly type: "look"; readonly at: "secrets"; readonly id: string }
  | { readonly type: "look"; readonly at: "endpoints" };

/** Changes, each of which leaves something behind that the next decision can be made from. */
export type Act =
  /** Make an application, and write its id down before anything else. */
  | { readonly type: "create" }
  /** Write down that an application which was made for this object before, or which its runtime uses, is this object's. */
  | { readonly type: "adopt"; readonly id: string }
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
  /** The last step of a deletion: let the object go. */
  | { readonly type: "release"; readonly abandoned: readonly string[] };

/** Nothing more to do for now. */
export interface Rest {
  readonly type: "rest";
  readonly verdicts: Verdicts;
  /** True if everything is as it should be, so that the identity provider need not be asked again soon. */
  readonly settled: boolean;
  /** When time alone brings something to do; undefined if it does not. */
  readonly nextAtMs: number | undefined;
  /** True if all that is awaited will be told, and nothing is worth reporting meanwhile. */
  readonly quiet?: boolean;
}

export type Step = Look | Act | Rest;
