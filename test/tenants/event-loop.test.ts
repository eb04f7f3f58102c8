// No object that a tenant can write holds the operator's event loop: with every controller on, each of the corpus costs a turn less than 50 ms of CPU time,
// and others are served meanwhile.
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { everything } from "@keyturn/runtime/testing";
import { soon, temporaryFolder, useCluster } from "@keyturn/runtime/testing/vitest";
import { isApiError, type Kind } from "@keyturn/runtime";
import { afterAll, beforeAll, expect, test } from "vitest";
import { servesOthers, tenantNamespace } from "./bank.ts";
import { type Poison, poisonedObjects, poisonedResources } from "./poisoned-objects.ts";
import { controllersOf, features } from "../../packages/keyturn/src/registry.ts";
import { type Actor, actor, rulesFor, Tenancy } from "./tenancy.ts";

const cluster = useCluster(everything);
const namespace = "poison";
const mostMs = 50;
/** One that holds the loop does so each time; what the collector of garbage takes falls now on this object and now on that. */
const looks = 3;

let tenancy: Tenancy;
let mallory: Actor;
beforeAll(async () => {
  tenancy = await Tenancy.start(cluster());
  mallory = await actor(cluster(), "mallory", await tenantNamespace(cluster(), namespace), "edit");
  // Of kinds of which no role of the chart gives anybody the right to write them.
  const more = rulesFor(
    ["operator.kyma-project.io", "kymas"],
    ["operator.kyma-project.io", "eventingauths"],
    ["networking.istio.io", "proxyconfigs"],
    ["argoproj.io", "rollouts"],
  );
  await actor(cluster(), "mallory", namespace, more);
  await soon(() => mallory.client.request({ method: "GET", path: `/apis/keyturn.io/v1alpha1/namespaces/${namespace}/jwksconfigs` }));
  await servesOthers(cluster());
});
afterAll(() => tenancy[Symbol.asyncDispose]());

function kindOf({ apiVersion, kind, resource }: Poison): Kind {
  const [version = "", group = ""] = apiVersion.split("/").toReversed();
  return { group, version, kind, plural: resource.split(".")[0] ?? "", namespaced: true };
}

/** The longest turn, in ms, from a write until all of it was read and dealt with. */
async function turnOf(write: () => Promise<unknown>, resource: string): Promise<number> {
  await tenancy.isIdle();
  const [turns, received] = [tenancy.turns().length, await tenancy.received(resource)];
  await write();
  await soon(async () => expect(await tenancy.received(resource)).toBeGreaterThan(received));
  await tenancy.isIdle();
  return Math.max(0, ...tenancy.turns().slice(turns));
}

test("every object of the corpus that the API server takes", { timeout: 1_800_000 }, async () => {
  const seed = Number(process.env["SEED"] ?? 27);
  const corpus = poisonedObjects({ seed, mutations: Number(process.env["POISONS"] ?? 60) });
  const taken = new Map<string, number>();
  const slow: string[] = [];
  for (const poison of corpus) {
    const kind = kindOf(poison);
    const metadata = { ...(poison.object["metadata"] as { readonly name: string }), namespace };
    const name = { namespace, name: metadata.name };
    const object = { ...poison.object, metadata };
    try {
      const times = [await turnOf(() => mallory.client.create(kind, object), poison.resource)];
      taken.set(poison.kind, (taken.get(poison.kind) ?? 0) + 1);
      while (Math.min(...times) > mostMs && times.length < looks) {
        times.push(
          await turnOf(() => mallory.client.mergePatch(kind, name, { metadata: { labels: { look: String(times.length) } } }), poison.resource),
        );
      }
      if (Math.min(...times) > mostMs) slow.push(`${poison.name}: ${times.join(", ")} ms`);
      await mallory.client.delete(kind, name);
    } catch (error) {
      // The API server is a reader too, and refuses what is not valid.
      if (!isApiError(error)) throw error;
    }
    expect(await tenancy.probe("healthz")).toBe(200);
  }
  await servesOthers(cluster());
  process.stderr.write(
    `taken: ${JSON.stringify(Object.fromEntries(taken))}; the longest turns: ${tenancy
      .turns()
      .toSorted((a, b) => b - a)
      .slice(0, 10)
      .join(", ")} ms\n`,
  );
  expect(slow).toEqual([]);
  expect([...taken.keys()].toSorted()).toEqual([...new Set(corpus.map(({ kind }) => kind))].toSorted());
  expect([...taken.values()].reduce((sum, each) => sum + each, 0)).toBeGreaterThan(corpus.length / 2);
});

test("the corpus has every kind that is watched, but for those that only the cluster's administrator may write", () => {
  const flags = { "sidecars.argo-rollouts": "true", "jwks.serving": "true" };
  const watched = controllersOf(features, flags, {}).flatMap(({ access }) => access.filter(({ verbs }) => verbs.includes("watch")));
  const named = watched.map(({ kind: { plural, group } }) => (group === "" ? plural : `${plural}.${group}`));
  const administrators = ["namespaces", "mutatingwebhookconfigurations.admissionregistration.k8s.io"];
  expect([...poisonedResources, ...administrators].toSorted()).toEqual([...new Set(named)].toSorted());
});

test("a turn that takes long is noticed, however busy the machine is", async () => {
  const file = join(await temporaryFolder(), "turns");
  await writeFile(file, "");
  const probe = fileURLToPath(new URL("turn-probe.ts", import.meta.url));
  const cpuMs = "(({ user, system }) => (user + system) / 1000)(process.threadCpuUsage())";
  const held = `setTimeout(() => { const end = ${cpuMs} + 80; while (${cpuMs} < end); }, 50); setTimeout(() => {}, 200);`;
  await promisify(execFile)(process.execPath, [`--import=${probe}`, "--eval", held], { env: { TURNS_FILE: file } });
  expect(Math.max(...(await readFile(file, "utf8")).split("\n").map(Number))).toBeGreaterThan(mostMs);
});
