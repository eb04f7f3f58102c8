// Everything that the next step for one EventingAuth is decided from. None of it is remembered between runs.
import { keyOfObject, nameOf, type Owner, type Stored } from "@keyturn/runtime";
import { EventingAuth } from "./api.ts";
import type { Application, Endpoints, FoundApplication, SecretListing } from "./identity/identity-provider.ts";
import type { EventingAuthSettings } from "./settings.ts";
import type { Verdict } from "./status.ts";
import type { TargetSight } from "./target.ts";

/** What was observed. */
export interface Observation {
  readonly object: Stored<EventingAuth>;
  /** False in every namespace but that of the kubeconfigs: whoever may write there decides which clusters are reached. */
  readonly isServed: boolean;
  /** The runtime's cluster; `unknown` if there is no kubeconfig, so that nobody knows of any cluster. */
  readonly target: TargetSight | { readonly type: "unknown"; readonly message: string };
  /** Whether the identity provider's credentials could be read. */
  readonly provider: ProviderSight;
  /** What the identity provider has told in this run; what is missing has not been asked for. */
  readonly tenant: TenantSight;
  readonly settings: Pick<
    EventingAuthSettings,
    "kubeconfigs" | "targetSecret" | "rotateAfterMs" | "overlapMs" | "checkCredentials" | "deletionPatienceMs"
  >;
}

export type ProviderSight = { readonly type: "open"; readonly secretsOverlap: boolean } | { readonly type: "closed"; readonly message: string };

/** Answers of the identity provider. */
export interface TenantSight {
  /** The application whose id is in the status; `deleted` if that was done in this run. */
  readonly application?: Application | "gone" | "deleted";
  /** All applications of this name. */
  readonly namesakes?: readonly FoundApplication[];
  /** The only one of them, looked at closely. */
  readonly namesake?: Application | "gone";
  /** The application's secrets. */
  readonly secrets?: readonly SecretListing[];
  readonly endpoints?: Endpoints;
  /** Whether a token was given for what is in the runtime's cluster. */
  readonly credentials?: Verdict;
  /** The client secret is lost, and this application gives no other. */
  readonly secretLost?: boolean;
}

/** The observed object as an owner of others. */
export function ownerOfObservation({ object }: Pick<Observation, "object">): Owner {
  return { kind: EventingAuth, name: nameOf(keyOfObject(object)) };
}
