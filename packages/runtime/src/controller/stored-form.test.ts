// What differs only in how it is written is no difference, and what somebody has changed is one.
import { describe, expect, test } from "vitest";
import { Deployment, Lease, Secret } from "../client/builtin-kinds.ts";
import { defineKind, type KubeObject } from "../client/kind.ts";
import { asSent, saysAll } from "./stored-form.ts";

const metadata = { namespace: "shop", name: "web" };
const Widget = defineKind({ group: "demo.example", version: "v1", kind: "Widget", plural: "widgets", namespaced: true });

function pod(spec: object): KubeObject & { readonly spec: object } {
  return { metadata, spec: { template: { spec } } };
}
const container = (fields: object): KubeObject => pod({ containers: [{ name: "a", ...fields }] });

describe("the same, written otherwise", () => {
  test.each<readonly [string, KubeObject, KubeObject]>([
    ["1000m and 1", container({ resources: { limits: { cpu: "1" } } }), container({ resources: { limits: { cpu: "1000m" } } })],
    [
      "a number and a text",
      container({ resources: { limits: { cpu: "2" } } }),
      pod({ containers: [{ name: "a", resources: { limits: { cpu: 2 } } }] }),
    ],
    ["1536Mi and 1.5Gi", container({ resources: { requests: { memory: "1536Mi" } } }), container({ resources: { requests: { memory: "1.5Gi" } } })],
    [
      "1e3 and 1k",
      pod({ volumes: [{ name: "v", emptyDir: { sizeLimit: "1k" } }] }),
      pod({ volumes: [{ name: "v", emptyDir: { sizeLimit: "1e3" } }] }),
    ],
    ["an empty list and none", container({}), container({ env: [], command: [] })],
    ["an empty map and none", container({}), { ...container({ resources: undefined }), metadata: { ...metadata, labels: {} } }],
    ["empty limits and none", container({ resources: {} }), container({ resources: { limits: {} } })],
    ["false and nothing, without a pointer", pod({}), pod({ hostNetwork: false, hostPID: false })],
    ["an empty text in an environment", container({ env: [{ name: "A" }] }), container({ env: [{ name: "A", value: "" }] })],
    [
      "what others have put between",
      pod({ containers: [{ name: "proxy" }, { name: "a", image: "i", imagePullPolicy: "Always" }, { name: "b" }] }),
      pod({ containers: [{ name: "a", image: "i" }, { name: "b" }] }),
    ],
    ["finalizers of others", { metadata: { ...metadata, finalizers: ["x/a", "x/b"] } }, { metadata: { ...metadata, finalizers: ["x/b"] } }],
  ])("%s", (_name, live, desired) => {
    expect(saysAll(Deployment, live, desired)).toBe(true);
  });

  test("a time with fewer digits", () => {
    const at = (renewTime: string): KubeObject => Object.assign({ metadata }, { spec: { renewTime } });
    expect(saysAll(Lease, at("2026-01-01T00:00:00.500000Z"), at("2026-01-01T00:00:00.5Z"))).toBe(true);
    expect(saysAll(Lease, at("2026-01-01T00:00:00.500000Z"), at("2026-01-01T01:00:00.5+01:00"))).toBe(true);
    expect(saysAll(Lease, at("2026-01-01T00:00:00.500000Z"), at("2026-01-01T00:00:00.6Z"))).toBe(false);
  });

  test("texts of a Secret", () => {
    const sent = asSent(Secret, { metadata, data: { a: "MQ==" }, stringData: { b: "2" } });
    expect(sent).toEqual({ metadata, data: { a: "MQ==", b: "Mg==" } });
  });
});

const NetworkPolicy = defineKind({ group: "networking.k8s.io", version: "v1", kind: "NetworkPolicy", plural: "networkpolicies", namespaced: true });
const Service = defineKind({ group: "", version: "v1", kind: "Service", plural: "services", namespaced: true });
const Pod = defineKind({ group: "", version: "v1", kind: "Pod", plural: "pods", namespaced: true });
const withSpec = (spec: object): KubeObject => Object.assign({ metadata }, { spec });

