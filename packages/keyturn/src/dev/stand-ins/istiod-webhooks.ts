// The MutatingWebhookConfigurations that Istio's chart and `istioctl tag` make for a revision or a tag.
import type { LabelSelector, MutatingWebhook, MutatingWebhookConfiguration } from "@keyturn/runtime";
import { type ProxySettings, revisionSuffix } from "./istiod-injection.ts";

/** What varies between installations. */
export interface WebhookOptions {
  /** Where the API server finds the control plane; the Service of the revision if absent. */
  readonly clientConfig: MutatingWebhook["clientConfig"];
  /** Also injects pods where nothing says that they should be. Default false. */
  readonly everywhere?: boolean;
  /** Default `Never`. */
  readonly reinvocationPolicy?: "Never" | "IfNeeded";
  /** More conditions for every webhook. */
  readonly matchConditions?: MutatingWebhook["matchConditions"];
}

type Place = Pick<ProxySettings, "revision" | "namespace">;
type Expression = NonNullable<LabelSelector["matchExpressions"]>[number];

const type = { apiVersion: "admissionregistration.k8s.io/v1", kind: "MutatingWebhookConfiguration" } as const;
const namespaceLabel = "istio-injection";
const podLabel = "sidecar.istio.io/inject";
const revisionLabel = "istio.io/rev";

const is = (key: string, ...values: readonly string[]): Expression => ({ key, operator: "In", values });
const isNot = (key: string, ...values: readonly string[]): Expression => ({ key, operator: "NotIn", values });
const absent = (key: string): Expression => ({ key, operator: "DoesNotExist" });

/** The configuration of a revision: it injects what names the revision, and without a revision what names none. */
export function revisionConfiguration(place: Place, options: WebhookOptions): MutatingWebhookConfiguration {
  const { revision } = place;
  const webhooks = revision === "" ? [...revisionWebhooks("default", options), ...defaultWebhooks(options)] : revisionWebhooks(revision, options);
  return {
    ...type,
    metadata: {
      name: `istio-sidecar-injector${revisionSuffix(place)}${namespaceSuffix(place)}`,
      labels: { app: "sidecar-injector", [revisionLabel]: revision || "default" },
    },
    webhooks,
  };
}

/** The configuration of a tag, which leads to the revision that `place` and `options` name. The tag `default` also injects what names no revision. */
export function tagConfiguration(tag: string, place: Place, options: WebhookOptions): MutatingWebhookConfiguration {
  return {
    ...type,
    metadata: {
      name: `istio-revision-tag-${tag}${namespaceSuffix(place)}`,
      labels: { app: "sidecar-injector", "istio.io/tag": tag, [revisionLabel]: place.revision || "default" },
    },
    webhooks: [...revisionWebhooks(tag, options), ...(tag === "default" ? defaultWebhooks(options) : [])],
  };
}

/** For namespaces, and pods in namespaces that say nothing, that name this revision or tag. */
function revisionWebhooks(name: string, options: WebhookOptions): readonly MutatingWebhook[] {
  return [
    webhook("rev.namespace", options, { namespace: [is(revisionLabel, name), absent(namespaceLabel)], pod: [isNot(podLabel, "false")] }),
    webhook("rev.object", options, {
      namespace: [absent(revisionLabel), absent(namespaceLabel)],
      pod: [isNot(podLabel, "false"), is(revisionLabel, name)],
    }),
  ];
}

/** For namespaces and pods that ask for injection without naming a revision. */
function defaultWebhooks(options: WebhookOptions): readonly MutatingWebhook[] {
  const silent = [absent(namespaceLabel), absent(revisionLabel)];
  const system = isNot("kubernetes.io/metadata.name", "kube-system", "kube-public", "kube-node-lease", "local-path-storage");
  return [
    webhook("namespace", options, { namespace: [is(namespaceLabel, "enabled")], pod: [isNot(podLabel, "false")] }),
    webhook("object", options, { namespace: silent, pod: [is(podLabel, "true"), absent(revisionLabel)] }),
    ...(options.everywhere ? [webhook("auto", options, { namespace: [...silent, system], pod: [absent(podLabel), absent(revisionLabel)] })] : []),
  ];
}

function webhook(
  prefix: string,
  { clientConfig, reinvocationPolicy = "Never", matchConditions }: WebhookOptions,
  selected: { readonly namespace: readonly Expression[]; readonly pod: readonly Expression[] },
): MutatingWebhook {
  return {
    name: `${prefix}.sidecar-injector.istio.io`,
    clientConfig,
    rules: [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"], scope: "*" }],
    failurePolicy: "Fail",
    matchPolicy: "Equivalent",
    reinvocationPolicy,
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
    timeoutSeconds: 10,
    namespaceSelector: { matchExpressions: selected.namespace },
    objectSelector: { matchExpressions: selected.pod },
    ...(matchConditions && { matchConditions }),
  };
}

/** Installations outside of `istio-system` have its name in theirs. */
function namespaceSuffix({ namespace }: Place): string {
  return namespace === "istio-system" ? "" : `-${namespace}`;
}
