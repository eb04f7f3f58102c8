// What the plan for one object is made from, and how it is gathered: from the caches, and from the API server only if they may be behind.
import {
  type Cache,
  ConfigMap,
  Deployment,
  isApiError,
  keyOf,
  keyOfObject,
  type Kind,
  type KubeObject,
  type Live,
  nameOf,
  type ObjectKey,
  type ObjectName,
  type Owner,
  ownershipOf,
  Pod,
  resourceOf,
  type Run,
  type Stored,
  type TimeSlice,
} from "@keyturn/runtime";
import { keyturn } from "../../feature/feature.ts";
import { type CertificateSecret, readCertificateChain } from "../../public-key.ts";
import type { JwksStatus } from "./api.ts";
import type { Passed, PassedStates } from "./sources.ts";
import { documentOf, isDocumentConfigMap, readingDocument, readingStatus, revisionOf } from "./config-map.ts";
import type { JwksWatches, ReadSettings } from "./controller.ts";
import { selectorOf } from "./nginx.ts";
import { isRolledOut, patienceMs, waitingSinceMs } from "./rollout.ts";
import type { SettingsResult } from "./settings.ts";

/** An object of either kind, as far as the plan looks at it itself; its spec comes as settings. */
export interface JwksObject extends KubeObject {
  readonly status?: JwksStatus;
}

/** What was observed. All of it lies in the object's namespace. */
export interface Observation {
  /** Which of the two kinds the object is of. */
  readonly kind: Kind;
  readonly object: Stored<JwksObject>;
  readonly settings: SettingsResult;
  /** The Secrets that exist, by name. */
  readonly secrets: ReadonlyMap<string, CertificateSecret>;
  /** What they held since the last run and no longer hold, by name. */
  readonly passed: ReadonlyMap<string, Passed<CertificateSecret>>;
  /** The documents in ConfigMaps of others that are to be merged, by name. */
  readonly merged: ReadonlyMap<string, string>;
  /** What those held since the last run and no longer hold, by name. */
  readonly passedMerged: ReadonlyMap<string, Passed<string>>;
  /** Everything of ours in the namespace that has a name which the object wants, and everything that is kept for it under any name. */
  readonly owned: readonly OwnedObject[];
  /** nginx's pods; undefined if nobody looked, because all is well or a rollout has only begun. */
  readonly pods: readonly Stored<Pod>[] | undefined;
  /** The least time between two changes of the ConfigMap; 0 for none. */
  readonly configMapIntervalMs: number;
}

/** An object that carries our label: kept for this object, or for another one if it has a name that this one wants. */
interface OwnedObject {
  readonly kind: Kind;
  readonly object: Stored<KubeObject>;
}

/** Where the object lives. */
export function nameOfObject({ object: { metadata } }: { readonly object: Stored<KubeObject> }): ObjectName {
  return metadata.namespace === undefined ? { name: metadata.name } : { namespace: metadata.namespace, name: metadata.name };
}

/** The object as an owner of others. */
export function ownerOfObservation(observation: Pick<Observation, "kind" | "object">): Owner {
  return { kind: observation.kind, name: nameOfObject(observation) };
}

/** True if an object is kept for the observed one. */
export function isOurs(observation: Observation, object: KubeObject): boolean {
  return ownershipOf(object, keyturn, ownerOfObservation(observation)) === "ours";
}

/** What there is of this kind and name, if it carries our label. */
export function found<T extends KubeObject>({ owned }: Observation, kind: Kind<T>, name: ObjectName): Stored<T> | undefined {
  const key = keyOf(name);
  // Caches are of one kind each, so what is of the kind is of its type.
  return owned.find((other) => resourceOf(other.kind) === resourceOf(kind) && keyOfObject(other.object) === key)?.object as Stored<T> | undefined;
}

/** The published ConfigMap of this name, if it is kept for the observed object. */
export function ownDocument(observation: Observation, configMapName: string): Stored<ConfigMap> | undefined {
  const live = found(observation, ConfigMap, { ...nameOfObject(observation), name: configMapName });
  return live && isOurs(observation, live) ? live : undefined;
}

/**
 * What is known about an object that is to be applied. One that carries our label is in a cache of ours; who has the name otherwise is found out by
 * the write, which touches nothing then.
 * A JWKS document's next keys are made from its last ones, so it is written only if it is still what was observed: another replica may have changed it, or created it.
 */
export function knownLive(observation: Observation, kind: Kind, wanted: KubeObject): Live {
  const live = found(observation, kind, nameOf(keyOfObject(wanted)));
  const isDocument = isDocumentConfigMap(wanted);
  if (!live) return { seen: "absent", ...(isDocument && { createOnly: true }) };
  const { uid, resourceVersion } = live.metadata;
  return { seen: "present", object: live, uid, ...(isDocument && { resourceVersion }) };
}

/** What sources held between two runs. */
export interface PassedSources {
  readonly secrets: PassedStates<CertificateSecret>;
  readonly merged: PassedStates<string>;
}

/** What an observation is made with. */
interface ObserveOptions {
  readonly kind: Kind<JwksObject>;
  readonly watches: JwksWatches;
  readonly readSettings: ReadSettings;
  readonly passed: PassedSources;
  readonly configMapIntervalMs: number;
  /** How long this run may hold others up. */
  readonly slice: TimeSlice;
  readonly nowMs: number;
}

