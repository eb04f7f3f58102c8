// What a JWKS controller watches, and which objects a change concerns.
import {
  type Cache,
  ConfigMap,
  type ControllerScope,
  Deployment,
  type Kind,
  type KubeObject,
  keyOf,
  managedBySelector,
  nameOf,
  type ObjectKey,
  ownerOf,
  Secret,
  Service,
  statesOf,
  type Stored,
} from "@keyturn/runtime";
import { keyturn } from "../../operator-identity.ts";
import { type CertificateSecret, keepCertificateSecret } from "./certificate-secret.ts";
import { claimKey } from "./name-claims.ts";
import { claimsOf, type JwksObject } from "./observation.ts";
import type { SettingsResult } from "./settings.ts";

/** The caches of one controller. */
export interface JwksWatches {
  readonly objects: Cache<Stored<JwksObject>>;
  readonly secrets: Cache<CertificateSecret>;
  readonly configMaps: Cache<Stored<ConfigMap>>;
  readonly deployments: Cache<Stored<Deployment>>;
  readonly services: Cache<Stored<Service>>;
  /** Which names are taken, by whomever: a clash must be seen before anything is written, and when it is over. */
  readonly taken: { readonly configMaps: Cache<true>; readonly deployments: Cache<true>; readonly services: Cache<true> };
}

/** Reads the spec of an object of the controller's kind. */
export type ReadSettings = (object: KubeObject) => SettingsResult;

/** Releases of Helm can be a megabyte each, and hold no certificate that anybody wants published. */
const secretFields = "type!=helm.sh/release.v1,type!=kubernetes.io/service-account-token";

/** Of objects that may be anybody's, only that they exist is kept. */
const exists = (): true => true;

/** Declares the watches and what they trigger. */
export function watchJwks(scope: ControllerScope, kind: Kind<JwksObject>, readSettings: ReadSettings): JwksWatches {
  const ours = { labels: managedBySelector(keyturn), indexes: { owner: (object: KubeObject) => ownerKeysOf(object, kind) } };
  const watches: JwksWatches = {
    objects: scope.watch<JwksObject, Stored<JwksObject>>(kind, {
      indexes: {
        source: (object: JwksObject) => sourceKeys(object, readSettings),
        claim: (object: JwksObject) => claimKeys(object, readSettings),
      },
    }),
    secrets: scope.watch(Secret, { keep: keepCertificateSecret, fields: secretFields }),
    configMaps: scope.watch<ConfigMap, Stored<ConfigMap>>(ConfigMap, ours),
    deployments: scope.watch<Deployment, Stored<Deployment>>(Deployment, ours),
    services: scope.watch<Service, Stored<Service>>(Service, ours),
    taken: {
      configMaps: scope.watch(ConfigMap, { only: "metadata", keep: exists }),
      deployments: scope.watch(Deployment, { only: "metadata", keep: exists }),
      services: scope.watch(Service, { only: "metadata", keep: exists }),
    },
  };

  // A change of one object can free a name that another has been waiting for.
  scope.trigger(watches.objects, (change) => [
    change.key,
    ...statesOf(change).flatMap((object) => claimants(watches, claimKeys(object, readSettings))),
  ]);
  scope.trigger(watches.secrets, ({ key }) => watches.objects.byIndex("source", key));
  const owned: readonly Cache<KubeObject>[] = [watches.configMaps, watches.deployments, watches.services];
  for (const cache of owned) scope.trigger(cache, (change) => statesOf(change).flatMap((object) => ownerKeysOf(object, kind)));
  // Both, because the two watches of a kind do not tell of a deletion in the same moment, and only the later of them finds the name free.
  const named: readonly Cache<unknown>[] = [...owned, ...Object.values(watches.taken)];
  for (const cache of named) {
    scope.trigger(cache, ({ type, key }) => (type === "updated" ? [] : claimants(watches, [claimKey({ kind: cache.kind, name: nameOf(key) })])));
  }
  return watches;
}

function claimants({ objects }: JwksWatches, claims: readonly string[]): readonly ObjectKey[] {
  return claims.flatMap((claim) => objects.byIndex("claim", claim));
}

function ownerKeysOf(object: KubeObject, kind: Kind): readonly ObjectKey[] {
  const owner = ownerOf(object, keyturn, kind);
  return owner === undefined ? [] : [owner];
}

function sourceKeys(object: JwksObject, readSettings: ReadSettings): readonly ObjectKey[] {
  const result = readSettings(object);
  const { namespace } = object.metadata;
  return result.ok ? result.settings.sources.map((name) => keyOf(namespace === undefined ? { name } : { namespace, name })) : [];
}

function claimKeys(object: JwksObject, readSettings: ReadSettings): readonly string[] {
  const result = readSettings(object);
  const { namespace, name = "" } = object.metadata;
  return result.ok ? claimsOf(namespace === undefined ? { name } : { namespace, name }, result.settings).map(claimKey) : [];
}
