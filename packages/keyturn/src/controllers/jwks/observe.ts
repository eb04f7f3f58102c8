// What the plan for one object is made from, and how it is gathered: from the caches, and from the API server only for names that they do not show.
import {
  type Cache,
  ConfigMap,
  Deployment,
  keyOf,
  keyOfObject,
  type Kind,
  type KubeObject,
  type Live as KnownLive,
  nameOf,
  type ObjectKey,
  type ObjectName,
  type Owner,
  type Run,
  Service,
  type Stored,
} from "@keyturn/runtime";
import type { JwksStatus } from "./api.ts";
import type { CertificateSecret } from "./certificates.ts";
import { isDocumentConfigMap } from "./config-map.ts";
import type { JwksWatches, ReadSettings } from "./controller.ts";
import { type Claim, claimKey, type Rival } from "./name-claims.ts";
import type { JwksSettings, SettingsResult } from "./settings.ts";

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
  /** What there is under the names that the object wants, whoever's it is. */
  readonly live: Live;
  /** Everything that is marked as kept for this object. */
  readonly owned: readonly OwnedObject[];
  /** Other objects, of both kinds, that want one of the same names. */
  readonly rivals: readonly Rival[];
  /** The least time between two changes of the ConfigMap; 0 for none. */
  readonly configMapIntervalMs: number;
}

export interface Live {
  readonly configMap?: Stored<ConfigMap> | undefined;
  readonly nginxConfigMap?: Stored<ConfigMap> | undefined;
  readonly deployment?: Stored<Deployment> | undefined;
  readonly service?: Stored<Service> | undefined;
}

interface OwnedObject {
  readonly kind: Kind;
  readonly object: Stored<KubeObject>;
}

/** Where the object lives. */
export function nameOfObject({ object: { metadata } }: Pick<Observation, "object">): ObjectName {
  return metadata.namespace === undefined ? { name: metadata.name } : { namespace: metadata.namespace, name: metadata.name };
}

/** The object as an owner of others. */
export function ownerOfObservation(observation: Pick<Observation, "kind" | "object">): Owner {
  return { kind: observation.kind, name: nameOfObject(observation) };
}

/** Every name that an object of this name and these settings wants, with what is there now: the JWKS document's, then nginx's. */
export function claimsOf(name: ObjectName, settings: JwksSettings, live: Live = {}): readonly [Claim, ...Claim[]] {
  const named = (other: string): ObjectName => ({ ...name, name: other });
  const document: Claim = { kind: ConfigMap, name: named(settings.configMapName), live: live.configMap };
  if (!settings.nginx) return [document];
  return [
    document,
    { kind: ConfigMap, name: named(settings.nginx.configMapName), live: live.nginxConfigMap },
    { kind: Deployment, name, live: live.deployment },
    { kind: Service, name, live: live.service },
  ];
}

/**
 * What is known about an object that is to be applied: every name that is claimed was looked at.
 * The JWKS document's next keys are made from its last ones, so it is written only if it is still what was observed: another replica may have changed it, or created it.
 */
export function knownLive({ owned }: Observation, claims: readonly Claim[]): (kind: Kind, wanted: KubeObject) => KnownLive {
  // Also those under names that the spec no longer has, or that cannot be read: keys may have to be revoked there.
  const documents = owned.flatMap((other): readonly Claim[] =>
    isDocumentConfigMap(other.object) ? [{ kind: other.kind, name: nameOfObject(other), live: other.object }] : [],
  );
  const byKey = new Map([...documents, ...claims].map((claim) => [claimKey(claim), claim]));
  return (kind, wanted) => {
    const claim = byKey.get(claimKey({ kind, name: nameOf(keyOfObject(wanted)) }));
    const isDocument = claim !== undefined && (claim === claims[0] || documents.includes(claim));
    const { uid, resourceVersion } = claim?.live?.metadata ?? {};
    if (!claim?.live || uid === undefined) return { seen: "absent", ...(isDocument && { createOnly: true }) };
    return { seen: "present", object: claim.live, uid, ...(isDocument && resourceVersion !== undefined && { resourceVersion }) };
  };
}

// Gathers what the plan for one object is made from: from the caches, and from the API server only for names that our caches do not show.

/** What an observation is made with. */
interface ObserveOptions {
  readonly kind: Kind<JwksObject>;
  readonly watches: JwksWatches;
  readonly readSettings: ReadSettings;
  readonly configMapIntervalMs: number;
}

