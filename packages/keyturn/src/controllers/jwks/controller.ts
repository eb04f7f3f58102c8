// The JWKS controllers: what they watch, how a run goes, their rights, limits and metrics.
import {
  type AccessRule,
  type Cache,
  ConfigMap,
  type ControllerDefinition,
  type ControllerScope,
  Deployment,
  keyOf,
  type KeyView,
  type Kind,
  type KubeObject,
  managedBySelector,
  type MetricRow,
  type Metrics,
  metricsOf,
  nameOf,
  type ObjectKey,
  ownerOf,
  Pod,
  reconcileWith,
  Secret,
  Service,
  sharedTimeSlice,
  statesOf,
  type Stored,
  type WriteLimits,
} from "@keyturn/runtime";
import { keyturn } from "../../feature/feature.ts";
import { leavesUnserved, type Selects } from "../../feature/pause-and-selection.ts";
import { type CertificateSecret, keepCertificateSecret } from "../../public-key.ts";
import { limits } from "../../limits.ts";
import { JWKS, JWKSConfig, type JwksStatus, mergedLabel } from "./api.ts";
import { keepMerged } from "./config-map.ts";
import { type JwksObject, type Observation, observeJwks, type PassedSources } from "./observe.ts";
import { type JwksPlan, planJwks } from "./plan.ts";
import { jwksReasons } from "./reasons.ts";
import type { SettingsResult } from "./settings.ts";
import { namesOfSources, PassedStates, type SourceNames } from "./sources.ts";

/** Holds a deletion until nginx's objects, and the ConfigMap if it is to go, are gone. */
export const jwksFinalizer = `${keyturn.domain}/jwks`;

/** One controller: the kind it serves, and how it works. */
interface JwksControllerOptions {
  readonly name: string;
  readonly kind: Kind<JwksObject>;
  readonly readSettings: ReadSettings;
  /** Whether nginx is run: nothing of it is watched otherwise. */
  readonly serves: boolean;
  readonly rateLimit: WriteLimits;
  readonly configMapIntervalMs: number;
  /** Which objects are looked after. */
  readonly selects: Selects;
}

/** The controller of one of the two kinds. */
export function jwksController(options: JwksControllerOptions): ControllerDefinition {
  const { name, kind, readSettings, serves, rateLimit, configMapIntervalMs, selects } = options;
  return {
    name,
    access: jwksAccess(serves, [kind]),
    backoff,
    setup(scope) {
      const passed: PassedSources = {
        secrets: new PassedStates({ isNothing: ({ type }) => type === "empty", mostBytes: limits.passedSecretBytes }),
        merged: new PassedStates({ isNothing: (document) => document === "", mostBytes: limits.passedDocumentBytes }),
      };
      const watches = watchJwks(scope, { kind, readSettings, serves, passed });
      const metrics = keyMetrics(scope.metrics, kind);
      return reconcileWith<Observation, never, never, JwksPlan>(
        scope,
        {
          observe: (run, nowMs) =>
            observeJwks(run, { kind, watches, readSettings, passed, configMapIntervalMs, slice: sharedTimeSlice(scope.clock), nowMs }),
          plan: planJwks,
          regarding(key) {
            const object = watches.objects.get(key);
            return object ? [{ kind, object }] : [];
          },
          finalizer: {
            name: jwksFinalizer,
            of: (observed) => observed,
            // The status is written to the version that was observed.
            added: (observed, metadata) => ({ ...observed, object: { ...observed.object, metadata } }),
          },
          completed(observed, { key }) {
            passed.secrets.completed(key, observed.passed);
            passed.merged.completed(key, observed.passedMerged);
          },
          show(key, shown) {
            if (!shown) {
              passed.secrets.forget(key);
              passed.merged.forget(key);
              return metrics.hide(key);
            }
            // In a dry run what was published before stays published.
            const status = scope.dryRun ? shown.observed.object.status : shown.plan.status[0]?.fields;
            if (status) metrics.show(key, status);
          },
        },
        {
          reasons: jwksReasons,
          rateLimit,
          refusedPartBackoff: backoff,
          heldBackoff: backoff,
          leaves: leavesUnserved({ objects: watches.objects, kind, selects }),
        },
      );
    },
  };
}

