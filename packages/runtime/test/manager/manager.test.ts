// The manager on a real API server: missing CRDs and rights, an API server that goes away, and writes that must be seen.
import {
  ConfigMap,
  type ControllerDefinition,
  createCaches,
  createClient,
  createHttpTransport,
  createLogger,
  createManager,
  createMetrics,
  defineKind,
  type KubeObject,
  loadConfig,
  type Manager,
  nameOf,
  Secret,
  systemClock,
  systemRandom,
} from "@keyturn/runtime";
import { startFaultProxy } from "@keyturn/runtime/testing";
import { soon, useCluster } from "@keyturn/runtime/testing/vitest";
import { expect, onTestFinished, test } from "vitest";

const signal = new AbortController().signal;

const cluster = useCluster();

const gadgetDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: gadgets.manager.test
spec:
  group: manager.test
  scope: Namespaced
  names: { kind: Gadget, plural: gadgets }
  versions:
    - { name: v1, served: true, storage: true, schema: { openAPIV3Schema: { type: object } } }
`;

interface Running extends AsyncDisposable {
  readonly manager: Manager;
  readonly log: readonly string[];
}

/** A manager that runs until the end of its scope. */
async function run(kubeconfig: string, controllers: readonly ControllerDefinition[], leaseNamespace?: string): Promise<Running> {
  const transport = createHttpTransport(await loadConfig({ kubeconfig, env: {} }));
  const lines: string[] = [];
  const shared = { clock: systemClock, random: systemRandom, log: createLogger({ destination: { write: (line) => lines.push(line) } }) };
  const manager = createManager({
    ...shared,
    operator: { name: "test", domain: "test.dev" },
    client: createClient(transport),
    caches: createCaches({ ...shared, transport }),
    controllers,
    metrics: createMetrics(),
    events: () => ({ record() {} }),
    leaderElection: { enabled: leaseNamespace !== undefined, namespace: leaseNamespace ?? "", identity: "test" },
  });
  const stop = new AbortController();
  const ended = manager.run(stop.signal);
  return {
    manager,
    log: lines,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await ended;
      transport.close();
    },
  };
}

const states = ({ manager }: Running): readonly string[] => manager.statuses().map(({ state }) => state);

/** A controller that notes the keys it runs. */
function noting(
  name: string,
  kind: ReturnType<typeof defineKind<KubeObject>>,
  namespace: string,
): { definition: ControllerDefinition; runs: string[] } {
  const runs: string[] = [];
  const definition: ControllerDefinition = {
    name,
    access: [],
    setup(scope) {
      scope.trigger(scope.watch(kind, { namespace, only: "metadata" }));
      return async ({ key }) => void runs.push(nameOf(key).name);
    },
  };
  return { definition, runs };
}

test("a controller whose CRD is not installed waits, starts when it appears, and delays no other", async () => {
  const namespace = await cluster().namespace("manager");
  const gadget = defineKind<KubeObject>({ group: "manager.test", version: "v1", kind: "Gadget", plural: "gadgets", namespaced: true });
  const gadgets = noting("gadgets", gadget, namespace);
  const configMaps = noting("configmaps", ConfigMap, namespace);
  await using running = await run(cluster().adminKubeconfig, [gadgets.definition, configMaps.definition]);
  await cluster().client.create(ConfigMap, { metadata: { namespace, name: "first" } });
  await soon(() => expect(configMaps.runs).toContain("first"));
  await soon(() => expect(states(running)).toEqual(["waiting for CRD gadgets.manager.test", "active"]));

  await cluster().apply(gadgetDefinition);
  await cluster().apply([{ apiVersion: "manager.test/v1", kind: "Gadget", metadata: { namespace, name: "one" } }]);
  await soon(() => expect(gadgets.runs).toContain("one"));
  await soon(() => expect(states(running)).toEqual(["active", "active"]));
});

test("a right that is missing is named, in watches and in elections, and granting it is enough", async () => {
  const namespace = await cluster().namespace("manager");
  const leases = { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "create", "update"] };
  const secrets = { apiGroups: [""], resources: ["secrets"], verbs: ["list", "watch"] };
  const configMaps = { apiGroups: [""], resources: ["configmaps"], verbs: ["list", "watch"] };
  const grant = (...rules: readonly (typeof leases)[]): Promise<string> =>
    cluster().kubeconfigFor({ serviceAccount: { namespace, name: "operator" }, namespacedRules: { [namespace]: rules } });
  const kubeconfig = await grant(configMaps);
  const controllers = [noting("secrets", Secret, namespace), noting("configmaps", ConfigMap, namespace)];
  await using running = await run(
    kubeconfig,
    controllers.map(({ definition }) => definition),
    namespace,
  );
  await soon(() => {
    expect(states(running)).toEqual([
      expect.stringMatching(new RegExp(`^forbidden: (list|watch) secrets in namespace ${namespace}$`)),
      `forbidden: get leases.coordination.k8s.io in namespace ${namespace}`,
    ]);
  });
  await grant(configMaps, leases);
  await soon(() => expect(states(running)[1]).toBe("active"));
  await grant(configMaps, leases, secrets);
  await soon(() => expect(states(running)).toEqual(["active", "active"]));
  expect(running.log.some((line) => line.includes(`forbidden: get leases.coordination.k8s.io in namespace ${namespace}`))).toBe(true);
});

test("an API server that is away, at the start or later, is waited for, and nothing that happened is missed", async () => {
  const namespace = await cluster().namespace("manager");
  const { definition, runs } = noting("configmaps", ConfigMap, namespace);
  onTestFinished(() => cluster().apiServer.start());
  await cluster().apiServer.kill();
  await using running = await run(cluster().adminKubeconfig, [definition], namespace);
  await soon(() => expect(running.log.join("")).toContain("the API server does not answer as it should"));
  expect(states(running)).toEqual(["starting"]);
  await cluster().apiServer.start();
  await soon(() => expect(states(running)).toEqual(["active"]));

  await cluster().apiServer.kill();
  await cluster().apiServer.start();
  await cluster().client.create(ConfigMap, { metadata: { namespace, name: "later" } });
  await soon(() => expect(runs).toContain("later"));
  await soon(() => expect(running.log.join("")).toContain("the API server answers again"));
});

test("a key is not run again before the cache shows what it wrote, however late that is", async () => {
  const namespace = await cluster().namespace("manager");
  await using proxy = await startFaultProxy(cluster());
  const seen: string[] = [];
  const written: string[] = [];
  let enqueue: () => void = () => {};
  const counter: ControllerDefinition = {
    name: "counter",
    access: [],
    setup(scope) {
      const cache = scope.watch(ConfigMap, { namespace, fields: "metadata.name=count" });
      scope.trigger(cache);
      enqueue = () => scope.enqueue(`${namespace}/count`);
      return async ({ key, client }) => {
        const count = cache.get(key)?.data?.["count"] ?? "0";
        seen.push(count);
        if (Number(count) >= 20) return;
        const data = { count: String(Number(count) + 1) };
        await client.apply(ConfigMap, { metadata: { namespace, name: "count" }, data }, { fieldManager: "counter", force: true }, signal);
        written.push(data.count);
      };
    },
  };
  await using running = await run(proxy.through(cluster().adminKubeconfig), [counter]);
  await soon(() => expect(states(running)).toEqual(["active"]));
  using stall = proxy.stall({ watch: true });
  enqueue();
  await soon(() => expect(written).toEqual(["1"]));
  enqueue();
  await soon(() => expect(running.manager.statuses()[0]?.activity).toMatchObject({ held: 1, running: 0 }));
  expect(seen).toEqual(["0"]);
  stall.undo();
  // Asked for all the time, it counts on without ever seeing or writing a number twice.
  const asking = setInterval(enqueue, 1);
  try {
    await soon(() => expect(written.at(-1)).toBe("20"));
  } finally {
    clearInterval(asking);
  }
  expect(written).toEqual(Array.from({ length: 20 }, (_, i) => String(i + 1)));
});
