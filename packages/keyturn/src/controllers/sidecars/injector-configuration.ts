// The configuration of the injectors as it is now: which webhooks there are, a version of what istiod reads, and whether it is stable.
import { hash } from "node:crypto";
import {
  type Cache,
  canonicalJson,
  type Clock,
  type ConfigMap,
  defineKind,
  type KubeObject,
  type MutatingWebhook,
  type MutatingWebhookConfiguration,
  nameOf,
  type Stored,
} from "@keyturn/runtime";

/** What is watched of the configuration. */
interface ConfigurationCaches {
  readonly webhooks: Cache<MutatingWebhookConfiguration | typeof otherConfiguration>;
  /** The same ConfigMap may be in several of them. */
  readonly configMaps: readonly Cache<string>[];
  /** Where ConfigMaps count beside the namespaces that webhooks lead to. */
  readonly istioNamespaces: readonly string[];
  /** What istiod reads for the pods of one namespace, or of all if it is Istio's own. */
  readonly proxyConfigs: Cache<string> | undefined;
}

interface CurrentConfiguration {
  readonly injectors: Injectors;
  /** Of what concerns all namespaces. */
  readonly version: string;
  /** Where Istio is: nobody else's ConfigMap is read by it, whatever it is called. */
  readonly places: ReadonlySet<string>;
}

/** Follows the caches, whether or not this process leads. */
export class InjectorConfiguration {
  readonly #caches: ConfigurationCaches;
  readonly #clock: Clock;
  readonly #stabilizeMs: number;
  readonly #listeners: ((namespace: string | undefined) => void)[] = [];
  #current: CurrentConfiguration | undefined;
  #changedMs: number;
  /** When something that concerns one namespace was changed. */
  readonly #changedIn = new Map<string, number>();
  #period = 0;

