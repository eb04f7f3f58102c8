// The chart's NetworkPolicies, enforced on real pods: what is let in and out works, and the rest is refused.
import { soon } from "@keyturn/runtime/testing/vitest";
import { beforeAll, describe, expect, it } from "vitest";
import { install, release } from "../install/installed-chart.ts";
import { keyturnImage } from "./images.ts";
import { enforcePolicies } from "./network-policies.ts";
import { condition, evaluateIn, isReady, leasesOf, operatorPods, restricted, restrictedNamespace, usePods } from "./pods.ts";

const cluster = usePods();
const wait = ["--wait", "--timeout=5m"] as const;
const ports = { metrics: 8443, health: 8081, page: 8082 };
let monitoring: string;
let tenant: string;

/** A pod that others can ask, and that can be told to ask. */
async function startClient(namespace: string): Promise<void> {
  const serve = `require("node:http").createServer((_, answer) => answer.end("here")).listen(9000)`;
  const container = { name: "client", image: keyturnImage, command: ["/nodejs/bin/node", "-e", serve], securityContext: restricted.container };
  const spec = { securityContext: restricted.pod, containers: [container] };
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { namespace, name: "client" }, spec };
  await cluster().apply(pod);
  await condition(cluster(), `/api/v1/namespaces/${namespace}/pods/client`, "Ready");
}

/** What a pod gets when it asks there: a status, or that nothing answers. */
function asks(pod: { readonly namespace?: string; readonly name?: string }, address: string, port: number): Promise<string> {
  const scheme = port === ports.metrics ? "https" : "http";
  const options = "{ agent: false, rejectUnauthorized: false, signal: AbortSignal.timeout(10_000) }";
  const code = `require("node:${scheme}").get("${scheme}://${address}:${port}/", ${options}, (answer) => {
    process.stdout.write(String(answer.statusCode));
    answer.resume();
  }).on("error", () => process.stdout.write("nothing"))`;
  return evaluateIn(cluster(), pod, code);
}

const client = (namespace: string) => ({ namespace, name: "client" });

async function operatorAddress(): Promise<string> {
  return (await operatorPods(cluster()))[0]?.status?.podIP ?? "";
}

async function addressOfClient(namespace: string): Promise<string> {
  const answer = await cluster().kubectl("get", "pod", "client", `--namespace=${namespace}`, "--output=jsonpath={.status.podIP}");
  return answer.trim();
}

beforeAll(async () => {
  monitoring = await restrictedNamespace(cluster(), "monitoring");
  tenant = await restrictedNamespace(cluster(), "tenant");
  await Promise.all([monitoring, tenant].map(startClient));
});

describe("of the chart's defaults", () => {
  it("let metrics and page in from everywhere, and nobody but the node to the health port", async () => {
    await install(cluster(), { replicaCount: 1, dashboard: { enabled: true } }, ...wait);
    const address = await operatorAddress();
    expect(await asks(client(tenant), address, ports.health)).toBe("404");
    expect(await enforcePolicies(cluster(), release.namespace)).toBe(1);
    expect(await asks(client(tenant), address, ports.health)).toBe("nothing");
    expect(await asks(client(tenant), address, ports.metrics)).toBe("404");
    expect(await asks(client(tenant), address, ports.page)).toBe("200");
  });

  it("let kubelet's probes through: a pod that is limited stays Ready", async () => {
    const [pod] = await operatorPods(cluster());
    const lease = async () => (await leasesOf(cluster())).find(({ metadata }) => metadata.name === "keyturn-rotation")?.spec.renewTime ?? "";
    const before = await lease();
    await soon(async () => expect(Date.parse(await lease())).toBeGreaterThan(Date.parse(before) + 25_000));
    expect((await operatorPods(cluster())).map((each) => [each.metadata.name, isReady(each)])).toEqual([[pod?.metadata.name, true]]);
  });
});

describe("with everything limited", () => {
  const from = (namespace: string) => [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } } }];

  beforeAll(async () => {
    const networkPolicy = { limitEgress: true, metricsFrom: from(monitoring), dashboardFrom: from(monitoring) };
    await install(cluster(), { replicaCount: 1, dashboard: { enabled: true }, networkPolicy }, ...wait);
    await soon(async () => expect((await operatorPods(cluster())).map(isReady)).toEqual([true]));
    expect(await enforcePolicies(cluster(), release.namespace)).toBe(1);
  });

  it("let in those who are named, and nobody else", async () => {
    const address = await operatorAddress();
    for (const port of [ports.metrics, ports.page]) {
      expect(await asks(client(monitoring), address, port)).not.toBe("nothing");
      expect(await asks(client(tenant), address, port)).toBe("nothing");
    }
  });

  it("let the operator reach the API server, and no pod of others", async () => {
    const [pod] = await operatorPods(cluster());
    const address = await addressOfClient(tenant);
    expect(await asks(client(monitoring), address, 9000)).toBe("200");
    expect(await asks(pod?.metadata ?? {}, address, 9000)).toBe("nothing");
    const namespace = await restrictedNamespace(cluster(), "set");
    const annotations = { "rotator.k8s.telekom.com/rotation-set": "key", "rotator.k8s.telekom.com/source": "true" };
    const source = { apiVersion: "v1", kind: "Secret", metadata: { namespace, name: "key", annotations }, stringData: { key: "one" } };
    const spec = { rotationSet: "key", rotationOrder: 1, rotationDelay: "1s", deletionMode: "keep" };
    const target = { apiVersion: "rotator.k8s.telekom.com/v1", kind: "RotationTarget", metadata: { namespace, name: "key-live" }, spec };
    await cluster().apply([source, target]);
    await condition(cluster(), `/apis/rotator.k8s.telekom.com/v1/namespaces/${namespace}/rotationtargets/key-live`, "Ready");
  });
});
