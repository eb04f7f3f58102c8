import type { MutatingWebhook, Pod } from "@keyturn/runtime";
import { describe, expect, test } from "vitest";
import { templateDigest } from "../../../workloads/workload.ts";
import { readInjectors } from "../injector-configuration.ts";
import type { ReviewOutcome } from "./admission.ts";
import { type Expectation, type ExpectationInputs, expectationKey, expectSidecar } from "./expectation.ts";
import type { WebhookCaller } from "./webhook.ts";

/** A webhook that does to pods what `act` says. */
interface Actor extends Partial<MutatingWebhook> {
  readonly name: string;
  readonly act?: (pod: Pod) => ReviewOutcome;
}

const rules = [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] }];
const source = {
  kind: "Deployment",
  namespace: "shop",
  name: "web",
  uid: "u",
  template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "app", image: "app:1" }] } },
} as const;

/** Adds or replaces the proxy. */
function inject(image: string, labels: Readonly<Record<string, string>> = {}): (pod: Pod) => ReviewOutcome {
  return (pod) => {
    const containers = [...(pod.spec?.containers ?? []).filter(({ name }) => name !== "istio-proxy"), { name: "istio-proxy", image }];
    const changed = pod.spec?.containers.find(({ name }) => name === "istio-proxy")?.image !== image;
    return {
      type: "allowed",
      changed,
      pod: { ...pod, metadata: { ...pod.metadata, labels: { ...pod.metadata.labels, ...labels } }, spec: { ...pod.spec, containers } },
    };
  };
}

/** What is expected, and who was asked. */
async function expectFrom(...actors: readonly Actor[]): Promise<{ readonly expectation: Expectation; readonly asked: readonly string[] }> {
  const asked: string[] = [];
  const caller: WebhookCaller = {
    review({ name }, pod) {
      asked.push(name);
      const actor = actors.find((each) => each.name === name);
      return Promise.resolve(actor?.act?.(pod) ?? { type: "allowed", pod, changed: false });
    },
    close: () => undefined,
  };
  const usual = { clientConfig: {}, sideEffects: "None", admissionReviewVersions: ["v1"], rules } as const;
  const webhooks = actors.map(({ act: _act, ...webhook }): MutatingWebhook => Object.assign({}, usual, webhook));
  const injectors = readInjectors([{ metadata: { name: "istio-sidecar-injector" }, webhooks }]);
  return { expectation: await expectSidecar(source, { namespaceLabels: {}, injectors, caller, whole: false }), asked };
}

test("without a webhook that matches nobody is asked and no sidecar is expected", async () => {
  expect(await expectFrom({ name: "a", objectSelector: { matchLabels: { app: "other" } }, act: inject("proxy:1") })).toEqual({
    expectation: { type: "known", sidecar: undefined, webhooks: [] },
    asked: [],
  });
});

test("a webhook that matches gives the sidecar", async () => {
  const { expectation } = await expectFrom({ name: "a", act: inject("proxy:1") });
  expect(expectation).toEqual({
    type: "known",
    sidecar: { image: "proxy:1", revision: undefined, parts: undefined },
    webhooks: ["istio-sidecar-injector/a"],
  });
});

test("a container that a webhook adds with an image that cannot be run is named", async () => {
  const act = (pod: Pod): ReviewOutcome => {
    const spec = { containers: [], ...pod.spec, initContainers: [{ name: "istio-init", image: "auto" }] };
    return { type: "allowed", changed: true, pod: { ...pod, spec } };
  };
  expect((await expectFrom({ name: "a", act })).expectation).toMatchObject({
    type: "known",
    invalidImage: { container: "istio-init", image: "auto" },
  });
  expect((await expectFrom({ name: "a", act: inject("proxy:1") })).expectation).toMatchObject({ type: "known", invalidImage: undefined });
});

describe("several webhooks", () => {
  test("see the pod as those before have left it, and match by that", async () => {
    const byLabel = { objectSelector: { matchLabels: { by: "a" } } };
    const { expectation, asked } = await expectFrom(
      { name: "early", ...byLabel, act: inject("proxy:0") },
      { name: "a", act: inject("proxy:1", { by: "a" }) },
      { name: "late", ...byLabel, act: inject("proxy:2") },
    );
    expect(asked).toEqual(["a", "late"]);
    expect(expectation).toMatchObject({ sidecar: { image: "proxy:2" } });
  });

  test("are asked again if they want to and a later one changed the pod", async () => {
    const again = { reinvocationPolicy: "IfNeeded" } as const;
    expect((await expectFrom({ name: "a", ...again, act: inject("proxy:1") }, { name: "b", act: inject("proxy:2") })).asked).toEqual(["a", "b", "a"]);
    expect((await expectFrom({ name: "a", ...again, act: inject("proxy:1") }, { name: "b", act: inject("proxy:1") })).asked).toEqual(["a", "b"]);
    expect((await expectFrom({ name: "a", act: inject("proxy:1") }, { name: "b", ...again, act: inject("proxy:2") })).asked).toEqual(["a", "b"]);
  });

  test("that both want to and never agree are asked twice at most", async () => {
    const again = { reinvocationPolicy: "IfNeeded" } as const;
    const { asked, expectation } = await expectFrom({ name: "a", ...again, act: inject("proxy:1") }, { name: "b", ...again, act: inject("proxy:2") });
    expect(asked).toEqual(["a", "b", "a", "b"]);
    expect(expectation).toMatchObject({ sidecar: { image: "proxy:2" } });
  });
});

describe("nothing is known", () => {
  test.each<readonly [Actor, object]>([
    [
      { name: "a", act: () => ({ type: "refused", message: "no" }) },
      { type: "refused", webhook: "istio-sidecar-injector/a", message: "no" },
    ],
    [
      { name: "a", act: () => ({ type: "failed", message: "gone" }) },
      { type: "failed", webhook: "istio-sidecar-injector/a", message: "gone" },
    ],
    [
      { name: "a", failurePolicy: "Ignore", act: () => ({ type: "failed", message: "gone" }) },
      { type: "failed", webhook: "istio-sidecar-injector/a", message: "gone" },
    ],
    [
      { name: "a", matchConditions: [{ name: "c", expression: "authorizer.path('/').check('get').allowed()" }] },
      { type: "undecidable", webhook: "istio-sidecar-injector/a", message: expect.stringContaining("authorizer") },
    ],
  ])("%#", async (actor, expectation) => {
    const later = { name: "later", act: inject("proxy:1") };
    const { expectation: got, asked } = await expectFrom(actor, later);
    expect(got).toEqual(expectation);
    expect(asked).not.toContain("later");
  });
});

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