  constructor(caches: ConfigurationCaches, { clock, stabilizeMs }: { readonly clock: Clock; readonly stabilizeMs: number }) {
    this.#caches = caches;
    this.#clock = clock;
    this.#stabilizeMs = stabilizeMs;
    this.#changedMs = clock.monotonic();
    caches.webhooks.subscribe((change) => {
      // istiod renews its caBundle while it works as before; the next call uses the new one.
      const states = ["previous" in change ? change.previous : undefined, "value" in change ? change.value : undefined];
      if (states.some((state) => state !== undefined && state !== otherConfiguration)) this.#refresh();
    });
    for (const cache of caches.configMaps) {
      cache.subscribe((change) => {
        const before = "previous" in change ? change.previous : otherConfigMap;
        const after = "value" in change ? change.value : otherConfigMap;
        if (before !== after) this.#refresh();
      });
    }
    caches.proxyConfigs?.subscribe(({ key }) => {
      const { namespace = "" } = nameOf(key);
      if (this.#read().places.has(namespace)) return this.#refresh();
      this.#changedIn.set(namespace, clock.monotonic());
      this.#notify(namespace);
    });
  }

  /** The webhooks that inject. */
  get injectors(): Injectors {
    return this.#read().injectors;
  }

  /** Changes with everything that may change an answer about pods of the namespace, and with each period. */
  versionIn(namespace: string): string {
    const { injectors, version } = this.#read();
    const own = Array.from(this.#caches.proxyConfigs?.entries(namespace) ?? [], ([key, digest]) => `${key} ${digest}`).sort();
    return `${injectors.digest} ${version} ${this.#period} ${own.join(" ")}`;
  }

  /** How much longer istiod is given to read what has changed for the namespace; 0 if it may be asked. */
  stabilizesInMs(namespace: string): number {
    const changedMs = Math.max(this.#changedMs, this.#changedIn.get(namespace) ?? -Infinity);
    return Math.max(0, changedMs + this.#stabilizeMs - this.#clock.monotonic());
  }

  /** Makes every answer old, without anything having changed. */
  nextPeriod(): void {
    this.#period++;
    this.#notify();
  }

  /** Calls `listener` whenever a version has changed: in one namespace, or in all. */
  onChange(listener: (namespace: string | undefined) => void): void {
    this.#listeners.push(listener);
  }

  #refresh(): void {
    const before = this.#current;
    this.#current = undefined;
    const after = this.#read();
    if (before && before.injectors.digest === after.injectors.digest && before.version === after.version) return;
    this.#changedMs = this.#clock.monotonic();
    this.#notify();
  }

  #notify(namespace?: string): void {
    for (const listener of this.#listeners) listener(namespace);
  }

  #read(): CurrentConfiguration {
    if (this.#current) return this.#current;
    const configurations = Array.from(this.#caches.webhooks.entries()).flatMap(([, kept]) => (kept === otherConfiguration ? [] : [kept]));
    const injectors = readInjectors(configurations);
    const { configMaps, proxyConfigs, istioNamespaces } = this.#caches;
    const places = new Set([...istioNamespaces, ...injectors.webhooks.flatMap(({ webhook }) => webhook.clientConfig.service?.namespace ?? [])]);
    const digests = new Map(
      [...configMaps, ...(proxyConfigs ? [proxyConfigs] : [])].flatMap((cache) =>
        Array.from(cache.entries()).flatMap(([key, digest]) =>
          digest !== otherConfigMap && places.has(nameOf(key).namespace ?? "") ? [[`${cache.kind.kind} ${key}`, digest] as const] : [],
        ),
      ),
    );
    const version = hash("sha256", canonicalJson(Object.fromEntries(digests))).slice(0, 32);
    return (this.#current = { injectors, version, places });
  }
}

/** Kept of a webhook configuration that injects no sidecars. */
export const otherConfiguration = "other";

export function keepInjectorWebhooks(configuration: Stored<MutatingWebhookConfiguration>): MutatingWebhookConfiguration | typeof otherConfiguration {
  const { metadata, webhooks = [] } = configuration;
  return isInjectorConfiguration(metadata.name) ? { metadata: { name: metadata.name }, webhooks } : otherConfiguration;
}

/** Kept of a ConfigMap that istiod does not read: nothing. */
const otherConfigMap = "";

/** The digest of what istiod reads: the injector's ConfigMap of any revision, and the mesh configuration, from which the sidecar's environment comes. */
export function keepInjectorConfigMap({ metadata: { name }, data = {} }: Stored<ConfigMap>): string {
  const isRead = name.startsWith("istio-sidecar-injector") || ((name === "istio" || name.startsWith("istio-")) && data["mesh"] !== undefined);
  return isRead ? hash("sha256", canonicalJson(data)).slice(0, 32) : otherConfigMap;
}

/** What ProxyConfigs say of sidecars, of one namespace or of all. */
export const ProxyConfig = defineKind({
  group: "networking.istio.io",
  version: "v1beta1",
  kind: "ProxyConfig",
  plural: "proxyconfigs",
  namespaced: true,
});

/** The digest of what istiod reads of it. */
export function keepProxyConfig({ spec = {} }: Stored<KubeObject> & { readonly spec?: unknown }): string {
  return hash("sha256", canonicalJson(spec)).slice(0, 32);
}

// The webhooks that inject sidecars, in the order in which the API server calls them.

/** One webhook, with the configuration that it belongs to. */
export interface Injector {
  readonly configuration: string;
  readonly webhook: MutatingWebhook;
}

/** All of them at one moment. */
export interface Injectors {
  readonly webhooks: readonly Injector[];
  /** Changes whenever another pod might be injected, or by another webhook. Not with the caBundle, which istiod renews while it works as before. */
  readonly digest: string;
  /** The namespace labels that decide about injection; no other label of a namespace matters. */
  readonly namespaceLabels: ReadonlySet<string>;
}

const prefixes = ["istio-sidecar-injector", "istio-revision-tag-"];

/** True for the configurations that Istio makes for injection, of whatever revision, tag and install namespace. */
export function isInjectorConfiguration(name: string): boolean {
  return prefixes.some((prefix) => name.startsWith(prefix));
}

/** Reads the configurations; those that are not Istio's are left out. The API server sorts configurations by name and keeps the order within each. */
export function readInjectors(configurations: Iterable<MutatingWebhookConfiguration>): Injectors {
  const webhooks = [...configurations]
    .map(({ metadata, webhooks = [] }) => ({ configuration: metadata.name ?? "", webhooks }))
    .filter(({ configuration }) => isInjectorConfiguration(configuration))
    .sort((left, right) => (left.configuration < right.configuration ? -1 : 1))
    .flatMap(({ configuration, webhooks }) => webhooks.map((webhook) => ({ configuration, webhook })));
  return { webhooks, digest: digestOf(webhooks), namespaceLabels: new Set(webhooks.flatMap(selectedNamespaceLabels)) };
}

function selectedNamespaceLabels({ webhook }: Injector): readonly string[] {
  const { matchLabels = {}, matchExpressions = [] } = webhook.namespaceSelector ?? {};
  return [...Object.keys(matchLabels), ...matchExpressions.map(({ key }) => key)];
}

function digestOf(webhooks: readonly Injector[]): string {
  const relevant = webhooks.map(({ configuration, webhook: { clientConfig, ...rest } }) => {
    const { caBundle: _renewed, ...target } = clientConfig;
    return { configuration, ...rest, target };
  });
  return hash("sha256", canonicalJson(relevant)).slice(0, 32);
}
