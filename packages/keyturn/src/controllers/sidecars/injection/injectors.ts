// The webhooks that inject sidecars, in the order in which the API server calls them.
import { hash } from "node:crypto";
import { canonicalJson, type MutatingWebhook, type MutatingWebhookConfiguration } from "@keyturn/runtime";

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
