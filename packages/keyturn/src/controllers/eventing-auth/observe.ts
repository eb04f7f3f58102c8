// Everything that the next step for one EventingAuth is planned from. Nothing but the time of a request is remembered between runs.
import { createHash } from "node:crypto";
import { type Cache, type ControllerScope, keyOf, keyOfObject, nameOf, type Owner, type Run, Secret, type Stored } from "@keyturn/runtime";
import { adoptAnnotation, EventingAuth, replaceAnnotation, askedAtAnnotation } from "./api.ts";
import type { ConditionReport } from "./conditions.ts";
import { type EventingAuthSettings, keysOfRuntime, kubeconfigName, runtimeOf } from "./flags.ts";
import type { grantKeeper } from "./grants.ts";
import { isSameAddress } from "./identity/discovery.ts";
import { isApplicationId } from "./identity/ias.ts";
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
  /** Why nothing is done for the object; undefined if something is. */
  readonly refusal?: ConditionReport;
  /** The runtime's cluster; `unknown` if there is no kubeconfig, so that nobody knows of any cluster. */
  readonly target: ObservedTarget | { readonly type: "unknown"; readonly message: string };
  /** Whether the identity provider's credentials could be read. */
  readonly provider: ObservedProvider;
  /** What the identity provider has answered in this run; what is missing has not been asked for. */
  readonly tenant: ObservedTenant;
  /** The application that an annotation wants to be this object's, and the other object whose it is. */
  readonly adopts?: { readonly id: string; readonly claimedBy: string | undefined };
  /** The list of all applications had a second one of this object. */
  readonly isDoubled?: boolean;
  /** When this process last asked for an application for this object: counts where the annotation that says so was taken away. */
  readonly askedAtMs?: number;
  /** When this process last asked the runtime's cluster for the Secret and did not hear what became of that. */
  readonly unheardAtMs?: number;
  readonly settings: Pick<
    EventingAuthSettings,
    "targetSecret" | "rotateAfterMs" | "overlapMs" | "checkCredentials" | "deletionPatienceMs" | "shownWithinMs"
  >;
}

type ObservedProvider =
  | {
      readonly type: "open";
      readonly url: string;
      readonly secretsOverlap: boolean;
      /** It hands out a right per application, which is kept in a Secret. */
      readonly keepsGrants: boolean;
      /** Somebody said that whatever is missing there is to be made anew. */
      readonly replaces: boolean;
    }
  | { readonly type: "closed"; readonly message: string };

/** Answers of the identity provider. */
export interface ObservedTenant {
  /** The application whose id is in the status; `deleted` if that was done in this run. */
  readonly application?: Application | "gone" | "deleted";
  /** All applications of this name. */
  readonly namesakes?: readonly FoundApplication[];
  /** One that may become this object's, looked at closely. */
  readonly candidate?: (Application & { readonly hasCredentials: boolean }) | "gone";
  /** How many applications of other objects were looked for, and how many of them are not there. */
  readonly others?: { readonly asked: number; readonly missing: number };
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
  /** When it last asked for a Secret without hearing what became of that, in the same way. */
  readonly unheardAt: ReadonlyMap<string, number>;
  /** The uids of objects that have a second application. */
  readonly doubled: ReadonlySet<string>;
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
  /** It was looked at so often that it has to wait. */
  readonly limitedUntilMs?: number | undefined;
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
  const { watches, settings, pool } = options;
  const object = watches.objects.get(key);
  const runtime = runtimeOf(settings, key);
  if (!object) {
    if (runtime !== undefined && !keysOfRuntime(settings, runtime).some((each) => watches.objects.get(each))) pool.close(runtime);
    return undefined;
  }
  const { provider, observed } = openProvider(options);
  const refusal = refusalOf(object, options);
  const shared = { object, provider: observed, tenant: {}, settings, ...knownOf(object, options) };
  if (refusal || runtime === undefined) {
    const target = { type: "unknown", message: "not served" } as const;
    return { observation: { ...shared, target, ...(refusal && { refusal }) }, provider, target: undefined };
  }
  const digest = watches.kubeconfigs.get(keyOf(kubeconfigName(settings, runtime)));
  if (!digest) {
    pool.close(runtime);
    const message = `there is no kubeconfig for the runtime: Secret ${keyOf(kubeconfigName(settings, runtime))} does not exist`;
    return { observation: { ...shared, target: { type: "unknown", message } }, provider, target: undefined };
  }
  const opened = await pool.open(runtime, digest, client);
  if (opened.type === "refused")
    return { observation: { ...shared, target: { type: "unobserved", trouble: opened.trouble } }, provider, target: undefined };
  return { observation: { ...shared, target: opened.target.observe() }, provider, target: opened.target };
}