describe("what others add", () => {
  const mine = { ingress: [{ from: [{ podSelector: { matchLabels: { a: "1" } } }], ports: [{ port: 80 }] }], podSelector: {} };
  const [rule] = mine.ingress;
  const stored = { ...mine, ingress: [{ ...rule, ports: [{ port: 80, protocol: "TCP" }] }], policyTypes: ["Ingress"] };

  test("by default is no difference", () => {
    expect(saysAll(NetworkPolicy, withSpec(stored), withSpec(mine))).toBe(true);
  });

  test.each<readonly [string, object]>([
    ["lets everybody of a namespace in", { ingress: [{ ...rule, from: [{ podSelector: { matchLabels: { a: "1" } }, namespaceSelector: {} }] }] }],
    ["opens a range of ports", { ingress: [{ ...rule, ports: [{ port: 80, protocol: "TCP", endPort: 9000 }] }] }],
    ["is one more label of a selector in a list", { ingress: [{ ...rule, from: [{ podSelector: { matchLabels: { a: "1", b: "2" } } }] }] }],
    ["takes pods out of a policy", { podSelector: { matchLabels: { b: "2" } } }],
  ])("counts where a value has one owner: what %s", (_what, change) => {
    expect(saysAll(NetworkPolicy, withSpec({ ...stored, ...change }), withSpec(mine))).toBe(false);
  });

  test("to a Service's selector counts, and another port does not", () => {
    const wanted = withSpec({ selector: { a: "1" }, ports: [{ port: 80 }] });
    const live = { selector: { a: "1" }, ports: [{ port: 80, protocol: "TCP", targetPort: 80 }] };
    expect(saysAll(Service, withSpec({ ...live, ports: [...live.ports, { port: 81, protocol: "TCP" }] }), wanted)).toBe(true);
    expect(saysAll(Service, withSpec({ ...live, selector: { a: "1", b: "2" } }), wanted)).toBe(false);
  });

  test("stays in a pod, which cannot be changed any more", () => {
    const live = { nodeSelector: { a: "1", zone: "x" }, tolerations: [{ key: "k" }, { key: "node.kubernetes.io/not-ready" }] };
    expect(saysAll(Pod, withSpec(live), withSpec({ nodeSelector: { a: "1" }, tolerations: [{ key: "k" }] }))).toBe(true);
  });
});

describe("a difference", () => {
  test.each<readonly [string, KubeObject, KubeObject]>([
    ["another quantity", container({ resources: { limits: { cpu: "1" } } }), container({ resources: { limits: { cpu: "1001m" } } })],
    ["a quantity that is gone", container({ resources: { limits: {} } }), container({ resources: { limits: { cpu: "0" } } })],
    [
      "what looks like a quantity in a label",
      { metadata: { ...metadata, labels: { a: "1" } } },
      { metadata: { ...metadata, labels: { a: "1000m" } } },
    ],
    ["what looks like one in an environment", container({ env: [{ name: "A", value: "1" }] }), container({ env: [{ name: "A", value: "1000m" }] })],
    ["an empty label that is gone", { metadata: { ...metadata, labels: {} } }, { metadata: { ...metadata, labels: { a: "" } } }],
    ["false that somebody took away", container({ securityContext: {} }), container({ securityContext: { allowPrivilegeEscalation: false } })],
    ["zero that somebody took away", pod({}), pod({ terminationGracePeriodSeconds: 0 })],
    ["no token that somebody took away", pod({}), pod({ automountServiceAccountToken: false })],
    ["an empty selector that is gone", pod({ affinity: {} }), pod({ affinity: { podAffinity: {} } })],
    ["a container that is gone", pod({ containers: [{ name: "b" }] }), pod({ containers: [{ name: "a" }, { name: "b" }] })],
    ["another order", pod({ initContainers: [{ name: "b" }, { name: "a" }] }), pod({ initContainers: [{ name: "a" }, { name: "b" }] })],
    ["one more argument", container({ args: ["a", "b"] }), container({ args: ["a"] })],
    ["a list that was filled", container({ command: ["sh"] }), container({ command: [] })],
  ])("%s", (_name, live, desired) => {
    expect(saysAll(Deployment, live, desired)).toBe(false);
  });

  test("anything at all in a custom kind, which is stored as it was sent", () => {
    const widget = (spec: object): KubeObject => Object.assign({ metadata }, { spec });
    expect(saysAll(Widget, widget({ limits: { cpu: "1" } }), widget({ limits: { cpu: "1000m" } }))).toBe(false);
    expect(saysAll(Widget, widget({}), widget({ env: [] }))).toBe(false);
    expect(saysAll(Widget, widget({ env: [] }), { ...widget({ env: [] }), metadata: { ...metadata, annotations: {} } })).toBe(true);
  });
});
