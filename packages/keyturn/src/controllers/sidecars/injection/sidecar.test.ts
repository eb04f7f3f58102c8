import type { Pod, Volume } from "@keyturn/runtime";
import { describe, expect, test } from "vitest";
import { compareSidecar, digestParts, invalidImageIn, type OutdatedReason, type Sidecar, sidecarDigest, sidecarOf, sidecarParts } from "./sidecar.ts";

const proxy = { name: "istio-proxy", image: "istio/proxyv2:1" };
const app = { name: "app", image: "app:1" };

function podWith(containers: readonly { name: string; image: string }[], metadata: Pod["metadata"] = {}): Pod {
  return { metadata, spec: { containers } };
}

describe("the sidecar of a pod", () => {
  test("is its proxy among the containers, or among the init containers", () => {
    expect(sidecarOf(podWith([app, proxy]), { whole: false })).toEqual({ image: "istio/proxyv2:1", revision: undefined, parts: undefined });
    const native = { metadata: {}, spec: { containers: [app], initContainers: [{ ...proxy, restartPolicy: "Always" }] } };
    expect(sidecarOf(native, { whole: false })).toMatchObject({ image: "istio/proxyv2:1" });
  });

  test("is missing where there is none", () => {
    expect(sidecarOf(podWith([app]), { whole: true })).toBeUndefined();
    expect(sidecarOf({ metadata: {} }, { whole: true })).toBeUndefined();
  });

  test("is one object for equal pods", () => {
    expect(sidecarOf(podWith([app, proxy], { name: "a" }), { whole: true })).toBe(sidecarOf(podWith([app, proxy], { name: "b" }), { whole: true }));
  });
});

describe("the revision is that of", () => {
  const annotations = { "sidecar.istio.io/status": JSON.stringify({ revision: "canary", containers: ["istio-proxy"] }), "istio.io/rev": "stable" };
  test.each<readonly [string, Pod["metadata"], string | undefined]>([
    ["the status, before all", { annotations, labels: { "istio.io/rev": "tag" } }, "canary"],
    [
      "the annotation, if the status is silent",
      { annotations: { ...annotations, "sidecar.istio.io/status": "{}" }, labels: { "istio.io/rev": "tag" } },
      "stable",
    ],
    ["the label, if there is nothing else", { labels: { "istio.io/rev": "tag" } }, "tag"],
    ["nobody, if nothing says so", {}, undefined],
    ["nobody, if the status is no JSON", { annotations: { "sidecar.istio.io/status": "{" } }, undefined],
    ["nobody, if the status is null", { annotations: { "sidecar.istio.io/status": "null" } }, undefined],
    ["nobody, if the status has something else there", { annotations: { "sidecar.istio.io/status": '{"revision":3}' } }, undefined],
  ])("%s", (_name, metadata, revision) => expect(sidecarOf(podWith([proxy], metadata), { whole: false })?.revision).toBe(revision));
});

test("a digest distinguishes sidecars, and having none", () => {
  const one = sidecarOf(podWith([proxy]), { whole: true });
  const other = sidecarOf(podWith([{ ...proxy, image: "istio/proxyv2:2" }]), { whole: true });
  expect(new Set([sidecarDigest(one), sidecarDigest(other), sidecarDigest(undefined)]).size).toBe(3);
  expect(sidecarDigest(one && { ...one })).toBe(sidecarDigest(one));
});

