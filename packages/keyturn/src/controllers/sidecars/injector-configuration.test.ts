import { ConfigMap, type MutatingWebhook, MutatingWebhookConfiguration, type Stored } from "@keyturn/runtime";
import { VirtualClock } from "@keyturn/runtime/testing";
import { describe, expect, test } from "vitest";
import {
  InjectorConfiguration,
  isInjectorConfiguration,
  keepInjectorConfigMap,
  keepInjectorWebhooks,
  ProxyConfig,
  type otherConfiguration,
  readInjectors,
} from "./injector-configuration.ts";
import { ManualCache } from "../../workloads/manual-cache.fixture.ts";

const stabilizeMs = 10_000;

function setUp() {
  const clock = new VirtualClock();
  const webhooks = new ManualCache<MutatingWebhookConfiguration | typeof otherConfiguration>(MutatingWebhookConfiguration);
  const configMaps = new ManualCache<string>(ConfigMap);
  const proxyConfigs = new ManualCache<string>(ProxyConfig);
  const configuration = new InjectorConfiguration(
    { webhooks, configMaps: [configMaps], proxyConfigs, istioNamespaces: ["istio-system"] },
    { clock, stabilizeMs },
  );
  let changes = 0;
  configuration.onChange(() => changes++);
  const putWebhooks = (name: string, caBundle: string, path = "/inject"): void => {
    const clientConfig = { service: { namespace: "istio-system", name: "istiod", path }, caBundle };
    const webhook = { name: "w.istio.io", clientConfig, sideEffects: "None", admissionReviewVersions: ["v1"] } as const;
    webhooks.put(name, keepInjectorWebhooks({ metadata: { name, uid: "u", resourceVersion: "1" }, webhooks: [webhook] }));
  };
  const putConfigMap = (name: string, data: Readonly<Record<string, string>>, annotations = {}): void =>
    configMaps.put(`istio-system/${name}`, keepInjectorConfigMap(stored(name, data, annotations)));
  const putProxyConfig = (namespace: string, digest: string): void => proxyConfigs.put(`${namespace}/own`, digest);
  const putForeign = (key: string): void => configMaps.put(key, `digest of ${key}`);
  return { clock, configuration, putWebhooks, putConfigMap, putProxyConfig, putForeign, changes: () => changes };
}

function stored(name: string, data: Readonly<Record<string, string>>, annotations: Readonly<Record<string, string>>): Stored<ConfigMap> {
  return { metadata: { namespace: "istio-system", name, uid: "u", resourceVersion: "1", annotations }, data };
}

test("a change stabilizes for the delay, and another one begins it anew; nothing sleeps", async () => {
  const { clock, configuration, putConfigMap } = setUp();
  await clock.advance(stabilizeMs);
  expect(configuration.stabilizesInMs("shop")).toBe(0);
  putConfigMap("istio-sidecar-injector", { values: "1" });
  expect(configuration.stabilizesInMs("shop")).toBe(10_000);
  await clock.advance(6000);
  putConfigMap("istio-sidecar-injector", { values: "2" });
  expect(configuration.stabilizesInMs("shop")).toBe(10_000);
  await clock.advance(10_000);
  expect(configuration.stabilizesInMs("shop")).toBe(0);
});

test("a ProxyConfig of a namespace concerns that namespace, one of Istio's own all", async () => {
  const { clock, configuration, putProxyConfig } = setUp();
  await clock.advance(stabilizeMs);
  const [shop, bank] = [configuration.versionIn("shop"), configuration.versionIn("bank")];
  putProxyConfig("shop", "1");
  expect([configuration.versionIn("shop") === shop, configuration.versionIn("bank") === bank]).toEqual([false, true]);
  expect([configuration.stabilizesInMs("shop"), configuration.stabilizesInMs("bank")]).toEqual([stabilizeMs, 0]);
  putProxyConfig("istio-system", "1");
  expect(configuration.versionIn("bank")).not.toBe(bank);
});

test("what a tenant calls like a ConfigMap of Istio's is read by nobody", () => {
  const { configuration, putForeign, changes } = setUp();
  const before = configuration.versionIn("shop");
  putForeign("tenant/istio-sidecar-injector-x");
  expect([configuration.versionIn("shop"), changes()]).toEqual([before, 0]);
});

test("what istiod does not read changes nothing", () => {
  const { putConfigMap, putWebhooks, changes } = setUp();
  putConfigMap("istio-sidecar-injector-canary", { values: "1" });
  putConfigMap("istio-canary", { mesh: "1" });
  putWebhooks("istio-revision-tag-stable", "ca1");
  expect(changes()).toBe(3);
  putConfigMap("istio-sidecar-injector-canary", { values: "1" }, { touched: "yes" });
  putConfigMap("istio-ca-root-cert", { "root-cert.pem": "x" });
  putConfigMap("app", { values: "2" });
  putWebhooks("cert-manager-webhook", "ca1");
  expect(changes()).toBe(3);
});

test("a renewed caBundle is used and changes nothing; another path does", () => {
  const { configuration, putWebhooks, changes } = setUp();
  putWebhooks("istio-sidecar-injector", "ca1");
  const before = configuration.versionIn("shop");
  putWebhooks("istio-sidecar-injector", "ca2");
  expect(configuration.versionIn("shop")).toBe(before);
  expect(configuration.injectors.webhooks.map(({ webhook }) => webhook.clientConfig.caBundle)).toEqual(["ca2"]);
  putWebhooks("istio-sidecar-injector", "ca2", "/inject/cluster/two");
  expect(configuration.versionIn("shop")).not.toBe(before);
  expect(changes()).toBe(2);
});

test("each period makes every answer old, without anything having to settle", async () => {
  const { clock, configuration, changes } = setUp();
  await clock.advance(stabilizeMs);
  const before = configuration.versionIn("shop");
  configuration.nextPeriod();
  expect(configuration.versionIn("shop")).not.toBe(before);
  expect(configuration.stabilizesInMs("shop")).toBe(0);
  expect(changes()).toBe(1);
});

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