/** Who looks. Its client is asked for only if the caches do not say enough. */
type Looking = Pick<Run, "key" | "client" | "signal">;

/** The observation of the run's object, or undefined if there is none of its key. */
export async function observeJwks(run: Looking, options: ObserveOptions): Promise<Observation | undefined> {
  const { key } = run;
  const { kind, watches, readSettings, configMapIntervalMs } = options;
  const cached = watches.objects.get(key);
  if (!cached) return undefined;
  const settings = readSettings(cached);
  const hasPublished = (cached.status?.revision ?? 0) > 0;
  const live = settings.ok ? await liveOf(run, settings.settings, { watches, hasPublished }) : {};
  // What a rebuilt document lacks is lost, so it is not rebuilt from a status that may be behind.
  const object = live.configMap || !hasPublished ? cached : await run.client.get(kind, nameOf(key), run.signal);
  if (!object) return undefined;
  return {
    kind,
    object,
    settings,
    secrets: settings.ok ? secretsOf(nameOf(key), settings.settings, watches.secrets) : new Map(),
    live,
    owned: ownedBy(key, watches),
    rivals: settings.ok ? rivalsOf(key, settings.settings, options) : [],
    configMapIntervalMs,
  };
}

function secretsOf({ namespace = "" }: ObjectName, { sources }: JwksSettings, secrets: Cache<CertificateSecret>): Map<string, CertificateSecret> {
  return new Map(
    sources.flatMap((name) => {
      const secret = secrets.get(keyOf({ namespace, name }));
      return secret ? [[name, secret] as const] : [];
    }),
  );
}

/**
 * An object that carries our label is in a cache of ours. One that is not there but whose name is taken is looked up: it is somebody else's, or ours a moment ago.
 * A document that was published once and is not there is looked up in any case: the cache may be behind, and its keys would be lost. The first one is created, and nothing but created.
 */
async function liveOf(
  run: Looking,
  settings: JwksSettings,
  { watches, hasPublished }: { readonly watches: JwksWatches; readonly hasPublished: boolean },
): Promise<Live> {
  const { taken, configMaps } = watches;
  const name = nameOf(run.key);
  const lookUp = <T extends KubeObject>(kind: Kind<T>, wanted: ObjectName): Promise<Stored<T> | undefined> =>
    run.client.get(kind, wanted, run.signal);
  const named = (configMapName: string): ObjectName => ({ ...name, name: configMapName });
  const documentName = named(settings.configMapName);
  const document =
    configMaps.get(keyOf(documentName)) ?? ((hasPublished || taken.configMaps.get(keyOf(documentName))) && lookUp(ConfigMap, documentName));
  if (!settings.nginx) return { configMap: await document };
  const nginxName = named(settings.nginx.configMapName);
  const { key } = run;
  const [configMap, nginxConfigMap, deployment, service] = await Promise.all([
    document,
    configMaps.get(keyOf(nginxName)) ?? (taken.configMaps.get(keyOf(nginxName)) && lookUp(ConfigMap, nginxName)),
    watches.deployments.get(key) ?? (taken.deployments.get(key) && lookUp(Deployment, name)),
    watches.services.get(key) ?? (taken.services.get(key) && lookUp(Service, name)),
  ]);
  return { configMap, nginxConfigMap, deployment, service };
}

function ownedBy(key: ObjectKey, { configMaps, deployments, services }: JwksWatches): readonly OwnedObject[] {
  const caches: readonly Cache<Stored<KubeObject>>[] = [configMaps, deployments, services];
  return caches.flatMap((cache) =>
    cache.byIndex("owner", key).flatMap((owned) => {
      const object = cache.get(owned);
      return object ? [{ kind: cache.kind, object }] : [];
    }),
  );
}

function rivalsOf(key: ObjectKey, settings: JwksSettings, { kind, watches: { objects }, readSettings }: ObserveOptions): readonly Rival[] {
  const wanted = claimsOf(nameOf(key), settings).map(claimKey);
  const keys = new Set(wanted.flatMap((claim) => objects.byIndex("claim", claim)));
  keys.delete(key);
  return [...keys].flatMap((other) => {
    const object = objects.get(other);
    const result = object && readSettings(object);
    if (!object || !result?.ok) return [];
    const name = nameOf(other);
    return [{ owner: { kind, name }, createdAt: object.metadata.creationTimestamp ?? "", claims: claimsOf(name, result.settings).map(claimKey) }];
  });
}
