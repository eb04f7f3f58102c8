// The chart on a real node: pods under the restricted level that become Ready, lead, hand over and come back, with its defaults and with each variant.
import { ConfigMap, Secret } from "@keyturn/runtime";
import { soon } from "@keyturn/runtime/testing/vitest";
import { beforeAll, describe, expect, it } from "vitest";
import * as z from "zod";
import { examplesFolder, readManifests } from "../../packages/keyturn/src/dev/stories.ts";
import { helm, install, installFrom, release } from "../install/installed-chart.ts";
import { keyturnImage, previous, previousFile } from "./images.ts";
import {
  condition,
  evaluateIn,
  fetchService,
  fetchWithin,
  isReady,
  leasesOf,
  operatorPods,
  podsOf,
  processesOf,
  read,
  restrictedNamespace,
  usePods,
  watchLeadership,
} from "./pods.ts";

const cluster = usePods();
const wait = ["--wait", "--timeout=5m"] as const;

/** Who holds the Lease of a controller. */
async function leader(controller: string): Promise<string> {
  const lease = (await leasesOf(cluster())).find(({ metadata }) => metadata.name === `keyturn-${controller}`);
  return lease?.spec.holderIdentity.split("_")[0] ?? "";
}

/** Both pods are Ready, and no third is left. */
async function bothReady(): Promise<void> {
  await soon(async () => expect((await operatorPods(cluster())).map(isReady)).toEqual([true, true]));
}

