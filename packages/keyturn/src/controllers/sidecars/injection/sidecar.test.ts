import type { Pod, Volume } from "@keyturn/runtime";
import { describe, expect, test } from "vitest";
import { digestParts, isRunnableImage, parseImage, sameImage, sidecarDigest, sidecarOf, sidecarParts } from "./sidecar.ts";

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

test("a digest tells sidecars apart, and having none", () => {
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

const digest = `sha256:${"a".repeat(64)}`;

test.each([
  ["proxyv2", "docker.io", "library/proxyv2", "latest", undefined],
  ["istio/proxyv2:1.27.0", "docker.io", "istio/proxyv2", "1.27.0", undefined],
  ["docker.io/istio/proxyv2:1.27.0", "docker.io", "istio/proxyv2", "1.27.0", undefined],
  ["index.docker.io/istio/proxyv2:1", "docker.io", "istio/proxyv2", "1", undefined],
  ["reg:5000/istio/proxyv2", "reg:5000", "istio/proxyv2", "latest", undefined],
  ["reg:5000/istio/proxyv2:1.27.0", "reg:5000", "istio/proxyv2", "1.27.0", undefined],
  ["localhost/proxyv2:1", "localhost", "proxyv2", "1", undefined],
  ["gcr.io/a/b/proxyv2:1-distroless", "gcr.io", "a/b/proxyv2", "1-distroless", undefined],
  [`istio/proxyv2@${digest}`, "docker.io", "istio/proxyv2", undefined, digest],
  [`reg:5000/istio/proxyv2:1.27.0@${digest}`, "reg:5000", "istio/proxyv2", "1.27.0", digest],
  ["auto", "docker.io", "library/auto", "latest", undefined],
])("%s is read as container runtimes do", (image, registry, repository, tag, hash) => {
  expect(parseImage(image)).toEqual({ registry, repository, tag, digest: hash });
});

test.each([
  // left, right, the same without the hub, the same with it
  ["istio/proxyv2:1.27.0", "docker.io/istio/proxyv2:1.27.0", true, true],
  ["istio/proxyv2:1.27.0", "reg:5000/istio/proxyv2:1.27.0", true, false],
  ["mirror.example/mesh/proxyv2:1.27.0", "docker.io/istio/proxyv2:1.27.0", true, false],
  ["istio/proxyv2:1.27.0", "istio/proxyv2:1.27.1", false, false],
  ["reg:5000/istio/proxyv2", "reg:5000/istio/proxyv2:latest", true, true],
  ["reg:5000/istio/proxyv2", "reg:5001/istio/proxyv2", true, false],
  ["istio/proxyv2:1", "istio/pilot:1", false, false],
  [`istio/proxyv2@${digest}`, `istio/proxyv2@sha256:${"b".repeat(64)}`, false, false],
  [`istio/proxyv2:1@${digest}`, `istio/proxyv2:2@${digest}`, true, true],
  [`istio/proxyv2:1@${digest}`, "istio/proxyv2:1", false, false],
])("%s and %s: the same %s, with the hub %s", (left, right, without, withHub) => {
  expect(sameImage(left, right, { compareHub: false })).toBe(without);
  expect(sameImage(right, left, { compareHub: false })).toBe(without);
  expect(sameImage(left, right, { compareHub: true })).toBe(withHub);
});

test.each([
  "proxyv2",
  "istio/proxyv2:1.27.0",
  "reg:5000/istio/proxyv2",
  "[::1]:5000/proxyv2:1",
  `gcr.io/a_b/c--d/e__f:1-x@${digest}`,
  "auto:1",
  "example/auto",
])("%s can be run", (image) => expect(isRunnableImage(image)).toBe(true));

test.each([
  "",
  "auto",
  " ",
  ":1.27.0",
  "istio/",
  "istio//proxyv2",
  "istio/proxyv2:",
  "istio/Proxyv2",
  "istio/proxyv2@",
  "istio/proxyv2@sha256:1",
  "{{ .Values.hub }}/proxyv2",
])('"%s" cannot', (image) => expect(isRunnableImage(image)).toBe(false));