/** 5 s, 10 s, 20 s … 5 min, for what fails and for what is refused alike: a name that was taken may be free by then. */
const backoff = { firstMs: 5000, maxMs: 300_000, spread: 0 };

// What a JWKS controller watches, and which objects a change concerns.

/** The caches of one controller. */
export interface JwksWatches {
  readonly objects: Cache<Stored<JwksObject>>;
  readonly secrets: Cache<CertificateSecret>;
  readonly configMaps: Cache<Stored<ConfigMap>>;
  /** nginx's objects besides; undefined where it is not run. */
  readonly serving: { readonly deployments: Cache<Stored<Deployment>>; readonly services: Cache<Stored<Service>> } | undefined;
  /** The documents in ConfigMaps of others that ask to be merged. */
  readonly merged: Cache<string>;
}

/** Reads the spec of an object of the controller's kind. */
export type ReadSettings = (object: KubeObject) => SettingsResult;

/** Releases of Helm can be a megabyte each, and hold no certificate that anybody wants published. */
const secretFields = "type!=helm.sh/release.v1,type!=kubernetes.io/service-account-token";

/** Declares the watches and what they trigger. Of others' objects nothing is watched: who has a name that is wanted is found out by the write, which leaves it alone. */
function watchJwks(
  scope: ControllerScope,
  { kind, readSettings, serves, passed }: Pick<JwksControllerOptions, "kind" | "readSettings" | "serves"> & { readonly passed: PassedSources },
): JwksWatches {
  const ours = { labels: managedBySelector(keyturn), indexes: { owner: (object: KubeObject) => ownerKeysOf(object, kind) } };
  const watches: JwksWatches = {
    objects: scope.watch<JwksObject, Stored<JwksObject>>(kind, {
      indexes: { source: (object: JwksObject) => sourceKeys(object, readSettings), merged: (object: JwksObject) => mergedKeys(object, readSettings) },
    }),
    secrets: scope.watch(Secret, { keep: keepCertificateSecret, fields: secretFields }),
    configMaps: scope.watch<ConfigMap, Stored<ConfigMap>>(ConfigMap, ours),
    serving: serves
      ? {
          deployments: scope.watch<Deployment, Stored<Deployment>>(Deployment, ours),
          services: scope.watch<Service, Stored<Service>>(Service, ours),
        }
      : undefined,
    merged: scope.watch(ConfigMap, { labels: `${mergedLabel}=true`, keep: keepMerged }),
  };
  scope.trigger(watches.objects);
  scope.trigger(watches.merged, (change) => {
    const objects = watches.objects.byIndex("merged", change.key);
    passed.merged.changed(change.key, change.type === "added" ? undefined : change.previous, objects);
    return objects;
  });
  scope.trigger(watches.secrets, (change) => {
    const objects = watches.objects.byIndex("source", change.key);
    passed.secrets.changed(change.key, change.type === "added" ? undefined : change.previous, objects);
    return objects;
  });
  const owned: readonly Cache<KubeObject>[] = [watches.configMaps, ...Object.values(watches.serving ?? {})];
  for (const cache of owned) scope.trigger(cache, (change) => statesOf(change).flatMap((object) => ownerKeysOf(object, kind)));
  return watches;
}

function ownerKeysOf(object: KubeObject, kind: Kind): readonly ObjectKey[] {
  const owner = ownerOf(object, keyturn, kind);
  return owner === undefined ? [] : [owner];
}

function sourceKeys(object: JwksObject, readSettings: ReadSettings): readonly ObjectKey[] {
  const result = readSettings(object);
  if (!result.ok) return keysIn(object, sourcesBefore(object).secrets);
  const { sources, nginx } = result.settings;
  return keysIn(object, [...sources, ...(nginx?.tlsSecret === undefined ? [] : [nginx.tlsSecret])]);
}

