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
