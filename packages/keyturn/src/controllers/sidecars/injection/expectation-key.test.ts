import { describe, expect, test } from "vitest";
import { type ExpectationInputs, expectationKey, templateDigest } from "./expectation-key.ts";
import { readInjectors } from "./injectors.ts";

const template = { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "app", image: "app:1" }] } };

describe("the digest of a template", () => {
  test.each(["fortsa.scaffidi.net/restartedAt", "kubectl.kubernetes.io/restartedAt"])("does not change with %s", (annotation) => {
    const annotations = { [annotation]: "2030-01-01T00:00:00Z" };
    expect(templateDigest({ ...template, metadata: { ...template.metadata, annotations } })).toBe(templateDigest(template));
  });

  test("changes with labels, other annotations and the spec", () => {
    const others = [
      { ...template, metadata: { labels: { app: "db" } } },
      { ...template, metadata: { ...template.metadata, annotations: { "sidecar.istio.io/inject": "false" } } },
      { ...template, spec: { containers: [{ name: "app", image: "app:2" }] } },
    ];
    expect(new Set([template, ...others].map(templateDigest)).size).toBe(4);
  });
});

describe("the key", () => {
  const namespaceSelector = { matchLabels: { "istio-injection": "enabled" } };
  const webhook = { name: "w", clientConfig: {}, sideEffects: "None", admissionReviewVersions: ["v1"], namespaceSelector } as const;
  const inputs: ExpectationInputs = {
    source: { kind: "Deployment", namespace: "shop", name: "web" },
    templateDigest: templateDigest(template),
    namespaceLabels: { "istio-injection": "enabled", team: "a" },
    injectors: readInjectors([{ metadata: { name: "istio-sidecar-injector" }, webhooks: [webhook] }]),
    configurationVersion: "1",
    whole: false,
  };
  const keyWith = (change: Partial<ExpectationInputs>): string => expectationKey({ ...inputs, ...change });

  test.each<readonly [string, Partial<ExpectationInputs>]>([
    ["kind", { source: { ...inputs.source, kind: "StatefulSet" } }],
    ["namespace", { source: { ...inputs.source, namespace: "bank" } }],
    ["template", { templateDigest: "other" }],
    ["namespace's labels that webhooks select by", { namespaceLabels: { "istio-injection": "disabled", team: "a" } }],
    ["webhooks", { injectors: readInjectors([]) }],
    ["configuration of the injectors", { configurationVersion: "2" }],
  ])("changes with the %s", (_name, change) => expect(keyWith(change)).not.toBe(keyWith({})));

  test("does not change with labels that no webhook selects by", () => {
    expect(keyWith({ namespaceLabels: { "istio-injection": "enabled", team: "b" } })).toBe(keyWith({}));
  });

  test("is shared by workloads of one template, unless their whole sidecars are compared", () => {
    const other = { ...inputs.source, name: "other" };
    expect(keyWith({ source: other })).toBe(keyWith({}));
    expect(keyWith({ source: other, whole: true })).not.toBe(keyWith({ whole: true }));
  });
});
