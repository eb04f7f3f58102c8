// What was seen with a real istiod (built from its Go module, 2026, with 200 workloads) in twelve rounds of changes, as facts: the sidecar that a live pod had,
// the one that the API server admitted for a new pod of the same template, and what is right to do then. Rounds and decisions are those of that run; of images
// only what differed is told, so tags and registries stand for whatever they were.
import type { Pod } from "@keyturn/runtime";
import type { OutdatedReason } from "./injection/sidecar.ts";

/** One fact of a round. */
export interface GoldenFact {
  /** What was changed. */
  readonly round: string;
  readonly live: PodFacts;
  readonly admitted: PodFacts;
  /** What is wrong with the live pod; `none` if it stays as it is, `invalid` if a new pod could not run. */
  readonly decision: OutdatedReason | "none" | "invalid";
  /** The same if images of other registries count. Default: the same. */
  readonly withHub?: OutdatedReason;
  /** The same if the whole sidecar is compared. Default: the same. */
  readonly whole?: OutdatedReason;
}

/** As much of a pod as decides. */
export interface PodFacts {
  /** Of istio-proxy; undefined without one. */
  readonly image: string | undefined;
  readonly revision?: string;
  /** Among the init containers, with `restartPolicy: Always`. */
  readonly native?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  /** Of istio-init, if it is there. */
  readonly init?: string;
}

const hub = "docker.io/istio";
const mirror = "mirror.example.com/istio";
const image = (tag: string, from = hub): string => `${from}/proxyv2:${tag}`;

export const goldenFacts: readonly GoldenFact[] = [
  {
    round: "nothing",
    live: { image: image("1.29.0"), revision: "default" },
    admitted: { image: image("1.29.0"), revision: "default" },
    decision: "none",
  },
  { round: "tag", live: { image: image("1.29.0") }, admitted: { image: image("1.29.1") }, decision: "ImageDiffers" },
  {
    round: "hub",
    live: { image: image("1.29.0"), init: image("1.29.0") },
    admitted: { image: image("1.29.0", mirror), init: image("1.29.0", mirror) },
    decision: "none",
    withHub: "ImageDiffers",
  },
  { round: "image type", live: { image: image("1.29.0") }, admitted: { image: image("1.29.0-distroless") }, decision: "ImageDiffers" },
  {
    round: "a moved revision tag",
    live: { image: image("1.29.0"), revision: "one" },
    admitted: { image: image("1.29.0"), revision: "two" },
    decision: "RevisionDiffers",
  },
  {
    round: "mesh metadata",
    live: { image: image("1.29.0"), env: { PROXY_CONFIG: "{}" } },
    admitted: { image: image("1.29.0"), env: { PROXY_CONFIG: '{"proxyMetadata":{"A":"1"}}' } },
    decision: "none",
    whole: "SidecarDiffers",
  },
  { round: "a custom template", live: { image: image("1.29.0") }, admitted: { image: "example.com/proxy:own" }, decision: "ImageDiffers" },
  { round: "namespace labels: switched on", live: { image: undefined }, admitted: { image: image("1.29.0") }, decision: "SidecarMissing" },
  { round: "namespace labels: switched off", live: { image: image("1.29.0") }, admitted: { image: undefined }, decision: "SidecarUnwanted" },
  {
    round: "namespace labels: a gateway with image auto loses injection",
    live: { image: image("1.29.0") },
    admitted: { image: "auto" },
    decision: "invalid",
  },
  {
    round: "ProxyConfig: another image type",
    live: { image: image("1.29.0") },
    admitted: { image: image("1.29.0-debug") },
    decision: "ImageDiffers",
  },
  { round: "ProxyConfig: deleted", live: { image: image("1.29.0-debug") }, admitted: { image: image("1.29.0") }, decision: "ImageDiffers" },
  { round: "native sidecars", live: { image: image("1.29.0") }, admitted: { image: image("1.29.0"), native: true }, decision: "none" },
  {
    round: "native sidecars: a custom template names the container without an image",
    live: { image: image("1.29.0") },
    admitted: { image: "" },
    decision: "invalid",
  },
  {
    round: "a policy pins the sidecar to a mirror by digest",
    live: { image: `${mirror}/proxyv2@sha256:${"a".repeat(64)}` },
    admitted: { image: `${mirror}/proxyv2@sha256:${"a".repeat(64)}` },
    decision: "none",
  },
];

/** A pod as these facts describe it. */
export function podOf({ image: own, revision, native = false, env = {}, init }: PodFacts): Pod {
  const status = revision === undefined ? {} : { "sidecar.istio.io/status": JSON.stringify({ revision, initContainers: ["istio-init"] }) };
  const proxy = own === undefined ? [] : [{ name: "istio-proxy", image: own, env: Object.entries(env).map(([name, value]) => ({ name, value })) }];
  const initContainers = [...(native ? proxy : []), ...(init === undefined ? [] : [{ name: "istio-init", image: init }])];
  return {
    metadata: { annotations: status },
    spec: {
      containers: [{ name: "app", image: "example.com/app:1" }, ...(native ? [] : proxy)],
      ...(initContainers.length > 0 && { initContainers }),
    },
  };
}
