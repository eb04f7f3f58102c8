// Twelve rounds of changes to an Istio, each with what is right to do about a workload that was injected before. What Istio answers was recorded from its own chart and
// its own injection webhook.
import type { PodTemplateSpec } from "@keyturn/runtime";
import type { OutdatedReason } from "../../packages/keyturn/src/controllers/sidecars/injection/sidecar.ts";

type Labels = Readonly<Record<string, string>>;

/** One installation of istiod. */
export interface Installation {
  /** Values of its chart, besides a hub and a tag. */
  readonly set?: Labels;
  /** Variables of istiod. */
  readonly env?: Labels;
  readonly proxyConfigs?: readonly { readonly namespace: string; readonly name: string; readonly spec: object }[];
}

/** All installations at one moment, and the namespace of the workload. */
export interface IstioState {
  readonly installations: readonly Installation[];
  readonly namespaceLabels: Labels;
}

export interface Round {
  readonly name: string;
  readonly before: IstioState;
  readonly after: IstioState;
  /** Default: one container. */
  readonly template?: PodTemplateSpec;
  readonly decision: Decision;
  /** The same if images of other registries count. Default: the same. */
  readonly withHub?: Decision;
  /** The same if the whole sidecar is compared. Default: the same. */
  readonly whole?: Decision;
}

/** What is wrong with the live pod; `none` if it stays as it is, `invalid` if a new pod could not run. */
type Decision = OutdatedReason | "none" | "invalid";

const namespace = "shop";
const enabled = { "istio-injection": "enabled" };
const state = (installation: Installation = {}, namespaceLabels: Labels = enabled): IstioState => ({
  installations: [installation],
  namespaceLabels,
});
const revisions = (stable: "one" | "two"): IstioState => ({
  installations: ["one", "two"].map((revision) => ({ set: { revision, ...(revision === stable && { "revisionTags[0]": "stable" }) } })),
  namespaceLabels: { "istio.io/rev": "stable" },
});
const proxyConfig = (spec: object): Installation => ({ proxyConfigs: [{ namespace, name: "proxy", spec }] });
const custom = (container: string): Labels => ({
  "sidecarInjectorWebhook.defaultTemplates[0]": "sidecar",
  "sidecarInjectorWebhook.defaultTemplates[1]": "custom",
  "sidecarInjectorWebhook.templates.custom": `spec:\n  containers:\n  - name: istio-proxy\n    ${container}\n`,
});
const native = { ENABLE_NATIVE_SIDECARS: "true" };

const usual: PodTemplateSpec = { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "app", image: "example.com/app:1" }] } };
const gateway: PodTemplateSpec = {
  metadata: { labels: { app: "web" }, annotations: { "inject.istio.io/templates": "gateway" } },
  spec: { containers: [{ name: "istio-proxy", image: "auto" }] },
};

export const rounds: readonly Round[] = [
  { name: "nothing", before: state(), after: state(), decision: "none" },
  { name: "tag", before: state(), after: state({ set: { "global.tag": "1.29.1" } }), decision: "ImageDiffers" },
  {
    name: "hub",
    before: state(),
    after: state({ set: { "global.hub": "mirror.example.com/istio" } }),
    decision: "none",
    withHub: "ImageDiffers",
  },
  { name: "image type", before: state(), after: state({ set: { "global.variant": "distroless" } }), decision: "ImageDiffers" },
  { name: "moved revision tag", before: revisions("one"), after: revisions("two"), decision: "RevisionDiffers" },
  {
    name: "mesh metadata",
    before: state(),
    after: state({ set: { "meshConfig.defaultConfig.proxyMetadata.A": "b" } }),
    decision: "none",
    whole: "SidecarDiffers",
  },
  { name: "custom template: image", before: state(), after: state({ set: custom("image: example.com/proxy:own") }), decision: "ImageDiffers" },
  { name: "namespace labels: on", before: state({}, {}), after: state(), decision: "SidecarMissing" },
  { name: "namespace labels: off", before: state(), after: state({}, {}), decision: "SidecarUnwanted" },
  { name: "namespace labels: off, gateway with image auto", template: gateway, before: state(), after: state({}, {}), decision: "invalid" },
  { name: "ProxyConfig: made", before: state(), after: state(proxyConfig({ image: { imageType: "debug" } })), decision: "ImageDiffers" },
  { name: "ProxyConfig: deleted", before: state(proxyConfig({ image: { imageType: "debug" } })), after: state(), decision: "ImageDiffers" },
  {
    name: "ProxyConfig: environment",
    before: state(),
    after: state(proxyConfig({ environmentVariables: { A: "b" } })),
    decision: "none",
    whole: "SidecarDiffers",
  },
  { name: "native sidecars", before: state(), after: state({ env: native }), decision: "none", whole: "SidecarDiffers" },
  {
    name: "native sidecars: custom template for a container",
    before: state(),
    after: state({ env: native, set: custom("env: [{ name: A, value: b }]") }),
    decision: "invalid",
  },
];

/** The template of a round, of a Deployment of that namespace. */
export function sourceOf({ template = usual }: Round) {
  return { kind: "Deployment", namespace, name: "web", uid: "u", template } as const;
}