function mergedKeys(object: JwksObject, readSettings: ReadSettings): readonly ObjectKey[] {
  const result = readSettings(object);
  return keysIn(object, result.ok ? result.settings.mergedConfigMaps : sourcesBefore(object).configMaps);
}

/** Where the keys come from that are in use: while a spec cannot be read, what comes and goes there must not be missed. */
function sourcesBefore({ status }: JwksObject): SourceNames {
  return namesOfSources((status?.keys ?? []).flatMap(({ state, source }) => (state === "Active" ? [source] : [])));
}

function keysIn({ metadata: { namespace } }: JwksObject, names: readonly string[]): readonly ObjectKey[] {
  return names.map((name) => keyOf(namespace === undefined ? { name } : { namespace, name }));
}

// Every right that the JWKS controllers need.

const changed = ["get", "list", "watch", "create", "patch", "delete"] as const;

function rulesFor(kind: Kind): readonly AccessRule[] {
  return [
    { kind, verbs: ["get", "list", "watch", "patch"], why: "to see what is to be published, and to hold its finalizer" },
    { kind, subresource: "status", verbs: ["patch"], why: "to report" },
    // With OwnerReferencesPermissionEnforcement, who sets blockOwnerDeletion must be allowed to set finalizers.
    { kind, subresource: "finalizers", verbs: ["update"], why: "to own nginx's objects" },
  ];
}

/** Whoever may create Deployments may run any image: that is asked for only where nginx is run. */
export function jwksAccess(serves: boolean, kinds: readonly Kind[] = [JWKSConfig, JWKS]): readonly AccessRule[] {
  const serving: readonly AccessRule[] = [
    { kind: Deployment, verbs: changed, why: "to run nginx (with --jwks.serving)" },
    { kind: Service, verbs: changed, why: "to make nginx reachable (with --jwks.serving)" },
    { kind: Pod, verbs: ["list"], why: "to tell why pods of nginx do not get ready (with --jwks.serving)" },
  ];
  return [
    ...kinds.flatMap(rulesFor),
    { kind: Secret, verbs: ["list", "watch"], why: "to read certificates; private keys are compared and not kept" },
    { kind: ConfigMap, verbs: changed, why: "to publish the keys and nginx's configuration" },
    ...(serves ? serving : []),
  ];
}

// What is published, in numbers: for alerts about keys that are missing, or whose certificate is about to expire.

const objectLabels = ["kind", "namespace", "name"] as const;
const keyStates = ["Active", "Retiring"] as const;

export const jwksMetrics = {
  keyturn_jwks_keys: { type: "gauge", help: "Keys that are published, by state: Active or Retiring.", labels: [...objectLabels, "state"] },
  keyturn_jwks_certificate_expiry_timestamp_seconds: {
    type: "gauge",
    help: "When the first certificate among the active keys expires, in seconds since the epoch.",
    labels: objectLabels,
  },
} as const satisfies Readonly<Record<string, MetricRow>>;

/** The numbers of each object of a kind. */
export function keyMetrics(metrics: Metrics, kind: Kind): KeyView<JwksStatus> {
  const { keyturn_jwks_keys: keyCount, keyturn_jwks_certificate_expiry_timestamp_seconds: expiry } = metricsOf(metrics, jwksMetrics);
  const labelsOf = (key: ObjectKey): { readonly kind: string; readonly namespace: string; readonly name: string } => {
    const { namespace = "", name } = nameOf(key);
    return { kind: kind.kind, namespace, name };
  };
  return {
    show(key, { keys = [] }) {
      const labels = labelsOf(key);
      for (const state of keyStates) keyCount.set({ ...labels, state }, keys.filter((each) => each.state === state).length);
      const active = keys.filter(({ state }) => state === "Active");
      const expiries = active.flatMap(({ certificateExpires }) => (certificateExpires === undefined ? [] : Date.parse(certificateExpires)));
      if (expiries.length > 0) expiry.set(labels, Math.min(...expiries) / 1000);
      else expiry.remove(labels);
    },
    hide(key) {
      const labels = labelsOf(key);
      for (const state of keyStates) keyCount.remove({ ...labels, state });
      expiry.remove(labels);
    },
  };
}
