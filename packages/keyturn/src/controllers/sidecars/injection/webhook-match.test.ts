import type { LabelSelector, MutatingWebhook, WebhookRule } from "@keyturn/runtime";
import { describe, expect, test } from "vitest";
import { matchWebhook } from "./webhook.ts";

const forPods: WebhookRule = { operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"], scope: "*" };
const pod = { metadata: { namespace: "shop", labels: { app: "web", empty: "" } }, spec: { containers: [] } };
const namespaceLabels = { "kubernetes.io/metadata.name": "shop", "istio-injection": "enabled" };

function match(more: Partial<MutatingWebhook>): ReturnType<typeof matchWebhook> {
  const webhook = { name: "w", clientConfig: {}, sideEffects: "None", admissionReviewVersions: ["v1"], rules: [forPods], ...more } as const;
  return matchWebhook(webhook, pod, namespaceLabels);
}

test("without selectors every new pod is for it", () => expect(match({})).toEqual({ type: "called" }));

describe("selectors", () => {
  test.each<readonly [LabelSelector, boolean]>([
    [{}, true],
    [{ matchLabels: { app: "web" } }, true],
    [{ matchLabels: { app: "web", tier: "x" } }, false],
    [{ matchLabels: { empty: "" } }, true],
    [{ matchLabels: { absent: "" } }, false],
    [{ matchExpressions: [{ key: "app", operator: "In", values: ["db", "web"] }] }, true],
    [{ matchExpressions: [{ key: "absent", operator: "In", values: [""] }] }, false],
    [{ matchExpressions: [{ key: "app", operator: "NotIn", values: ["web"] }] }, false],
    [{ matchExpressions: [{ key: "absent", operator: "NotIn", values: ["web"] }] }, true],
    [{ matchExpressions: [{ key: "empty", operator: "Exists" }] }, true],
    [{ matchExpressions: [{ key: "constructor", operator: "Exists" }] }, false],
    [{ matchExpressions: [{ key: "app", operator: "DoesNotExist" }] }, false],
    [{ matchLabels: { app: "web" }, matchExpressions: [{ key: "app", operator: "DoesNotExist" }] }, false],
  ])("%j of objects: %s", (objectSelector, called) => {
    expect(match({ objectSelector })).toEqual(called ? { type: "called" } : { type: "skipped", because: "objectSelector" });
  });

  test("of namespaces see the namespace's labels, its name too", () => {
    expect(match({ namespaceSelector: { matchLabels: { "istio-injection": "enabled" } } })).toEqual({ type: "called" });
    expect(match({ namespaceSelector: { matchExpressions: [{ key: "kubernetes.io/metadata.name", operator: "NotIn", values: ["shop"] }] } })).toEqual(
      {
        type: "skipped",
        because: "namespaceSelector",
      },
    );
  });
});

describe("rules", () => {
  test.each<readonly [Partial<WebhookRule>, boolean]>([
    [{ operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"] }, true],
    [{ resources: ["pods/*"] }, true],
    [{ resources: ["pods/status"] }, false],
    [{ resources: ["deployments"] }, false],
    [{ operations: ["UPDATE"] }, false],
    [{ apiGroups: ["apps"] }, false],
    [{ apiVersions: ["v2"] }, false],
    [{ scope: "Cluster" }, false],
    [{ scope: "Namespaced" }, true],
  ])("%j: %s", (change, called) => {
    expect(match({ rules: [{ ...forPods, ...change }] })).toEqual(called ? { type: "called" } : { type: "skipped", because: "rules" });
  });

  test("one that fits is enough; none is none", () => {
    expect(match({ rules: [{ ...forPods, operations: ["DELETE"] }, forPods] })).toEqual({ type: "called" });
    expect(match({ rules: [] })).toEqual({ type: "skipped", because: "rules" });
  });
});

test("conditions come last: what is not selected is never undecidable", () => {
  const matchConditions = [{ name: "c", expression: "authorizer.path('/').check('get').allowed()" }];
  expect(match({ matchConditions })).toMatchObject({ type: "undecidable" });
  expect(match({ matchConditions, rules: [] })).toEqual({ type: "skipped", because: "rules" });
  expect(match({ matchConditions: [{ name: "c", expression: "false" }] })).toEqual({ type: "skipped", because: "matchConditions" });
});
