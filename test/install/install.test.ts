// The proof of an installation: the chart with everything switched on, and the bundle, started as the chart's Deployments start it, doing each step once.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { everything, freePort } from "@keyturn/runtime/testing";
import { soon, useCluster } from "@keyturn/runtime/testing/vitest";
import { afterAll, beforeAll, expect, it } from "vitest";
import * as z from "zod";
import { readManifests } from "../../packages/keyturn/src/dev/stories.ts";
import { type Istiod, startIstiod } from "../../packages/keyturn/src/dev/stand-ins/istiod.ts";
import { issueStory } from "../../packages/keyturn/src/dev/stories.ts";
import type { KeyturnProcess } from "../support/keyturn-process.ts";
import { program } from "../support/program.ts";
import { helm, install, readContainer, release, startContainer } from "./installed-chart.ts";

const cluster = useCluster(everything);
const examples = fileURLToPath(new URL("../../examples", import.meta.url));
const gateway = "keyturn-examples-verify";
const runtime = "0b5e3c2a-7a2f-4d6e-9b1c-3f8d2e4a6c10";

const stack = new AsyncDisposableStack();
const running: KeyturnProcess[] = [];
let istiod: Istiod;
let operator: KeyturnProcess;
let agent: KeyturnProcess;
let folder: string;
let healthPort: number;
let pagePort: number;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "keyturn-install-"));
  // An identity provider and a service mesh, which the chart does not bring.
  await issueStory(cluster(), stack);
  istiod = stack.use(await startIstiod());
  await cluster().apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: istiod.settings.namespace } });
  await cluster().apply([istiod.configMap(), istiod.revisionConfiguration()]);
  healthPort = await freePort();
  pagePort = await freePort();
  const values = {
    controllers: {
      eventingAuth: { enabled: true, allowHttp: true },
      rotation: { enabled: true },
      jwks: { enabled: true, serving: true, reconcileInterval: "1s", configmapInterval: "1s" },
      checksum: { enabled: true },
      sidecars: { enabled: true, istiodConfigReadDelay: "2s" },
    },
    health: { port: healthPort },
    metrics: { port: await freePort() },
    dashboard: { enabled: true, port: pagePort },
    agent: { enabled: true, namespace: gateway, mountPath: folder, port: await freePort(), identity: "proof" },
  };
  const manifests = await readManifests(examples);
  await cluster().apply(manifests.filter((text) => /^kind: (Namespace|CustomResourceDefinition)$/m.test(text)).join("\n---\n"));
  await install(cluster(), values);
  operator = await startContainer(cluster(), { ...release, container: "keyturn" });
  agent = await startContainer(cluster(), { namespace: gateway, name: `${release.name}-agent`, container: "agent" });
  running.push(operator, agent);
  for (const manifest of manifests) await cluster().apply(manifest);
});

afterAll(async () => {
  for (const each of running) each.kill("SIGKILL");
  await Promise.all(running.map(({ exit }) => exit));
  await stack.disposeAsync();
  await rm(folder, { recursive: true, force: true });
});

const objectSchema = z.looseObject({
  metadata: z.looseObject({ name: z.string(), uid: z.string(), annotations: z.record(z.string(), z.string()).default({}) }),
  spec: z.looseObject({}).optional(),
  status: z.looseObject({ conditions: z.array(z.looseObject({ type: z.string(), status: z.string() })).default([]) }).default({ conditions: [] }),
  data: z.record(z.string(), z.string()).default({}),
});

async function read(path: string): Promise<z.infer<typeof objectSchema>> {
  return objectSchema.parse(await cluster().client.request({ method: "GET", path }));
}

async function list(path: string): Promise<readonly z.infer<typeof objectSchema>[]> {
  return z.object({ items: z.array(objectSchema) }).parse(await cluster().client.request({ method: "GET", path })).items;
}

/** Resolves when a condition of the object is True. */
async function isTrue(path: string, type: string): Promise<void> {
  await soon(async () => expect((await read(path)).status.conditions).toContainEqual(expect.objectContaining({ type, status: "True" })));
}

it("starts the bundle, as the chart's ServiceAccount, with all five controllers", async () => {
  expect(program.at(-1)).toMatch(/dist\/keyturn\.mjs$/);
  const { args, serviceAccount } = await readContainer(cluster(), { ...release, container: "keyturn" });
  expect(args[0]).toBe("run");
  expect(serviceAccount).toEqual(release);
  await soon(async () => expect((await fetch(`http://127.0.0.1:${healthPort}/readyz`)).status).toBe(200));
  // A Lease per controller; some features have two.
  const leases = (): Promise<readonly unknown[]> => list(`/apis/coordination.k8s.io/v1/namespaces/${release.namespace}/leases`);
  await soon(async () => expect((await leases()).length).toBeGreaterThanOrEqual(5));
});

