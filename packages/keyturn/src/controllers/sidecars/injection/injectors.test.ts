import type { MutatingWebhook, MutatingWebhookConfiguration } from "@keyturn/runtime";
import { describe, expect, test } from "vitest";
import { isInjectorConfiguration, readInjectors } from "./injectors.ts";

function webhook(name: string, more: Partial<MutatingWebhook> = {}): MutatingWebhook {
  return {
    name,
    clientConfig: { url: "https://istiod.example/inject", caBundle: "YQ==" },
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
    ...more,
  };
}

function configuration(name: string, ...webhooks: readonly MutatingWebhook[]): MutatingWebhookConfiguration {
  return { metadata: { name }, webhooks };
}

test.each([
  ["istio-sidecar-injector", true],
  ["istio-sidecar-injector-canary-mesh", true],
  ["istio-revision-tag-stable", true],
  ["istio-validator", false],
  ["cert-manager-webhook", false],
])("%s is an injector: %s", (name, expected) => expect(isInjectorConfiguration(name)).toBe(expected));

test("webhooks come in the API server's order: configurations by name, then as they stand", () => {
  const { webhooks } = readInjectors([
    configuration("istio-sidecar-injector", webhook("b"), webhook("a")),
    configuration("other", webhook("x")),
    configuration("istio-revision-tag-z", webhook("c")),
    { metadata: { name: "istio-revision-tag-empty" } },
  ]);
  expect(webhooks.map(({ configuration: of, webhook: { name } }) => `${of}/${name}`)).toEqual([
    "istio-revision-tag-z/c",
    "istio-sidecar-injector/b",
    "istio-sidecar-injector/a",
  ]);
});

test("the labels that matter are those that namespaces are selected by", () => {
  const namespaceSelector = { matchLabels: { a: "1" }, matchExpressions: [{ key: "b", operator: "Exists" as const }] };
  const objectSelector = { matchLabels: { c: "1" } };
  expect([...readInjectors([configuration("istio-sidecar-injector", webhook("w", { namespaceSelector, objectSelector }))]).namespaceLabels]).toEqual([
    "a",
    "b",
  ]);
});

describe("the digest", () => {
  const digestOf = (more: Partial<MutatingWebhook> = {}, name = "istio-sidecar-injector"): string =>
    readInjectors([configuration(name, webhook("w", more))]).digest;

  test.each<readonly [string, Partial<MutatingWebhook>]>([
    ["a selector", { objectSelector: { matchLabels: { a: "1" } } }],
    ["a condition", { matchConditions: [{ name: "c", expression: "true" }] }],
    ["the place", { clientConfig: { url: "https://istiod.example/other", caBundle: "YQ==" } }],
    ["a rule", { rules: [{ operations: ["CREATE"] }] }],
  ])("changes with %s", (_name, more) => expect(digestOf(more)).not.toBe(digestOf()));

  test("changes with the configuration's name, which decides the order", () => expect(digestOf({}, "istio-sidecar-injector-b")).not.toBe(digestOf()));
  test("does not change when istiod renews its certificate", () => {
    expect(digestOf({ clientConfig: { url: "https://istiod.example/inject", caBundle: "Yg==" } })).toBe(digestOf());
  });
});