/** A proxy as istiod writes it. */
const proxySidecarParts = {
  name: "istio-proxy",
  image: "istio/proxyv2:1.27.0",
  args: ["proxy", "sidecar"],
  env: [
    { name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
    { name: "MODE", value: "a" },
  ],
  ports: [{ containerPort: 15090, name: "prom" }],
  readinessProbe: { httpGet: { path: "/healthz/ready", port: 15021 }, periodSeconds: 15 },
  resources: { limits: { cpu: "2", memory: "1Gi" }, requests: { cpu: "100m" } },
  volumeMounts: [{ name: "token", mountPath: "/var/run/secrets/tokens" }],
};
const init = { name: "istio-init", image: "istio/proxyv2:1.27.0", args: ["istio-iptables"] };
const tokenSource = (more: object = {}): object => ({ serviceAccountToken: { path: "token", audience: "istio-ca", ...more } });
const volumes: readonly Volume[] = [{ name: "token", projected: { sources: [tokenSource()] } }];

type AnyObject = Readonly<Record<string, unknown>>;

function podWithSidecarParts({
  proxy: proxyChange = {},
  init: initChange = {},
  volumes: otherVolumes = volumes,
}: { proxy?: AnyObject; init?: AnyObject; volumes?: readonly Volume[] } = {}): Pod {
  return {
    metadata: {},
    spec: {
      containers: [
        { name: "app", image: "app:1" },
        { ...proxySidecarParts, ...proxyChange },
      ],
      initContainers: [{ ...init, ...initChange }],
      volumes: otherVolumes,
    },
  };
}

/** The same pod after the API server and the ServiceAccount plugin have had it. */
const token = { name: "kube-api-access-x1", mountPath: "/var/run/secrets/kubernetes.io/serviceaccount", readOnly: true };
const filledIn = { terminationMessagePath: "/dev/termination-log", terminationMessagePolicy: "File", imagePullPolicy: "IfNotPresent" };
const stored: Pod = podWithSidecarParts({
  proxy: {
    ...filledIn,
    env: [
      { name: "POD_NAME", valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "metadata.name" } } },
      { name: "MODE", value: "a" },
    ],
    ports: [{ containerPort: 15090, name: "prom", protocol: "TCP" }],
    readinessProbe: {
      httpGet: { path: "/healthz/ready", port: 15021, scheme: "HTTP" },
      periodSeconds: 15,
      timeoutSeconds: 1,
      successThreshold: 1,
      failureThreshold: 3,
    },
    resources: { limits: { cpu: "2000m", memory: "1024Mi" }, requests: { cpu: "0.1", memory: "1Gi" } },
    volumeMounts: [token, ...proxySidecarParts.volumeMounts],
    securityContext: {},
  },
  init: { ...filledIn, resources: {}, volumeMounts: [token] },
  volumes: [
    { name: "kube-api-access-x1", projected: { sources: [] } },
    { name: "token", projected: Object.assign({ sources: [tokenSource({ expirationSeconds: 3600 })] }, { defaultMode: 420 }) },
  ],
});

function differences(left: Pod, right: Pod): readonly string[] {
  const [one, other] = [digestParts(left), digestParts(right)];
  return sidecarParts.filter((part) => one[part] !== other[part]);
}

test("what the API server fills in, and tokens, make no difference", () => expect(differences(podWithSidecarParts(), stored)).toEqual([]));

describe("a difference shows in its part", () => {
  test.each<readonly [string, AnyObject]>([
    ["resources", { resources: { ...proxySidecarParts.resources, requests: { cpu: "200m" } } }],
    ["resources", { resources: {} }],
    ["env", { env: [{ name: "MODE", value: "b" }] }],
    ["env", { env: [...proxySidecarParts.env, { name: "MORE", value: "x" }] }],
    ["settings", { args: ["proxy", "router"] }],
    ["settings", { imagePullPolicy: "Always" }],
    ["settings", { securityContext: { runAsUser: 1 } }],
    ["settings", { readinessProbe: { ...proxySidecarParts.readinessProbe, periodSeconds: 2 } }],
    ["volumes", { volumeMounts: [] }],
  ])("%s", (part, change) => expect(differences(podWithSidecarParts({ proxy: change }), stored)).toEqual([part]));

  test("init containers", () => {
    expect(differences(podWithSidecarParts({ init: { image: "istio/proxyv2:1.26.0" } }), stored)).toEqual(["init containers"]);
  });

  test("volumes that are mounted, and no others", () => {
    const other = { name: "own", projected: { sources: [] } };
    expect(differences(podWithSidecarParts({ volumes: [...volumes, other] }), stored)).toEqual([]);
    expect(differences(podWithSidecarParts({ volumes: [{ name: "token", projected: { sources: [] } }] }), stored)).toEqual(["volumes"]);
  });
});

test("the image is not a part, nor are other containers", () => {
  const other = podWithSidecarParts({ proxy: { image: "istio/proxyv2:2" } });
  expect(differences(other, stored)).toEqual([]);
  expect(differences({ ...other, spec: { ...other.spec, containers: other.spec?.containers.slice(1) ?? [] } }, stored)).toEqual([]);
});

test("init containers that the status names are the sidecar's too", () => {
  const annotations = { "sidecar.istio.io/status": JSON.stringify({ initContainers: ["warm-up"] }) };
  const warm = (image: string): Pod => ({
    metadata: { annotations },
    spec: { containers: [proxySidecarParts], initContainers: [{ name: "warm-up", image }] },
  });
  expect(differences(warm("a"), warm("b"))).toEqual(["init containers"]);
});