/** Whoever may write an EventingAuth that counts chooses which cluster is reached; and a runtime has one. */
function refusalOf(object: Stored<EventingAuth>, { settings, watches }: ObserveOptions): ConditionReport | undefined {
  const key = keyOfObject(object);
  const runtime = runtimeOf(settings, key);
  if (runtime === undefined) {
    const namespaces = settings.namespaces.join(", ");
    const message = `EventingAuths count in the namespace ${namespaces} only; nothing is done for this one: delete it, or see --eventing-auth.namespaces`;
    return { holds: false, reason: "NamespaceNotServed", message };
  }
  const elder = keysOfRuntime(settings, runtime)
    .filter((other) => other !== key)
    .find((other) => isElder(watches.objects.get(other), object));
  if (elder === undefined) return undefined;
  const message = `the older EventingAuth ${elder} is for the runtime of this name; nothing is done for this one: delete either of them`;
  return { holds: false, reason: "NameTaken", message };
}

/** Of two of one second, which is all that their times say, the one for which an application was asked for keeps the runtime. */
export function isElder(other: Stored<EventingAuth> | undefined, object: Stored<EventingAuth>): boolean {
  if (!other) return false;
  const [theirs = "", ours = ""] = [other.metadata.creationTimestamp, object.metadata.creationTimestamp];
  if (theirs !== ours) return theirs < ours;
  return isBegun(other) === isBegun(object) ? other.metadata.uid < object.metadata.uid : isBegun(other);
}

function isBegun({ metadata, status }: Stored<EventingAuth>): boolean {
  return metadata.annotations?.[askedAtAnnotation] !== undefined || status?.iasApplication?.uuid !== undefined;
}

/** What is known of an object from elsewhere. */
function knownOf(
  { metadata }: Stored<EventingAuth>,
  { askedAt, unheardAt, doubled, watches }: ObserveOptions,
): Pick<Observation, "adopts" | "isDoubled" | "askedAtMs" | "unheardAtMs"> {
  const askedAtMs = askedAt.get(metadata.uid);
  const unheardAtMs = unheardAt.get(metadata.uid);
  const id = idIn(metadata.annotations?.[adoptAnnotation]);
  const claim = [...watches.objects.entries()].find(
    ([, { metadata: other, status }]) => id !== undefined && other.uid !== metadata.uid && idIn(status?.iasApplication?.uuid) === id,
  );
  return {
    ...(askedAtMs !== undefined && { askedAtMs }),
    ...(unheardAtMs !== undefined && { unheardAtMs }),
    ...(doubled.has(metadata.uid) && { isDoubled: true }),
    ...(id !== undefined && { adopts: { id, claimedBy: claim && `EventingAuth ${claim[0]}` } }),
  };
}

/** An id as its provider spells it: IAS's are UUIDs, and its own are in small letters. */
function idIn(text = ""): string | undefined {
  const id = text.trim();
  return (isApplicationId(id) ? id.toLowerCase() : id) || undefined;
}

function openProvider({ watches, settings, providers }: ObserveOptions): {
  readonly provider: IdentityProvider | undefined;
  readonly observed: ObservedProvider;
} {
  const credentials = watches.credentials.get(keyOf(settings.providerSecret));
  if (!credentials) {
    const message = `there are no credentials for the identity provider: Secret ${keyOf(settings.providerSecret)} does not exist`;
    return { provider: undefined, observed: { type: "closed", message } };
  }
  try {
    const provider = providers.forSecret(credentials.data);
    const { type, secretsOverlap, url } = provider;
    const replaces = credentials.replacesAt !== undefined && isSameAddress(credentials.replacesAt, url);
    return { provider, observed: { type: "open", url, secretsOverlap, keepsGrants: type === "openid", replaces } };
  } catch (error) {
    if (!(error instanceof IdentityError)) throw error;
    return { provider: undefined, observed: { type: "closed", message: `Secret ${keyOf(settings.providerSecret)}: ${error.message}` } };
  }
}

// What the controller watches in the control plane, and which EventingAuths a change concerns.

/** The caches of the controller. */
export interface IssuingWatches {
  readonly objects: Cache<Stored<EventingAuth>>;
  /** The identity provider's credentials: the one Secret whose content is kept, because every run needs it. */
  readonly credentials: Cache<{ readonly data: Readonly<Record<string, string>>; readonly replacesAt: string | undefined }>;
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
      keep: ({ metadata, data = {} }) => ({ data, replacesAt: metadata.annotations?.[replaceAnnotation] }),
    }),
    kubeconfigs: scope.watch(Secret, {
      namespace: kubeconfigs.namespace,
      keep: ({ metadata, data }) => (metadata.name.startsWith(kubeconfigs.prefix) ? digestOf(data?.[kubeconfigs.key] ?? "") : ""),
    }),
  };
  // The elder of two with one name may have come or gone.
  scope.trigger(watches.objects, ({ key }) => {
    const runtime = runtimeOf(settings, key);
    return runtime === undefined ? [key] : keysOfRuntime(settings, runtime);
  });
  scope.trigger(watches.credentials, () => Array.from(watches.objects.entries(), ([key]) => key));
  scope.trigger(watches.kubeconfigs, ({ key }) => {
    const { name } = nameOf(key);
    return name.startsWith(kubeconfigs.prefix) ? keysOfRuntime(settings, name.slice(kubeconfigs.prefix.length)) : [];
  });
  return watches;
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}
