// A dry run of the examples, with every controller: it says what it would do, does nothing, and claims nothing.
import { isDeepStrictEqual } from "node:util";
import { Deployment, Event, Secret } from "@keyturn/runtime";
import { everything, type RunningOperator, startOperator } from "@keyturn/runtime/testing";
import { soon, useCluster } from "@keyturn/runtime/testing/vitest";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as z from "zod";
import { renderCrds } from "../../packages/keyturn/src/cli/manifests.ts";
import { EventingAuth } from "../../packages/keyturn/src/controllers/eventing-auth/api.ts";
import { JWKSConfig } from "../../packages/keyturn/src/controllers/jwks/api.ts";
import { controllersOf, features } from "../../packages/keyturn/src/registry.ts";
import { RotationTarget } from "../../packages/keyturn/src/controllers/rotation/api.ts";
import { restartedAtAnnotation, rolloutLabel } from "../../packages/keyturn/src/workloads/annotations.ts";
import { examplesFolder, readManifests } from "../../packages/keyturn/src/dev/stories.ts";
import { type Istiod, startIstiod } from "../../packages/keyturn/src/dev/stand-ins/istiod.ts";
import { issueStory } from "../../packages/keyturn/src/dev/stories.ts";
import { keyturn } from "../../packages/keyturn/src/feature/feature.ts";

// A cluster of its own: whatever changes in it is the operator's doing.
const cluster = useCluster(everything);
const stack = new AsyncDisposableStack();
const examples = "keyturn-examples";
const mesh = "keyturn-examples-mesh";
const verified = "keyturn-examples-verify";
const runtime = { namespace: "kcp-system", name: "0b5e3c2a-7a2f-4d6e-9b1c-3f8d2e4a6c10" };
let istiod: Istiod;
let flags: Readonly<Record<string, string>>;

beforeAll(async () => {
  const { flags: issueFlags } = await issueStory(cluster(), stack);
  flags = {
    ...issueFlags,
    "jwks.serving": "true",
    "jwks.configmap-interval": "1s",
    "jwks.reconcile-interval": "1s",
    "sidecars.istiod-config-read-delay": "0",
    "sidecars.annotation-cooldown": "0",
  };
  istiod = stack.use(await startIstiod());
  await cluster().apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: istiod.settings.namespace } });
  await cluster().apply([istiod.configMap(), istiod.revisionConfiguration()]);
  await cluster().apply(renderCrds(features));
  for (const manifest of await readManifests(examplesFolder)) await cluster().apply(manifest);
  await putKyma("without-auth");
  await rolledOut();
  await upgradeMesh("1.28.0");
});

afterAll(() => stack.disposeAsync());

async function putKyma(name: string): Promise<void> {
  const kyma = { apiVersion: "operator.kyma-project.io/v1beta2", kind: "Kyma", metadata: { ...runtime, name }, spec: { channel: "regular" } };
  await cluster().apply([kyma]);
}

async function upgradeMesh(tag: string): Promise<void> {
  istiod.configure({ tag });
  await cluster().apply(istiod.configMap());
}

async function rolledOut(): Promise<void> {
  for (const name of ["deployment/web", "deployment/by-hand", "statefulset/store"]) {
    await soon(() => cluster().kubectl("-n", mesh, "rollout", "status", name, "--timeout=10s"));
  }
}

async function start(dryRun: boolean): Promise<RunningOperator> {
  const controllers = controllersOf(features, flags, {});
  return startOperator({ operator: keyturn, kubeconfig: cluster().adminKubeconfig, controllers, leaderElection: { namespace: "default" }, dryRun });
}

const listSchema = z.object({
  items: z.array(
    z.object({ kind: z.string(), metadata: z.object({ namespace: z.string().optional(), name: z.string(), resourceVersion: z.string() }) }),
  ),
});

/** Every object of the cluster with its version, but for those that nodes and servers keep renewing, and for the Events of others. */
async function versions(): Promise<readonly string[]> {
  const resources = (await cluster().kubectl("api-resources", "--verbs=list", "-o", "name")).trim().split("\n");
  const restless = new Set(["nodes", "leases.coordination.k8s.io", "events", "events.events.k8s.io", "componentstatuses"]);
  const text = await cluster().kubectl("get", resources.filter((name) => !restless.has(name)).join(","), "-A", "-o", "json");
  const { items } = listSchema.parse(JSON.parse(text));
  const events = (await cluster().client.list(Event)).items.filter(({ reportingController }) => reportingController.includes(keyturn.domain));
  const ours = events.map(({ metadata, note }) => ({ kind: `Event ${note}`, metadata }));
  return [...items, ...ours]
    .map(({ kind, metadata: { namespace, name, resourceVersion } }) => `${kind} ${namespace}/${name} ${resourceVersion}`)
    .toSorted();
}

/** The versions once all is rolled out and they rest: controllers may take their time between two writes. */
async function restingVersions(): Promise<readonly string[]> {
  await rolledOut();
  let last: readonly string[] = [];
  let times = 0;
  return soon(async () => {
    const now = await versions();
    times = isDeepStrictEqual(now, last) ? times + 1 : 0;
    last = now;
    expect(times).toBeGreaterThan(2);
    return now;
  });
}

