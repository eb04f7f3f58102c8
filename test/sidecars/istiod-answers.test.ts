// What istiod makes of pods, as far as decisions rest on it. Asked of the stand-in, or of a real one: ISTIOD_URL is the address of its webhook, such as
// https://istiod.example.com:15017/inject, and ISTIOD_CA_FILE a file with the certificates that it is known by.
import { readFile } from "node:fs/promises";
import type { MutatingWebhook, PodTemplateSpec } from "@keyturn/runtime";
import { afterAll, beforeAll, expect, test } from "vitest";
import { probeInjectors } from "../../packages/keyturn/src/controllers/sidecars/injection/expectation.ts";
import { sidecarOf } from "../../packages/keyturn/src/controllers/sidecars/injection/sidecar.ts";
import { createWebhookCaller } from "../../packages/keyturn/src/controllers/sidecars/injection/webhook.ts";
import { startIstiod } from "../../packages/keyturn/src/dev/stand-ins/istiod.ts";
import { draftPod } from "../../packages/keyturn/src/workloads/pod-draft.ts";

const stack = new AsyncDisposableStack();
const caller = createWebhookCaller();
let webhook: MutatingWebhook;

beforeAll(async () => {
  const url = process.env["ISTIOD_URL"];
  const options = { name: "given.istio.io", sideEffects: "None", admissionReviewVersions: ["v1"] } as const;
  if (url !== undefined) {
    webhook = { ...options, clientConfig: { url, caBundle: (await readFile(process.env["ISTIOD_CA_FILE"] ?? "")).toString("base64") } };
    return;
  }
  const istiod = stack.use(await startIstiod());
  webhook = { ...options, clientConfig: istiod.revisionConfiguration().webhooks?.[0]?.clientConfig ?? {} };
});

afterAll(async () => {
  caller.close();
  await stack.disposeAsync();
});

/** The image of the sidecar that a Deployment's new pod would get; `none` without one. */
async function imageFor(template: PodTemplateSpec): Promise<string> {
  const outcome = await caller.review(webhook, draftPod({ kind: "Deployment", namespace: "default", name: "web", uid: "u", template }));
  if (outcome.type !== "allowed") throw new Error(outcome.message);
  return sidecarOf(outcome.pod, { whole: false })?.image ?? "none";
}

const containers = [{ name: "app", image: "example.com/app:1" }];
const onHost = { containers, hostNetwork: true };
const wanted = { "sidecar.istio.io/inject": "true" };

test.each<readonly [string, PodTemplateSpec, RegExp]>([
  ["that asks for it", { metadata: { labels: wanted }, spec: { containers } }, /proxyv2/],
  ["that says no", { metadata: { labels: { "sidecar.istio.io/inject": "false" } }, spec: { containers } }, /^none$/],
  ["in the network of its node", { metadata: { labels: wanted }, spec: onHost }, /^none$/],
])("a pod %s", async (_what, template, image) => {
  expect(await imageFor(template)).toMatch(image);
});

test("the same pod is answered in the same way, by which another istiod is noticed", async () => {
  const injectors = { webhooks: [{ configuration: "istio-sidecar-injector", webhook }], digest: "", namespaceLabels: new Set<string>() };
  const first = await probeInjectors(injectors, caller);
  expect([...first.values()]).toEqual([expect.stringMatching(/^[0-9a-f]+$/)]);
  expect(await probeInjectors(injectors, caller)).toEqual(first);
  // An injector that nobody answers for, such as that of a revision that was taken away, does not hide the others.
  const gone = { ...webhook, clientConfig: { url: "https://127.0.0.1:1/inject" } };
  const both = { ...injectors, webhooks: [...injectors.webhooks, { configuration: "istio-sidecar-injector-gone", webhook: gone }] };
  expect(await probeInjectors(both, caller)).toEqual(first);
});
