// Everything that the plan for one object is made from.
import { ConfigMap, Deployment, type Kind, type KubeObject, type ObjectName, type Owner, Service, type Stored } from "@keyturn/runtime";
import type { JwksStatus } from "./api.ts";
import type { CertificateSecret } from "./certificate-secret.ts";
import type { Claim, Rival } from "./name-claims.ts";
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
  /** What the API server said when it refused nginx's objects in this very pass. */
  readonly nginxRefusal?: string;
}

export interface Live {
  readonly configMap?: Stored<ConfigMap> | undefined;
  readonly nginxConfigMap?: Stored<ConfigMap> | undefined;
  readonly deployment?: Stored<Deployment> | undefined;
  readonly service?: Stored<Service> | undefined;
}

export interface OwnedObject {
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

/** Every name that an object of this name and these settings wants, with what is there now: the document's, then nginx's. */
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