it("issues: a runtime gets an application at the identity provider, and its credentials", async () => {
  await isTrue(`/apis/operator.kyma-project.io/v1alpha1/namespaces/kcp-system/eventingauths/${runtime}`, "Ready");
  const { data } = await read("/api/v1/namespaces/kyma-system/secrets/eventing-webhook-auth");
  expect(Object.keys(data).length).toBeGreaterThan(0);
});

it("rotates: the target holds what the source held", async () => {
  const target = "/apis/rotator.k8s.telekom.com/v1/namespaces/keyturn-examples/rotationtargets/signing-key-live";
  await isTrue(target, "Ready");
  const source = await read("/api/v1/namespaces/keyturn-examples/secrets/signing-key");
  await soon(async () => {
    const { data } = await read("/api/v1/namespaces/keyturn-examples/secrets/signing-key-live");
    expect(data["tls.crt"]).toBe(source.data["tls.crt"]);
  });
});

it("publishes: the public keys are in a ConfigMap", async () => {
  const base = "/apis/keyturn.io/v1alpha1/namespaces/keyturn-examples/jwksconfigs";
  const names = (await list(base)).map(({ metadata }) => metadata.name);
  expect(names.length).toBeGreaterThan(0);
  for (const name of names) await isTrue(`${base}/${name}`, "Ready");
  const documentSchema = z.object({ keys: z.array(z.looseObject({ kid: z.string() })) });
  await soon(async () => {
    const { data } = await read("/api/v1/namespaces/keyturn-examples/configmaps/tokens-jwks");
    expect(documentSchema.parse(JSON.parse(data["jwks.json"] ?? "{}")).keys).toHaveLength(2);
  });
});

it("verifies: a checksum of the namespace, and an agent that serves what it covers", async () => {
  await soon(async () => {
    const checksums = await list(`/apis/tengine.taobao.org/v1/namespaces/${gateway}/secretchecksums`);
    expect(checksums.flatMap(({ status }) => status.conditions)).toContainEqual(expect.objectContaining({ type: "Current", status: "True" }));
  });
  const secret = await read(`/api/v1/namespaces/${gateway}/secrets/shop-example-com-27555`);
  const served = join(folder, "agent/current/shop-example-com-27555/tls.crt");
  await soon(async () => expect((await readFile(served)).toString("base64")).toBe(secret.data["tls.crt"]));
});

it("rolls out: a workload with an outdated sidecar is restarted", async () => {
  const web = "/apis/apps/v1/namespaces/keyturn-examples-mesh/deployments/web";
  const isRolledOut = async (): Promise<void> =>
    expect((await read(web)).status).toMatchObject({ updatedReplicas: 2, readyReplicas: 2, replicas: 2 });
  await soon(isRolledOut);
  expect(JSON.stringify((await read(web)).spec)).not.toContain("fortsa.scaffidi.net/restartedAt");
  istiod.configure({ tag: "1.27.1" });
  await cluster().apply(istiod.configMap());
  await soon(async () => expect(JSON.stringify((await read(web)).spec)).toContain("fortsa.scaffidi.net/restartedAt"));
  await soon(isRolledOut);
  await soon(async () => {
    const pods = await list("/api/v1/namespaces/keyturn-examples-mesh/pods?labelSelector=app%3Dweb");
    expect(pods.map(({ spec }) => JSON.stringify(spec).includes("proxyv2:1.27.1"))).toEqual([true, true]);
  });
});

it("serves the web page that is in the bundle, and shows nobody anything without a token", async () => {
  const url = `http://127.0.0.1:${pagePort}/`;
  const page = await (await fetch(url)).text();
  const script = /src="([^"]+\.js)"/.exec(page)?.[1] ?? "";
  const answer = await fetch(new URL(script, url));
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, expect.stringContaining("javascript")]);
  expect((await fetch(new URL("api/stream", url))).status).toBe(401);
});

it("was refused nothing", () => {
  expect(operator.output.out + agent.output.out).not.toMatch(/forbidden/i);
});

it("stops when asked, both with exit code 0", async () => {
  for (const each of [operator, agent]) each.kill("SIGTERM");
  expect(await Promise.all([operator.exit, agent.exit])).toEqual([0, 0]);
  expect(operator.output.err + agent.output.err).toBe("");
});

it("leaves the CRDs and all objects of their kinds when it is uninstalled", async () => {
  const before = await read(`/apis/operator.kyma-project.io/v1alpha1/namespaces/kcp-system/eventingauths/${runtime}`);
  await helm(cluster(), "uninstall", release.name);
  await soon(async () => expect(await list(`/apis/apps/v1/namespaces/${release.namespace}/deployments`)).toEqual([]));
  const after = await read(`/apis/operator.kyma-project.io/v1alpha1/namespaces/kcp-system/eventingauths/${runtime}`);
  expect(after).toEqual(before);
});