describe("with its defaults", () => {
  beforeAll(() => install(cluster(), {}, ...wait));

  it("two pods become Ready, as a user without any right, on a root file system that nobody writes to", async () => {
    const pods = await operatorPods(cluster());
    expect(pods.map(isReady)).toEqual([true, true]);
    const code = `const fs = require("node:fs");
      const attempt = (path) => { try { fs.writeFileSync(path, ""); return "written"; } catch ({ code }) { return code; } };
      console.log(JSON.stringify([process.getuid(), attempt("/app/x"), attempt("/tmp/x"), /CapEff:\\s*(\\S+)/.exec(fs.readFileSync("/proc/1/status", "utf8"))[1]]));`;
    expect(JSON.parse(await evaluateIn(cluster(), pods[0]?.metadata ?? {}, code))).toEqual([65532, "EROFS", "EROFS", "0000000000000000"]);
  });

  it("each controller has its Lease, held by one of the two", async () => {
    const names = (await operatorPods(cluster())).map(({ metadata }) => metadata.name);
    await soon(async () => {
      const leases = await leasesOf(cluster());
      expect(leases.map(({ metadata }) => metadata.name)).toEqual(
        ["checksum", "checksum-ingress", "jwks", "jwks-rieset", "rotation"].map((name) => `keyturn-${name}`),
      );
      for (const { spec } of leases) expect(names).toContain(spec.holderIdentity.split("_")[0]);
    });
  });

  it("probes answer, and metrics on every pod that their Service leads to", async () => {
    const slices = z.object({ items: z.array(z.object({ endpoints: z.array(z.object({ addresses: z.tuple([z.string()]) })) })) }).parse(
      await cluster().client.request({
        method: "GET",
        path: `/apis/discovery.k8s.io/v1/namespaces/${release.namespace}/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3Dkeyturn-metrics`,
      }),
    );
    const addresses = slices.items.flatMap(({ endpoints }) => endpoints.flatMap((endpoint) => endpoint.addresses));
    expect(addresses).toHaveLength(2);
    await cluster().kubectl("create", "serviceaccount", "scraper", `--namespace=${release.namespace}`);
    const whom = ["--clusterrole=keyturn-metrics-reader", `--serviceaccount=${release.namespace}:scraper`];
    await cluster().kubectl("create", "clusterrolebinding", "scraper", ...whom);
    const token = await cluster().tokenFor({ namespace: release.namespace, name: "scraper" });
    const [pod] = await operatorPods(cluster());
    const scrape = (address: string, bearer?: string): Promise<string> =>
      evaluateIn(
        cluster(),
        pod?.metadata ?? {},
        `require("node:https").get("https://${address}:8443/metrics", ${JSON.stringify({
          agent: false,
          rejectUnauthorized: false,
          ...(bearer && { headers: { authorization: `Bearer ${bearer}` } }),
        })}, (answer) => { console.log(answer.statusCode); answer.pipe(process.stdout); })`,
      );
    for (const address of addresses) {
      for (const path of ["/healthz", "/readyz"]) expect((await fetchWithin(cluster(), `${address}:8081`, path)).status).toBe(200);
      expect(await scrape(address)).toContain("401");
      // The API server hears of the binding by itself.
      await soon(async () => expect(await scrape(address, token)).toMatch(/^keyturn_\w+/m));
    }
  });

  it("a pod that is deleted gives its Leases back, and the other has them at once", async () => {
    const gone = await leader("rotation");
    const leadership = await watchLeadership(cluster());
    await cluster().kubectl("delete", "pod", gone, `--namespace=${release.namespace}`);
    await soon(async () => expect(await leader("rotation")).not.toBe(gone));
    await bothReady();
    expect((await leadership.end()).get("keyturn-rotation")).toMatchObject({ count: 1, withoutFarewell: 0 });
  });

  it("a rolling update hands every Lease over: none has to run out", async () => {
    const before = new Set((await operatorPods(cluster())).map(({ metadata }) => metadata.name));
    const leadership = await watchLeadership(cluster());
    await install(cluster(), { podAnnotations: { rolled: "once" } }, ...wait);
    const names = (await operatorPods(cluster())).map(({ metadata }) => metadata.name);
    await soon(async () => {
      for (const { spec } of await leasesOf(cluster())) expect(names).toContain(spec.holderIdentity.split("_")[0]);
    });
    const seen = await leadership.end();
    expect(names.filter((name) => before.has(name))).toEqual([]);
    expect(seen.size).toBe(5);
    expect([...seen.values()].filter(({ count, withoutFarewell }) => count === 0 || withoutFarewell > 0)).toEqual([]);
  });

  it("a leader that is killed with SIGKILL is started again, and its Leases are held and renewed again", async () => {
    const killed = await leader("rotation");
    const pod = (await operatorPods(cluster())).find(({ metadata }) => metadata.name === killed);
    for (const pid of processesOf(pod?.metadata.uid ?? "")) process.kill(pid, "SIGKILL");
    const killedMs = Date.now();
    await soon(async () => {
      const [status] = (await operatorPods(cluster())).find(({ metadata }) => metadata.name === killed)?.status?.containerStatuses ?? [];
      expect(status).toMatchObject({ restartCount: 1, ready: true });
    });
    const names = (await operatorPods(cluster())).map(({ metadata }) => metadata.name);
    await soon(async () => {
      const lease = (await leasesOf(cluster())).find(({ metadata }) => metadata.name === "keyturn-rotation");
      expect(Date.parse(lease?.spec.renewTime ?? "")).toBeGreaterThan(killedMs);
      expect(names).toContain(lease?.spec.holderIdentity.split("_")[0]);
    });
  });

  it("an update that has too little memory is OOMKilled, and the pods of before go on leading", async () => {
    const before = (await operatorPods(cluster())).map(({ metadata }) => metadata.name);
    await install(cluster(), { resources: { requests: { memory: "16Mi" }, limits: { memory: "32Mi" } } });
    await soon(async () => {
      const states = (await operatorPods(cluster())).flatMap(({ status }) => status?.containerStatuses ?? []);
      expect(JSON.stringify(states)).toContain("OOMKilled");
    });
    const pods = await operatorPods(cluster());
    expect(
      pods
        .filter((pod) => isReady(pod))
        .map(({ metadata }) => metadata.name)
        .sort(),
    ).toEqual(before.toSorted());
    expect(before).toContain(await leader("rotation"));
    await helm(cluster(), "rollback", release.name, ...wait);
    await bothReady();
  });

  it("a node that is drained loses one of the two: the budget keeps the other until there is a third", async () => {
    const drained = cluster().kubectl("drain", "node-0", "--pod-selector=app.kubernetes.io/component=operator", "--timeout=5s");
    await expect(drained).rejects.toThrow(/disruption budget/);
    const ready = (await operatorPods(cluster())).filter(isReady);
    expect(ready).toHaveLength(1);
    await soon(async () => expect(await leader("rotation")).toBe(ready[0]?.metadata.name));
    await cluster().kubectl("uncordon", "node-0");
    await bothReady();
  });
});

describe("with the page", () => {
  it("serves it through its Service, and shows nobody anything without a token", async () => {
    await install(cluster(), { dashboard: { enabled: true } }, ...wait);
    const service = { ...release, name: "keyturn-dashboard" };
    // The node's kube-proxy hears of new pods by itself.
    const page = await soon(() => fetchService(cluster(), service, "/"));
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining("<script")]);
    expect((await fetchService(cluster(), service, "/api/stream")).status).toBe(401);
    // Other pods reach it, so the log does not call it this pod's own.
    const [pod] = await operatorPods(cluster());
    expect(await cluster().kubectl("logs", `--namespace=${release.namespace}`, pod?.metadata.name ?? "")).toMatch(
      /"bindAddress":":8082".*the dashboard is served/,
    );
  });
});

