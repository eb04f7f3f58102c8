// The pods that we ask about are those that the real controllers make: compared with what the API server sends to the webhook when they make them.
import { covers, DaemonSet, Deployment, type KubeObject, type Pod, StatefulSet, type Stored } from "@keyturn/runtime";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { restartableKinds, templateOf } from "../../packages/keyturn/src/workloads/workload.ts";
import { expectSidecar } from "../../packages/keyturn/src/controllers/sidecars/injection/expectation.ts";
import { readInjectors } from "../../packages/keyturn/src/controllers/sidecars/injector-configuration.ts";
import { unknownPaths } from "../../packages/keyturn/src/controllers/sidecars/injection/match-conditions.ts";
import { draftPod, type PodSource } from "../../packages/keyturn/src/workloads/pod-draft.ts";
import { compareSidecar, sidecarOf } from "../../packages/keyturn/src/controllers/sidecars/injection/sidecar.ts";
import { createWebhookCaller } from "../../packages/keyturn/src/controllers/sidecars/injection/webhook.ts";
import { meshNamespace, type WorkloadKind } from "./mesh-namespace.ts";

const cluster = useSharedCluster();

const claims = [{ metadata: { name: "data" }, spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } } }];
const cases: readonly (readonly [string, WorkloadKind, Parameters<Awaited<ReturnType<typeof meshNamespace>>["put"]>[2]])[] = [
  ["a Deployment", Deployment, { replicas: 1 }],
  ["a StatefulSet with a volume", StatefulSet, { replicas: 1, unready: true, spec: { volumeClaimTemplates: claims } }],
  ["a DaemonSet", DaemonSet, {}],
  [
    "one with a ServiceAccount, volumes, probes and its own proxy settings",
    Deployment,
    {
      replicas: 1,
      unready: true,
      podLabels: { version: "v2" },
      podAnnotations: { note: "x" },
      podSpec: {
        serviceAccountName: "default",
        volumes: [{ name: "cache", emptyDir: {} }],
        initContainers: [{ name: "prepare", image: "example.com/prepare" }],
        containers: [
          {
            name: "app",
            image: "example.com/app:1",
            ports: [{ containerPort: 8080 }],
            readinessProbe: { httpGet: { port: 8080, path: "/ready" } },
            volumeMounts: [{ name: "cache", mountPath: "/cache" }],
          },
          { name: "istio-proxy", image: "auto", resources: { limits: { cpu: "500m" } } },
        ],
      },
    },
  ],
];

test.each(cases)("the pod of %s", async (_name, kind, options) => {
  await using place = await meshNamespace(cluster(), "drafts");
  await place.put(kind, "web", options);
  const real = await soon(() => {
    const asked = place.istiod.calls.find(({ dryRun, namespace }) => !dryRun && namespace === place.namespace);
    if (!asked) throw new Error("the API server has not asked yet");
    return asked.pod;
  });
  const stored: Stored<KubeObject> = await place.workload(kind, "web");
  const kept = restartableKinds.get(kind.kind)?.keep(stored);
  if (!kept) throw new Error(`a ${kind.kind} cannot be restarted`);
  const source: PodSource = { ...kept.source, template: templateOf(kept) };
  const draft = draftPod(source);

  const sameButHashes = (pod: Pod): object => ({ ...pod, metadata: withoutHashes(pod.metadata) });
  expect(covers(sameButHashes(withoutTokens(real)), sameButHashes(draft))).toBe(true);
  expect(withoutTokens(real).spec?.containers).toEqual(draft.spec?.containers);
  // Whatever else a pod has when webhooks see it was filled in by others, and match conditions about it are undecidable.
  const added = (part: "metadata" | "spec"): readonly string[] =>
    Object.keys(real[part] ?? {}).filter((field) => !Object.hasOwn(draft[part] ?? {}, field));
  const paths = [...added("metadata").map((field) => `object.metadata.${field}`), ...added("spec").map((field) => `object.spec.${field}`)];
  expect(paths.filter((path) => !unknownPaths.includes(path))).toEqual([]);
  expect(Object.keys(real.metadata.labels ?? {}).sort()).toEqual(Object.keys(draft.metadata.labels ?? {}).sort());

  // And so what we expect is, as a whole, what the pod got.
  const caller = createWebhookCaller();
  const injectors = readInjectors([place.istiod.revisionConfiguration()]);
  const namespaceLabels = { "istio.io/rev": place.istiod.settings.revision };
  const expectation = await expectSidecar(source, { namespaceLabels, injectors, caller, whole: true });
  caller.close();
  if (expectation.type !== "known") throw new Error(`nothing is known: ${JSON.stringify(expectation)}`);
  // The webhook is asked about a pod before it is stored.
  const live = await soon(async () => {
    const [pod] = await place.pods("web");
    if (!pod) throw new Error("there is no pod yet");
    return pod;
  });
  expect(sidecarOf(live, { whole: true })).toBeDefined();
  expect(compareSidecar(sidecarOf(live, { whole: true }), expectation.sidecar, { compareHub: true })).toEqual({ type: "current" });
});

/** Hashes of the form that Kubernetes gives them, and uids of owners, stand for each other. */
function withoutHashes({ labels = {}, generateName = "", ownerReferences = [], ...rest }: Pod["metadata"]): object {
  const masked = (text: string): string => text.replaceAll(/(?<=^|-)[bcdfghjklmnpqrstvwxz2456789]{8,10}(?=$|-)/g, "HASH");
  return {
    ...rest,
    labels: Object.fromEntries(Object.entries(labels).map(([key, value]) => [key, masked(value)])),
    generateName: masked(generateName),
    ownerReferences: ownerReferences.map(({ uid: _uid, name, ...owner }) => ({ ...owner, name: masked(name) })),
  };
}

/** The volume with the ServiceAccount's token comes from the API server, and has another name in each pod. */
function withoutTokens(pod: Pod): Pod {
  const isToken = ({ name }: { readonly name: string }): boolean => name.startsWith("kube-api-access-");
  const cleaned = (containers: NonNullable<Pod["spec"]>["containers"] = []): typeof containers =>
    containers.map(({ volumeMounts = [], ...container }) => {
      const mounts = volumeMounts.filter((mount) => !isToken(mount));
      return mounts.length > 0 ? { ...container, volumeMounts: mounts } : container;
    });
  const { containers, initContainers, volumes = [], ...spec } = pod.spec ?? { containers: [] };
  return {
    ...pod,
    spec: {
      ...spec,
      containers: cleaned(containers),
      initContainers: cleaned(initContainers),
      volumes: volumes.filter((volume) => !isToken(volume)),
    },
  };
}