describe("an image of a new pod that cannot be run", () => {
  const template = { metadata: {}, spec: { containers: [app], initContainers: [{ name: "migrate", image: "migrate:1" }] } };
  const injected = (more: Partial<Pod["spec"]>): Pod => ({ metadata: {}, spec: { containers: [app, proxy], ...more } });

  test.each<readonly [string, Pod, Pod, object | undefined]>([
    ["the sidecar's", template, injected({ containers: [app, { ...proxy, image: "auto" }] }), { container: "istio-proxy", image: "auto" }],
    ["an injected init container's", template, injected({ initContainers: [{ name: "istio-init" }] }), { container: "istio-init", image: "" }],
    [
      "one that injection gave to a container",
      template,
      injected({ containers: [{ ...app, image: "Hub:" }, proxy] }),
      { container: "app", image: "Hub:" },
    ],
    [
      "that of a container that injection changed",
      podWith([{ ...app, image: "" }]),
      podWith([Object.assign({ env: [{ name: "A" }] }, app, { image: "" }), proxy]),
      { container: "app", image: "" },
    ],
    [
      "auto in the template, where nobody injects",
      podWith([{ ...app, image: "auto" }]),
      podWith([{ ...app, image: "auto" }]),
      { container: "app", image: "auto" },
    ],
    ["not one that is as the template has it", podWith([{ ...app, image: "" }]), podWith([{ ...app, image: "" }, proxy]), undefined],
    [
      "not one that the API server filled in",
      podWith([{ ...app, image: "app/Image:1" }]),
      podWith([{ ...app, ...filledIn, image: "app/Image:1" }, proxy]),
      undefined,
    ],
    ["none", template, injected({ initContainers: [{ name: "istio-init", image: "istio/proxyv2:1" }] }), undefined],
  ])("%s", (_name, draft, pod, invalid) => expect(invalidImageIn(pod, draft)).toEqual(invalid));
});

const parts = { resources: "r", env: "e", volumes: "v", "init containers": "i", settings: "s" };
const sidecar: Sidecar = { image: "docker.io/istio/proxyv2:1.27.0", revision: "canary", parts };

describe("a sidecar is outdated", () => {
  test.each<readonly [OutdatedReason, Sidecar | undefined, Sidecar | undefined, string]>([
    ["SidecarMissing", undefined, sidecar, "has no sidecar; a new pod would get docker.io/istio/proxyv2:1.27.0"],
    ["SidecarUnwanted", sidecar, undefined, "has the sidecar docker.io/istio/proxyv2:1.27.0; a new pod would get none"],
    [
      "ImageDiffers",
      { ...sidecar, image: "istio/proxyv2:1.26.0" },
      sidecar,
      "has the sidecar istio/proxyv2:1.26.0; a new pod would get docker.io/istio/proxyv2:1.27.0",
    ],
    ["RevisionDiffers", { ...sidecar, revision: "default" }, sidecar, "was injected by revision default; a new pod would be by canary"],
    [
      "SidecarDiffers",
      { ...sidecar, parts: { ...parts, env: "x", volumes: "y" } },
      sidecar,
      "has a sidecar that differs from a new pod's in env, volumes",
    ],
  ])("%s", (reason, live, expected, message) => {
    expect(compareSidecar(live, expected, { compareHub: false })).toEqual({ type: "outdated", reason, message });
  });

  test("by its registry only if that is compared", () => {
    const mirrored = { ...sidecar, image: "mirror.example:5000/istio/proxyv2:1.27.0" };
    expect(compareSidecar(mirrored, sidecar, { compareHub: false })).toEqual({ type: "current" });
    expect(compareSidecar(mirrored, sidecar, { compareHub: true })).toMatchObject({ reason: "ImageDiffers" });
  });
});

describe("a sidecar is current", () => {
  test.each<readonly [string, Sidecar | undefined, Sidecar | undefined]>([
    ["when both have none", undefined, undefined],
    ["when all is the same", sidecar, { ...sidecar }],
    ["when one of them does not say its revision", { ...sidecar, revision: undefined }, sidecar],
    ["when only one was taken whole", { ...sidecar, parts: undefined }, sidecar],
    ["when Docker Hub is written in short", { ...sidecar, image: "istio/proxyv2:1.27.0" }, sidecar],
  ])("%s", (_name, live, expected) => expect(compareSidecar(live, expected, { compareHub: true })).toEqual({ type: "current" }));
});
