// Manifests, and what they make of live objects.
import { describe, expect, test } from "vitest";
import { appliedIngress, appliedSecret, parseManifests, type SecretManifest } from "./manifests.ts";

const secret = (text: string): SecretManifest => {
  const [manifest] = parseManifests(text, "a.yaml");
  if (manifest?.kind !== "Secret") throw new Error("not a Secret");
  return manifest;
};

describe("what is read", () => {
  test("Secrets and Ingresses of several documents and of lists; nothing else", () => {
    const text = `
kind: ConfigMap
metadata: {name: a}
---
kind: Secret
metadata: {name: shop-1}
---
---
kind: List
items:
- kind: Ingress
  metadata: {name: shop-2, namespace: gateway}
- kind: SecretList
  items: [{kind: Secret, metadata: {name: shop-3}}]
`;
    expect(parseManifests(text, "a.yaml").map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
      "Secret shop-1",
      "Ingress shop-2",
      "Secret shop-3",
    ]);
  });

  test.each([
    ["kind: Secret\nmetadata: {name: ''}", "a Secret in it has no valid metadata.name"],
    ["kind: Secret\nmetadata: {name: a}\ndata: {tls.key: [hunter2]}", "a Secret in it has no valid data.tls.key"],
    ["kind: Secret\nmetadata: {name: a\nstringData: {password: hunter2}", "it is not valid YAML at line"],
  ])("what cannot be read is refused without a word of its content: %j", (text, message) => {
    expect(() => parseManifests(text, "a.yaml")).toThrow(message);
    expect(() => parseManifests(text, "a.yaml")).not.toThrow("hunter2");
  });
});

describe("what becomes of a live object", () => {
  const live = {
    metadata: { name: "shop-1", labels: { app: "shop" }, annotations: { version: "1", note: "kept" } },
    type: "kubernetes.io/tls",
    data: { "tls.crt": "b2xk", "ca.crt": "Y2E=" },
  };

  test("what the manifest does not mention stays, and null takes it away", () => {
    const manifest = secret(`
kind: Secret
metadata: {name: shop-1, annotations: {version: "2"}, labels: {app: null}}
data: {tls.crt: bmV3, ca.crt: null}
`);
    expect(appliedSecret(manifest, live)).toEqual({
      metadata: { name: "shop-1", labels: {}, annotations: { version: "2", note: "kept" } },
      type: "kubernetes.io/tls",
      data: { "tls.crt": "bmV3" },
    });
  });

  test("data is as the API server will send it: stringData encoded and over data, base64 without line breaks", () => {
    const manifest = secret(`
kind: Secret
metadata: {name: shop-1}
type: kubernetes.io/tls
data: {tls.crt: "bm\\nV3\\n", tls.key: b2xk}
stringData: {tls.key: new}
`);
    expect(appliedSecret(manifest, undefined)).toMatchObject({ type: "kubernetes.io/tls", data: { "tls.crt": "bmV3", "tls.key": "bmV3" } });
  });

  test("an Ingress keeps its class unless it is given another", () => {
    const [manifest] = parseManifests("kind: Ingress\nmetadata: {name: shop-2}", "a.yaml");
    if (manifest?.kind !== "Ingress") throw new Error("not an Ingress");
    const before = { metadata: { name: "shop-2" }, spec: { ingressClassName: "tengine" } };
    expect(appliedIngress(manifest, before).spec).toEqual({ ingressClassName: "tengine" });
    expect(appliedIngress({ ...manifest, spec: { ingressClassName: "nginx" } }, before).spec).toEqual({ ingressClassName: "nginx" });
    expect(appliedIngress(manifest, undefined).spec).toBeUndefined();
  });
});