/** Who looks. Its client is asked for only if the caches do not say enough. */
type Looking = Pick<Run, "key" | "client" | "signal">;

/** The observation of the run's object, or undefined if there is none of its key. */
export async function observeJwks(run: Looking, options: ObserveOptions): Promise<Observation | undefined> {
  const { key } = run;
  const { kind, watches, readSettings, passed, configMapIntervalMs, slice, nowMs } = options;
  const cached = watches.objects.get(key);
  if (!cached) return undefined;
  const settings = readSettings(cached);
  const owned = ownedBy(key, settings, watches);
  const observation = {
    kind,
    object: cached,
    settings,
    owned,
    pods: undefined,
    configMapIntervalMs,
    secrets: new Map(),
    passed: new Map(),
    merged: new Map(),
    passedMerged: new Map(),
  };
  if (!settings.ok) return observation;
  const { sources, configMapName, mergedConfigMaps, nginx } = settings.settings;
  const document = ownDocument(observation, configMapName);
  // The status is where the history is. If the ConfigMap says that there was more since, or is not there, the cache may be behind.
  const { revision = 0 } = cached.status ?? {};
  const isBehind = revision > 0 && (!document || revisionOf(document) !== revision);
  const object = isBehind ? await run.client.get(kind, nameOf(key), run.signal) : cached;
  if (!object) return undefined;
  const { namespace = "" } = nameOf(key);
  const secrets = [...sources, ...(nginx?.tlsSecret === undefined ? [] : [nginx.tlsSecret])].flatMap((name) => {
    const secret = watches.secrets.get(keyOf({ namespace, name }));
    return secret ? [[name, secret] as const] : [];
  });
  const pods = nginx && (await podsOf(run, { ...observation, object }, { name: nginx.name, nowMs }));
  const merged = mergedConfigMaps.flatMap((name) => {
    const text = watches.merged.get(keyOf({ namespace, name }));
    return text === undefined ? [] : [[name, text] as const];
  });
  const observed = {
    ...observation,
    object,
    pods,
    secrets: new Map(secrets),
    passed: passed.secrets.since(key, sources),
    merged: new Map(merged),
    passedMerged: passed.merged.since(key, mergedConfigMaps),
  };
  for (const _ of readingKeys(observed, document)) if (slice.used) await slice.pause();
  return observed;
}

/** Reads the keys that a plan will look at, one by one: all of them at once may take too long for others to wait, and what was read is remembered. */
function* readingKeys(
  { object, secrets, passed, merged, passedMerged }: Pick<Observation, "object" | "secrets" | "passed" | "merged" | "passedMerged">,
  document: Stored<ConfigMap> | undefined,
): Generator<undefined, void> {
  for (const secret of [...secrets.values(), ...Array.from(passed.values(), ({ states }) => states).flat()]) {
    if (secret.type === "certificates") readCertificateChain(secret.pem.certificates);
    yield;
  }
  for (const text of [...merged.values(), ...Array.from(passedMerged.values(), ({ states }) => states).flat()]) yield* readingDocument(text);
  yield* readingStatus(object.status);
  // What others published counts only for an object that has published nothing.
  if (object.status?.revision === undefined) yield* readingDocument((document && documentOf(document)) ?? "");
}

/** nginx's pods, if its rollout takes too long. Whoever may not list them hears less, and nothing else. */
async function podsOf(
  { client, signal }: Looking,
  observation: Observation,
  { name, nowMs }: { readonly name: string; readonly nowMs: number },
): Promise<readonly Stored<Pod>[] | undefined> {
  const { namespace = "" } = nameOfObject(observation);
  const live = found(observation, Deployment, { namespace, name });
  const sinceMs = waitingSinceMs(observation);
  if (!live || isRolledOut(live) || sinceMs === undefined || nowMs - sinceMs < patienceMs) return undefined;
  const labels = Object.entries(selectorOf({ name })).map(([label, value]) => `${label}=${value}`);
  try {
    const { items } = await client.list(Pod, { namespace, labels: labels.join(",") }, signal);
    return items;
  } catch (error) {
    if (isApiError(error, "Forbidden", "NotFound")) return undefined;
    throw error;
  }
}

function ownedBy(key: ObjectKey, settings: SettingsResult, { configMaps, serving }: JwksWatches): readonly OwnedObject[] {
  const { namespace = "", name } = nameOf(key);
  const named = (...names: readonly string[]): readonly ObjectKey[] => names.map((each) => keyOf({ namespace, name: each }));
  const configMapName = settings.ok ? settings.settings.configMapName : name;
  const nginx = settings.ok ? settings.settings.nginx : undefined;
  const wanted: readonly (readonly [Cache<Stored<KubeObject>>, readonly ObjectKey[]])[] = [
    [configMaps, named(configMapName, ...(nginx ? [nginx.configMapName] : []))],
    ...Object.values(serving ?? {}).map((cache) => [cache, named(nginx?.name ?? name)] as const),
  ];
  return wanted.flatMap(([cache, keys]) =>
    [...new Set([...keys, ...cache.byIndex("owner", key)])].flatMap((each) => {
      const object = cache.get(each);
      return object ? [{ kind: cache.kind, object }] : [];
    }),
  );
}
