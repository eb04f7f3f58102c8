// Everything that the next step for one EventingAuth is planned from. Nothing but the time of a request is remembered between runs.
import { createHash } from "node:crypto";
import { type Cache, type ControllerScope, keyOf, keyOfObject, nameOf, type Owner, type Run, Secret, type Stored } from "@keyturn/runtime";
import { EventingAuth } from "./api.ts";
import type { ConditionReport } from "./conditions.ts";
import { type EventingAuthSettings, keyOfRuntime, kubeconfigName, runtimeOf } from "./flags.ts";
import type { grantKeeper } from "./grants.ts";
import { IdentityError } from "./identity/provider-http.ts";
import type {
  Application,
  Endpoints,
  FoundApplication,
  IdentityProvider,
  IdentityProviders,
  IssuedSecret,
  SecretListing,
} from "./identity/provider.ts";
import type { ObservedTarget, Target, TargetPool } from "./target.ts";

/** What was observed. */
export interface Observation {
  readonly object: Stored<EventingAuth>;
  /** False in every namespace but that of the kubeconfigs: whoever may write there decides which clusters are reached. */
  readonly isServed: boolean;
  /** The runtime's cluster; `unknown` if there is no kubeconfig, so that nobody knows of any cluster. */
  readonly target: ObservedTarget | { readonly type: "unknown"; readonly message: string };
  /** Whether the identity provider's credentials could be read. */
  readonly provider: ObservedProvider;
  /** What the identity provider has answered in this run; what is missing has not been asked for. */
  readonly tenant: ObservedTenant;
  /** When this process last asked for an application for this object: counts where the annotation that says so was taken away. */
  readonly askedAtMs?: number;
  readonly settings: Pick<
    EventingAuthSettings,
    "kubeconfigs" | "targetSecret" | "rotateAfterMs" | "overlapMs" | "checkCredentials" | "deletionPatienceMs"
  >;
}

type ObservedProvider =
  /** `keepsGrants` if it hands out a right per application, which is kept in a Secret. */
  { readonly type: "open"; readonly secretsOverlap: boolean; readonly keepsGrants: boolean } | { readonly type: "closed"; readonly message: string };

/** Answers of the identity provider. */
export interface ObservedTenant {
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
  readonly credentials?: ConditionReport;
  /** The client secret is lost, and this application gives no other. */
  readonly secretLost?: boolean;
}

/** The observed object as an owner of others. */
export function ownerOfObservation({ object }: Pick<Observation, "object">): Owner {
  return { kind: EventingAuth, name: nameOf(keyOfObject(object)) };
}

// What is known without asking the identity provider.

/** What an observation is made with. */
interface ObserveOptions {
  readonly watches: IssuingWatches;
  readonly settings: EventingAuthSettings;
  readonly pool: TargetPool;
  readonly providers: Pick<IdentityProviders, "forSecret">;
  /** When this process last asked for an application, by the uid of the object. */
  readonly askedAt: ReadonlyMap<string, number>;
}

/** What was observed, and the two that it was observed of. */
export interface ObservedParts {
  readonly observation: Observation;
  readonly provider: IdentityProvider | undefined;
  readonly target: Target | undefined;
}

/** All that a run works with. */
export interface Observed extends ObservedParts {
  /** All was found as it should be, nothing has changed since, and so long nobody need be asked again. */
  readonly idleUntilMs: number | undefined;
  /** How long after this run the identity provider is asked again, whatever else happens. */
  readonly checkAfterMs: number;
  /** What the steps of this run share; made by the first. */
  readonly shared?: SharedBySteps;
}

/** Does not outlive its run. */
export interface SharedBySteps {
  readonly grants: ReturnType<typeof grantKeeper>;
  /** Whether this run has asked for an application. It never asks for another. */
  hasAsked: boolean;
  /** A secret that came with the application and is still to be written. */
  firstSecret: IssuedSecret | undefined;
}