/** What a dry run logs as withheld. */
function withheld({ logLines }: RunningOperator): readonly string[] {
  return logLines.flatMap(({ msg, verb, resource, key, workload }) => {
    if (msg === "dry run: this write is withheld") return [`${String(verb)} ${String(resource)} ${String(key)}`];
    return /^would have .*; withheld by dry run$/.test(String(msg)) ? [`${String(msg)} ${String(workload ?? key)}`] : [];
  });
}

/** Counters of what was done. */
const done =
  /^keyturn_(sidecars_restarts_total|rotation_(steps|repairs)_total|checksum_published_total|eventing_auth_(issued|abandoned)_total)\b.* [1-9]/m;

async function claimsNothing(operator: RunningOperator, before: readonly string[]): Promise<void> {
  expect(await versions()).toEqual(before);
  expect(await operator.metrics()).not.toMatch(done);
  const messages = operator.logLines.map(({ msg }) => String(msg));
  expect(messages.filter((message) => /^(restarted|finished|published|created|made|deleted|cleaned)|failed/.test(message))).toEqual([]);
}

describe("where nothing has been done yet", () => {
  let operator: RunningOperator;
  let before: readonly string[];
  beforeAll(async () => {
    before = await restingVersions();
    operator = await start(true);
  });
  afterAll(() => operator.stop());

  it.each([
    ["sidecars", `would have restarted a workload; withheld by dry run Deployment/${mesh}/web`],
    // The key that signs waits until it is published, which a dry run does not do.
    ["rotation", `would have done writeTarget for signing-key-fallback; withheld by dry run ${examples}/signing-key`],
    ["jwks", `apply configmaps ${examples}/tokens-jwks`],
    ["checksum", `would have published a checksum; withheld by dry run ${verified}`],
    ["eventing-auth", `would have done create; withheld by dry run ${runtime.namespace}/${runtime.name}`],
    ["kyma", `would have created an EventingAuth for a Kyma; withheld by dry run ${runtime.namespace}/without-auth`],
  ])("%s says what it would do, does nothing and claims nothing", async (_controller, line) => {
    await soon(() => expect(withheld(operator)).toContain(line));
    await claimsNothing(operator, before);
  });

  it("no key is published as far as metrics tell", async () => {
    expect(await operator.metrics()).not.toMatch(/^keyturn_jwks_keys\{.* [1-9]/m);
  });
});

describe("where all was done, and then something changed", () => {
  let operator: RunningOperator;
  let before: readonly string[];
  beforeAll(async () => {
    const { client } = cluster();
    const real = await start(false);
    await soon(async () => expect(await isAllDone()).toBe(true));
    await real.stop();
    await upgradeMesh("1.29.0");
    await client.mergePatch(Deployment, { namespace: mesh, name: "by-hand" }, { metadata: { labels: { [rolloutLabel]: "rolling" } } });
    await client.delete(Secret, { namespace: examples, name: "signing-key-fallback" });
    await client.delete(JWKSConfig, { namespace: examples, name: "tokens" });
    await client.delete(Secret, { namespace: verified, name: "travel-example-com-27556" });
    await client.delete(EventingAuth, runtime);
    await client.mergePatch(Secret, { namespace: examples, name: "signing-key-live" }, { data: { "tls.key": "" } });
    before = await restingVersions();
    operator = await start(true);
  });
  afterAll(() => operator.stop());

  it.each([
    ["sidecars", `would have finished a rollout; withheld by dry run Deployment/${mesh}/by-hand`],
    ["rotation", `would have done writeTarget for signing-key-fallback; withheld by dry run ${examples}/signing-key`],
    ["jwks", `would have cleaned up after a deleted object; withheld by dry run ${examples}/tokens`],
    ["checksum", `would have published a checksum; withheld by dry run ${verified}`],
    ["eventing-auth", `would have done deleteApplication; withheld by dry run ${runtime.namespace}/${runtime.name}`],
  ])("%s says what it would do, does nothing and claims nothing", async (_controller, line) => {
    await soon(() => expect(withheld(operator)).toContain(line));
    await claimsNothing(operator, before);
  });

  it("what was withheld is withheld again at the next look", async () => {
    const times = (): number => withheld(operator).filter((line) => line.startsWith("would have done writeTarget for signing-key-live")).length;
    await soon(() => expect(times()).toBeGreaterThan(0));
    const seen = times();
    await cluster().client.mergePatch(RotationTarget, { namespace: examples, name: "signing-key-live" }, { metadata: { labels: { look: "again" } } });
    await soon(() => expect(times()).toBeGreaterThan(seen));
  });
});

/** True once every controller has done what there is to do. */
async function isAllDone(): Promise<boolean> {
  const { client } = cluster();
  const auth = await client.get(EventingAuth, runtime);
  const config = await client.get(JWKSConfig, { namespace: examples, name: "tokens" });
  const web = await client.get(Deployment, { namespace: mesh, name: "web" });
  const targets = ["signing-key-live", "signing-key-fallback"].map((name) => client.get(Secret, { namespace: examples, name }));
  const isRotated = (await Promise.all(targets)).every((target) => target !== undefined);
  const isPublished = config?.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
  const isRestarted =
    web?.spec?.template.metadata?.annotations?.[restartedAtAnnotation] !== undefined && web.metadata.labels?.[rolloutLabel] === undefined;
  return auth?.status?.state === "Ready" && isPublished && isRestarted && isRotated;
}