describe("in one namespace", () => {
  it("is Ready with rights there and nowhere else", async () => {
    const namespace = await restrictedNamespace(cluster(), "team");
    await install(cluster(), { namespaces: [namespace], metrics: { secure: false } }, ...wait);
    await bothReady();
    const mayRead = (where: string): Promise<string> =>
      cluster()
        .kubectl("auth", "can-i", "list", "secrets", `--namespace=${where}`, `--as=system:serviceaccount:${release.namespace}:keyturn`)
        .then(
          (answer) => answer.trim(),
          () => "no",
        );
    expect([await mayRead(namespace), await mayRead("default")]).toEqual(["yes", "no"]);
  });
});

describe("split", () => {
  it("each controller has a pod, a ServiceAccount and a Lease of its own", async () => {
    await install(cluster(), { split: true, replicaCount: 1 }, ...wait);
    await soon(async () => expect((await operatorPods(cluster())).map(isReady)).toEqual([true, true, true]));
    const pods = await operatorPods(cluster());
    const accountOf = new Map(pods.map(({ metadata, spec }) => [metadata.name, spec?.serviceAccountName]));
    const holders = async () =>
      Object.fromEntries(
        (await leasesOf(cluster())).map(({ metadata, spec }) => [metadata.name, accountOf.get(spec.holderIdentity.split("_")[0] ?? "")]),
      );
    await soon(async () =>
      expect(await holders()).toEqual({
        "keyturn-rotation": "keyturn-rotation",
        "keyturn-jwks": "keyturn-jwks",
        "keyturn-jwks-rieset": "keyturn-jwks",
        "keyturn-checksum": "keyturn-checksum",
        "keyturn-checksum-ingress": "keyturn-checksum",
      }),
    );
  });
});

describe("uninstalled", () => {
  it("leaves no pod", async () => {
    await helm(cluster(), "uninstall", release.name, "--wait");
    await soon(async () => expect(await podsOf(cluster(), release.namespace, "")).toEqual([]));
    await expect(read(cluster(), `/apis/apps/v1/namespaces/${release.namespace}/deployments/keyturn`)).rejects.toThrow(/not found|NotFound/i);
  });
});

describe(`from ${previous.version} and back`, () => {
  const namespace = "keyturn-examples";
  const targets = ["signing-key-live", "signing-key-fallback"] as const;

  /** What was rotated and published, and which object holds it. */
  async function made(): Promise<object> {
    const secrets = await Promise.all(targets.map((name) => cluster().client.get(Secret, { namespace, name })));
    const document = await cluster().client.get(ConfigMap, { namespace, name: "rotated-tokens-jwks" });
    return [...secrets.map((secret) => ({ uid: secret?.metadata.uid, data: secret?.data })), { uid: document?.metadata.uid, data: document?.data }];
  }

  async function everyLeaseIsHeld(): Promise<void> {
    await soon(async () => {
      const names = (await operatorPods(cluster())).filter(isReady).map(({ metadata }) => metadata.name);
      for (const { spec } of await leasesOf(cluster())) expect(names).toContain(spec.holderIdentity.split("_")[0]);
    });
  }

  async function everythingIsReady(): Promise<void> {
    for (const name of targets)
      await condition(cluster(), `/apis/rotator.k8s.telekom.com/v1/namespaces/${namespace}/rotationtargets/${name}`, "Ready");
    await condition(cluster(), `/apis/keyturn.io/v1alpha1/namespaces/${namespace}/jwksconfigs/rotated-tokens`, "Ready");
  }

  async function bothRun(image: string): Promise<void> {
    await bothReady();
    const images = (await operatorPods(cluster())).flatMap(({ spec }) => spec?.containers.map((container) => container.image));
    expect(images).toEqual([image, image]);
  }

  it("keeps every Secret and document, with the pods of either release", async () => {
    await installFrom(cluster(), previousFile("chart.tgz"), { image: { tag: previous.tag } }, ...wait);
    await bothRun(previous.image);
    for (const manifest of await readManifests(examplesFolder))
      if (/namespace: keyturn-examples\n|name: keyturn-examples\n/.test(manifest)) await cluster().apply(manifest);
    await everythingIsReady();
    const before = await made();
    await install(cluster(), {}, ...wait);
    await bothRun(keyturnImage);
    await everyLeaseIsHeld();
    await everythingIsReady();
    expect(await made()).toEqual(before);
    await helm(cluster(), "rollback", release.name, ...wait);
    await bothRun(previous.image);
    await everyLeaseIsHeld();
    await everythingIsReady();
    expect(await made()).toEqual(before);
  });
});