/** The observation of one EventingAuth, or undefined if there is none of this key. */
export async function observeEventingAuth({ key, client }: Pick<Run, "key" | "client">, options: ObserveOptions): Promise<ObservedParts | undefined> {
  const { watches, settings } = options;
  const object = watches.objects.get(key);
  const runtime = runtimeOf(settings, key);
  if (!object) {
    if (runtime !== undefined) options.pool.close(runtime);
    return undefined;
  }
  const { provider, observed } = openProvider(options);
  const askedAtMs = options.askedAt.get(object.metadata.uid);
  const shared = { object, isServed: runtime !== undefined, provider: observed, tenant: {}, settings, ...(askedAtMs !== undefined && { askedAtMs }) };
  if (runtime === undefined) return { observation: { ...shared, target: { type: "unknown", message: "not served" } }, provider, target: undefined };
  const digest = watches.kubeconfigs.get(keyOf(kubeconfigName(settings, runtime)));
  if (!digest) {
    options.pool.close(runtime);
    const message = `there is no kubeconfig for the runtime: Secret ${keyOf(kubeconfigName(settings, runtime))} does not exist`;
    return { observation: { ...shared, target: { type: "unknown", message } }, provider, target: undefined };
  }
  const opened = await options.pool.open(runtime, digest, client);
  if (opened.type === "refused")
    return { observation: { ...shared, target: { type: "unobserved", trouble: opened.trouble } }, provider, target: undefined };
  return { observation: { ...shared, target: opened.target.observe() }, provider, target: opened.target };
}

function openProvider({ watches, settings, providers }: ObserveOptions): {
  readonly provider: IdentityProvider | undefined;
  readonly observed: ObservedProvider;
} {
  const data = watches.credentials.get(keyOf(settings.providerSecret));
  if (!data) {
    const message = `there are no credentials for the identity provider: Secret ${keyOf(settings.providerSecret)} does not exist`;
    return { provider: undefined, observed: { type: "closed", message } };
  }
  try {
    const provider = providers.forSecret(data);
    return { provider, observed: { type: "open", secretsOverlap: provider.secretsOverlap, keepsGrants: provider.type === "openid" } };
  } catch (error) {
    if (!(error instanceof IdentityError)) throw error;
    return { provider: undefined, observed: { type: "closed", message: `Secret ${keyOf(settings.providerSecret)}: ${error.message}` } };
  }
}

// What the controller watches in the control plane, and which EventingAuths a change concerns.

/** The caches of the controller. */
interface IssuingWatches {
  readonly objects: Cache<Stored<EventingAuth>>;
  /** The identity provider's credentials: the one Secret whose content is kept, because every run needs it. */
  readonly credentials: Cache<Readonly<Record<string, string>>>;
  /** A digest of each kubeconfig; empty for Secrets that are none. The kubeconfig itself is read when it is used. */
  readonly kubeconfigs: Cache<string>;
}

/** Declares the watches and what they trigger. */
export function watchIssuing(scope: ControllerScope, settings: EventingAuthSettings): IssuingWatches {
  const { providerSecret, kubeconfigs } = settings;
  const watches: IssuingWatches = {
    objects: scope.watch<EventingAuth, Stored<EventingAuth>>(EventingAuth),
    credentials: scope.watch(Secret, {
      namespace: providerSecret.namespace,
      fields: `metadata.name=${providerSecret.name}`,
      keep: ({ data = {} }) => data,
    }),
    kubeconfigs: scope.watch(Secret, {
      namespace: kubeconfigs.namespace,
      keep: ({ metadata, data }) => (metadata.name.startsWith(kubeconfigs.prefix) ? digestOf(data?.[kubeconfigs.key] ?? "") : ""),
    }),
  };
  scope.trigger(watches.objects);
  scope.trigger(watches.credentials, () => Array.from(watches.objects.entries(), ([key]) => key));
  scope.trigger(watches.kubeconfigs, ({ key }) => {
    const { name } = nameOf(key);
    return name.startsWith(kubeconfigs.prefix) ? [keyOfRuntime(settings, name.slice(kubeconfigs.prefix.length))] : [];
  });
  return watches;
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}
