import { createClient, type Kind, MutatingWebhookConfiguration, Namespace, Pod, seededRandom } from "@keyturn/runtime";
import { ProcessClock, SimulatedApiServer, SimulatedNetwork, VirtualClock } from "@keyturn/runtime/testing";
import { expect, test } from "vitest";
import { ManualCache } from "../../workloads/manual-cache.fixture.ts";
import { keepStatefulSet } from "../../workloads/workload.ts";
import type { Admission } from "../../workloads/admission.ts";
import type { Expectation } from "./injection/expectation.ts";
import { keepInjectorWebhooks } from "./injector-configuration.ts";
import { SidecarsInspector } from "./inspect.ts";

const [namespace, name] = ["default", "store"];
const id = `StatefulSet/${namespace}/${name}`;
const options = {
  compareHub: false,
  reasons: new Set(["ImageDiffers"] as const),
  whole: false,
  stabilizeMs: 0,
  periodMs: 0,
  probeMs: 0,
  skipNamespaces: [],
  istioNamespaces: [],
  optIn: false,
  selects: () => true,
};
const minute = 60_000;
const injected: Expectation = { type: "known", sidecar: { image: "proxyv2:2", revision: undefined, parts: undefined }, webhooks: [] };
const admitted = (image: string): Admission => {
  const pod = { metadata: {}, spec: { containers: [{ name: "istio-proxy", image }] } };
  return { type: "admitted", pod, draft: pod };
};

/** An inspector of one StatefulSet, whose pod has an old sidecar; webhooks would inject a new one, and the API server says what `admission` does. */
async function world(admission: () => Promise<Admission>, probe?: () => ReadonlyMap<string, string>) {
  const clock = new VirtualClock();
  const server = new SimulatedApiServer({ clock, random: seededRandom(1) });
  server.serve(Pod);
  const network = new SimulatedNetwork({ server, clock, random: seededRandom(2) });
  const client = createClient(network.connect({ name: "one", clock: new ProcessClock(clock) }), { clock, random: seededRandom(3) });
  const { signal } = new AbortController();
  const caches = new Map<string, ManualCache<unknown>>();
  const cacheOf = (kind: Kind): ManualCache<unknown> => {
    const cache = caches.get(kind.kind) ?? new ManualCache<unknown>(kind);
    caches.set(kind.kind, cache);
    return cache;
  };
  cacheOf(Namespace).put(namespace, {});
  const scope = {
    client,
    clock,
    signal,
    metrics: undefined,
    asker: "operator",
    isWanted: () => true,
    workloads: new Map(),
    installationKey: () => Promise.resolve(undefined),
  } as const;
  let asked = 0;
  const expectation = (): Promise<Expectation> => {
    asked++;
    return Promise.resolve(injected);
  };
  const given = { ...options, probeMs: probe ? minute : 0 };
  const asking = { expect: () => expectation, ...(probe && { probe: () => Promise.resolve(probe()) }) };
  const inspector = new SidecarsInspector({ ...scope, watch: cacheOf, ids: () => [id], due: () => {} }, given, asking);
  const metadata = { namespace, name, uid: "set", resourceVersion: "1" };
  const template = { metadata: { labels: { app: name } }, spec: { containers: [{ name: "app", image: "app:1" }] } };
  const workload = keepStatefulSet({ metadata, spec: { replicas: 1, serviceName: name, selector: { matchLabels: { app: name } }, template } });
  const owner = { apiVersion: "apps/v1", kind: "StatefulSet", name, uid: "set", controller: true };
  const containers = [{ name: "istio-proxy", image: "proxyv2:1" }];
  const made = client.create(Pod, {
    metadata: { namespace, name: "store-0", labels: { app: name }, ownerReferences: [owner] },
    spec: { containers },
  });
  await clock.advance(1000);
  await made;
  const lookAgain = async () => {
    const looked = inspector.lookAgain(workload, { client, signal, admission });
    await clock.advance(10_000);
    return looked;
  };
  /** Another webhook configuration, about which the webhooks have been asked anew by the time this resolves. */
  const change = async (path: string): Promise<void> => {
    const clientConfig = { service: { namespace: "istio-system", name: "istiod", path }, caBundle: "" };
    const webhook = { name: "w.istio.io", clientConfig, sideEffects: "None", admissionReviewVersions: ["v1"] } as const;
    const stored = { metadata: { name: "istio-sidecar-injector", uid: "u", resourceVersion: "1" }, webhooks: [webhook] };
    cacheOf(MutatingWebhookConfiguration).put("istio-sidecar-injector", keepInjectorWebhooks(stored));
    inspector.inspect(id, { ...workload, restarting: true });
    await inspector.answered();
  };
  const inspect = () => inspector.inspect(id, { ...workload, restarting: true });
  /** How often webhooks were asked by the time that so much has passed. */
  const askedAfter = async (ms: number): Promise<number> => {
    inspect();
    await clock.advance(ms);
    inspect();
    await clock.advance(10);
    return asked;
  };
  return { lookAgain, change, inspect, askedAfter };
}

test("on a last look the pod that the API server admits counts, whatever webhooks say, and is kept", async () => {
  const pinned = await world(() => Promise.resolve(admitted("proxyv2:1")));
  expect((await pinned.lookAgain())?.inspection).toEqual({ type: "current" });
  expect(pinned.inspect()?.inspection).toEqual({ type: "current" });
  const plain = await world(() => Promise.resolve(admitted("proxyv2:2")));
  expect((await plain.lookAgain())?.inspection).toMatchObject({ type: "outdated", reason: "ImageDiffers" });
});

test("one whose sidecar could not run is not to be restarted", async () => {
  const { lookAgain } = await world(() => Promise.resolve(admitted("auto")));
  expect((await lookAgain())?.inspection).toMatchObject({ type: "unknown", reason: "SidecarImageInvalid" });
});

test("if the configuration changes while the API server is asked, nothing is known", async () => {
  const { lookAgain, change } = await world(async () => {
    await change("/inject/other");
    return admitted("proxyv2:1");
  });
  expect((await lookAgain())?.inspection).toMatchObject({ type: "unknown", reason: "Pending" });
});

test("an injector that answers otherwise than at the first question is noticed, and one that no longer answers hides no other", async () => {
  let answers: Readonly<Record<string, string>> = { gone: "1", istiod: "1" };
  const { askedAfter } = await world(
    () => Promise.resolve(admitted("proxyv2:2")),
    () => new Map(Object.entries(answers)),
  );
  expect(await askedAfter(10)).toBe(1);
  // Changed before the first interval is over.
  answers = { istiod: "2" };
  expect(await askedAfter(minute)).toBe(2);
  // What answers again as it did was not changed.
  answers = { gone: "1", istiod: "2" };
  expect(await askedAfter(3 * minute)).toBe(2);
  answers = { gone: "1", istiod: "3" };
  expect(await askedAfter(minute)).toBe(3);
});
