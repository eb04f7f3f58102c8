// A whole operator on a real API server: what it does when the server, a right or a CRD is missing, and how it ends.
import { describe, expect, it } from "vitest";
import { ConfigMap, type ControllerDefinition, defineKind, Lease, policyRules, Secret } from "@keyturn/runtime";
import { soon, useCluster, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { startOperator } from "@keyturn/runtime/testing";
import { digestController, digestRules, leaseRules } from "./digest-controller.ts";

const lateCrd = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: lates.late.example }
spec:
  group: late.example
  scope: Namespaced
  names: { kind: Late, plural: lates }
  versions: [{ name: v1, served: true, storage: true, schema: { openAPIV3Schema: { type: object } } }]
`;

const labelled = (namespace: string, name: string) => ({ metadata: { namespace, name, labels: { digest: "yes" } }, data: { a: "MQ==" } });

describe("an operator", () => {
  const cluster = useSharedCluster();

  it("works with exactly the rights that its controllers declare, says so when it is ready, and releases its Lease at the end", async () => {
    const { client } = cluster();
    const namespace = await cluster().namespace("rights");
    const kubeconfig = await cluster().kubeconfigFor({
      serviceAccount: { namespace, name: "operator" },
      namespacedRules: { [namespace]: [...digestRules, ...leaseRules] },
    });
    await client.create(Secret, labelled(namespace, "one"));
    await using operator = await startOperator({ kubeconfig, controllers: [digestController(namespace)], leaderElection: { namespace } });
    await soon(async () => expect(await client.get(ConfigMap, { namespace, name: "one" })).toBeDefined());
    await soon(async () =>
      expect(await operator.readyz()).toMatchObject({ status: 200, text: expect.stringContaining("controller digests: active") }),
    );
    // What a run has written is there before the run is over.
    await soon(async () => expect(await operator.metrics()).toMatch(/reconcile_total\{controller="digests",result="success"\} [1-9]/));

    await client.delete(Secret, { namespace, name: "one" });
    await soon(async () => expect(await client.get(ConfigMap, { namespace, name: "one" })).toBeUndefined());

    await operator.stop();
    const lease = await client.get(Lease, { namespace, name: "demo-digests" });
    expect(lease?.spec?.holderIdentity ?? "").toBe("");
  });

  it("names the exact right that is missing, in the log and on /readyz, while other controllers go on; and goes on itself once it is granted", async () => {
    const { client } = cluster();
    const namespace = await cluster().namespace("missing");
    const closed = await cluster().namespace("closed");
    const serviceAccount = { namespace, name: "operator" };
    const open = [...digestRules, ...leaseRules];
    const kubeconfig = await cluster().kubeconfigFor({ serviceAccount, namespacedRules: { [namespace]: open } });
    await client.create(Secret, labelled(namespace, "one"));
    await client.create(Secret, labelled(closed, "two"));
    await using operator = await startOperator({
      kubeconfig,
      controllers: [digestController(closed, "shut-out"), digestController(namespace)],
      leaderElection: { namespace },
    });
    await soon(async () => expect(await client.get(ConfigMap, { namespace, name: "one" })).toBeDefined());
    const missing = `watch secrets in namespace ${closed}`;
    await soon(async () => expect((await operator.readyz()).text).toContain(missing));
    expect((await operator.readyz()).status).toBe(503);
    await soon(() => expect(JSON.stringify(operator.logLines)).toContain(missing));

    await cluster().kubeconfigFor({ serviceAccount, namespacedRules: { [namespace]: open, [closed]: digestRules } });
    await soon(async () => expect(await client.get(ConfigMap, { namespace: closed, name: "two" })).toBeDefined());
    await soon(async () => expect((await operator.readyz()).status).toBe(200));
  });

  it("waits for a CRD that is not installed and starts that controller when it appears, while others work", async () => {
    const namespace = await cluster().namespace("crd");
    const { client } = cluster();
    const kind = defineKind({ group: "late.example", version: "v1", kind: "Late", plural: "lates", namespaced: true });
    const seen: string[] = [];
    const late: ControllerDefinition = {
      name: "late",
      access: [{ kind, verbs: ["list", "watch"], why: "to see them" }],
      setup({ watch, trigger }) {
        trigger(watch(kind, { namespace }));
        return async ({ key }) => void seen.push(key);
      },
    };
    await client.create(Secret, labelled(namespace, "one"));
    await using operator = await startOperator({
      kubeconfig: cluster().adminKubeconfig,
      controllers: [late, digestController(namespace)],
      leaderElection: { namespace },
    });
    await soon(async () => expect(await client.get(ConfigMap, { namespace, name: "one" })).toBeDefined());
    await soon(async () => expect((await operator.readyz()).text).toContain("controller late: waiting for CRD lates.late.example"));

    await cluster().apply(lateCrd);
    await client.create(kind, { metadata: { namespace, name: "here" } });
    await soon(() => expect(seen).toContain(`${namespace}/here`));
  });

  it("shows what the API server warns of, once", async () => {
    const namespace = await cluster().namespace("warned");
    const Endpoints = defineKind({ group: "", version: "v1", kind: "Endpoints", plural: "endpoints", namespaced: true });
    const definition: ControllerDefinition = {
      name: "old-kind",
      access: [],
      setup({ watch, trigger }) {
        trigger(watch(ConfigMap, { namespace }));
        return async ({ key, client, signal }) => {
          await client.get(Endpoints, { namespace, name: key.slice(namespace.length + 1) }, signal);
        };
      },
    };
    const rules = [
      { apiGroups: [""], resources: ["configmaps"], verbs: ["list", "watch"] },
      { apiGroups: [""], resources: ["endpoints"], verbs: ["get"] },
      ...leaseRules,
    ];
    const serviceAccount = { namespace, name: "operator" };
    const kubeconfig = await cluster().kubeconfigFor({ serviceAccount, namespacedRules: { [namespace]: rules } });
    await using operator = await startOperator({ kubeconfig, controllers: [definition], leaderElection: { namespace } });
    for (const name of ["one", "two"]) await cluster().client.create(ConfigMap, { metadata: { namespace, name } });
    await soon(async () => expect(await operator.metrics()).toMatch(/reconcile_total\{controller="old-kind",result="success"\} [2-9]/));
    expect(operator.logLines.filter(({ warning }) => warning !== undefined)).toMatchObject([
      { level: "warn", request: "get endpoints", warning: "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice" },
    ]);
  });

  it("in a dry run checks and logs every write, makes none, and takes no Lease", async () => {
    const { client } = cluster();
    const namespace = await cluster().namespace("dry");
    await client.create(Secret, labelled(namespace, "one"));
    await using operator = await startOperator({
      kubeconfig: cluster().adminKubeconfig,
      controllers: [digestController(namespace)],
      leaderElection: { namespace },
      dryRun: true,
    });
    await soon(() =>
      expect(operator.logLines).toContainEqual(expect.objectContaining({ verb: "apply", resource: "configmaps", key: `${namespace}/one` })),
    );
    await client.create(Secret, labelled(namespace, "two"));
    await soon(() => expect(operator.logLines).toContainEqual(expect.objectContaining({ verb: "apply", key: `${namespace}/two` })));
    // The key of an earlier withheld write runs again: nothing waits for a write that will never show.
    const appliesOfOne = (): number => operator.logLines.filter(({ key, verb }) => key === `${namespace}/one` && verb === "apply").length;
    const before = appliesOfOne();
    await client.mergePatch(Secret, { namespace, name: "one" }, { data: { a: "Mg==" } });
    await soon(() => expect(appliesOfOne()).toBeGreaterThan(before));
    expect((await client.list(ConfigMap, { namespace, labels: "app.kubernetes.io/managed-by=demo" })).items).toEqual([]);
    expect((await client.list(Lease, { namespace })).items).toEqual([]);
  });

  it("limited to namespaces, needs no right elsewhere and sees nothing else", async () => {
    const { client } = cluster();
    const one = await cluster().namespace("one");
    const two = await cluster().namespace("two");
    const other = await cluster().namespace("other");
    const seen: string[] = [];
    const everywhere: ControllerDefinition = {
      name: "everywhere",
      access: [{ kind: Secret, verbs: ["list", "watch"], why: "to see them" }],
      setup({ watch, trigger }) {
        trigger(watch(Secret, { labels: "digest=yes", whole: true }));
        return async ({ key }) => void seen.push(key);
      },
    };
    const rules = policyRules(everywhere.access);
    const kubeconfig = await cluster().kubeconfigFor({
      serviceAccount: { namespace: one, name: "operator" },
      namespacedRules: { [one]: [...rules, ...leaseRules], [two]: rules },
    });
    for (const namespace of [other, one, two]) await client.create(Secret, labelled(namespace, "s"));
    await using operator = await startOperator({ kubeconfig, controllers: [everywhere], namespaces: [one, two], leaderElection: { namespace: one } });
    await soon(() => expect(new Set(seen)).toEqual(new Set([`${one}/s`, `${two}/s`])));
    await soon(async () => expect((await operator.readyz()).status).toBe(200));
  });
});

describe("an operator whose API server goes away", () => {
  const cluster = useCluster();

  it("keeps trying, says so without flooding the log, fails /readyz but not /healthz, and recovers by itself", async () => {
    const { client } = cluster();
    await cluster().apiServer.stop();
    await using operator = await startOperator({
      kubeconfig: cluster().adminKubeconfig,
      controllers: [digestController("default")],
      leaderElection: { namespace: "default" },
    });
    await soon(async () => expect((await operator.readyz()).status).toBe(503));
    expect((await fetch(`${operator.started.healthUrl}/healthz`)).status).toBe(200);

    await cluster().apiServer.start();
    await client.create(Secret, labelled("default", "first"));
    await soon(async () => expect(await client.get(ConfigMap, { namespace: "default", name: "first" })).toBeDefined());
    await soon(async () => expect((await operator.readyz()).status).toBe(200));

    await cluster().apiServer.kill();
    await soon(async () => expect((await operator.readyz()).status).toBe(503));
    await cluster().apiServer.start();
    await client.create(Secret, labelled("default", "second"));
    await soon(async () => expect(await client.get(ConfigMap, { namespace: "default", name: "second" })).toBeDefined());
    await soon(async () => expect((await operator.readyz()).status).toBe(200));

    const loud = operator.logLines.filter(({ level }) => level === "warn" || level === "error");
    // A machine that is slow makes the outages longer; something that spins would write thousands.
    expect(loud.length).toBeLessThan(100);
  });
});
