import { ConfigMap, MutatingWebhookConfiguration, type Stored } from "@keyturn/runtime";
import { VirtualClock } from "@keyturn/runtime/testing";
import { expect, test } from "vitest";
import { InjectorConfiguration, keepInjectorConfigMap, keepInjectorWebhooks, type otherConfiguration } from "./injector-configuration.ts";
import { ManualCache } from "./manual-cache.fixture.ts";

const settleMs = 10_000;

function setUp() {
  const clock = new VirtualClock();
  const webhooks = new ManualCache<MutatingWebhookConfiguration | typeof otherConfiguration>(MutatingWebhookConfiguration);
  const configMaps = new ManualCache<string>(ConfigMap);
  const configuration = new InjectorConfiguration({ webhooks, configMaps: [configMaps] }, { clock, settleMs });
  let changes = 0;
  configuration.onChange(() => changes++);
  const putWebhooks = (name: string, caBundle: string, path = "/inject"): void => {
    const clientConfig = { service: { namespace: "istio-system", name: "istiod", path }, caBundle };
    const webhook = { name: "w.istio.io", clientConfig, sideEffects: "None", admissionReviewVersions: ["v1"] } as const;
    webhooks.put(name, keepInjectorWebhooks({ metadata: { name, uid: "u", resourceVersion: "1" }, webhooks: [webhook] }));
  };
  const putConfigMap = (name: string, data: Readonly<Record<string, string>>, annotations = {}): void =>
    configMaps.put(`istio-system/${name}`, keepInjectorConfigMap(stored(name, data, annotations)));
  return { clock, configuration, putWebhooks, putConfigMap, changes: () => changes };
}

function stored(name: string, data: Readonly<Record<string, string>>, annotations: Readonly<Record<string, string>>): Stored<ConfigMap> {
  return { metadata: { namespace: "istio-system", name, uid: "u", resourceVersion: "1", annotations }, data };
}

test("a change settles for the delay, and another one begins it anew; nothing sleeps", async () => {
  const { clock, configuration, putConfigMap } = setUp();
  await clock.advance(settleMs);
  expect(configuration.settlesInMs).toBe(0);
  putConfigMap("istio-sidecar-injector", { values: "1" });
  expect(configuration.settlesInMs).toBe(10_000);
  await clock.advance(6000);
  putConfigMap("istio-sidecar-injector", { values: "2" });
  expect(configuration.settlesInMs).toBe(10_000);
  await clock.advance(10_000);
  expect(configuration.settlesInMs).toBe(0);
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
  const before = configuration.version;
  putWebhooks("istio-sidecar-injector", "ca2");
  expect(configuration.version).toBe(before);
  expect(configuration.injectors.webhooks.map(({ webhook }) => webhook.clientConfig.caBundle)).toEqual(["ca2"]);
  putWebhooks("istio-sidecar-injector", "ca2", "/inject/cluster/two");
  expect(configuration.version).not.toBe(before);
  expect(changes()).toBe(2);
});

test("each period makes every answer old, without anything having to settle", async () => {
  const { clock, configuration, changes } = setUp();
  await clock.advance(settleMs);
  const before = configuration.version;
  configuration.nextPeriod();
  expect(configuration.version).not.toBe(before);
  expect(configuration.settlesInMs).toBe(0);
  expect(changes()).toBe(1);
});
