// A plain scan for the outdated workloads of one namespace: lists everything, and asks the webhook about each pod, one after the other.
import {
  createClient,
  createHttpTransport,
  Deployment,
  loadConfig,
  MutatingWebhookConfiguration,
  Namespace,
  Pod,
  ReplicaSet,
} from "@keyturn/runtime";
import { expectSidecar } from "../../packages/keyturn/src/controllers/sidecars/injection/expectation.ts";
import { readInjectors } from "../../packages/keyturn/src/controllers/sidecars/injector-configuration.ts";
import { compareSidecar, sidecarOf } from "../../packages/keyturn/src/controllers/sidecars/injection/sidecar.ts";
import { createWebhookCaller } from "../../packages/keyturn/src/controllers/sidecars/injection/webhook.ts";
import { endWithInput, report } from "./contestant-line.ts";

const [, namespace = ""] = process.argv.slice(2);

endWithInput();
const client = createClient(createHttpTransport(await loadConfig({ kubeconfig: process.env["BENCH_KUBECONFIG"] ?? "", env: {} })));
const startedMs = performance.now();

const injectors = readInjectors((await client.list(MutatingWebhookConfiguration)).items);
const namespaces = new Map((await client.list(Namespace)).items.map(({ metadata }) => [metadata.name, metadata.labels ?? {}]));
const deployments = new Map((await client.list(Deployment, { namespace })).items.map((deployment) => [deployment.metadata.uid, deployment]));
const replicaSets = new Map((await client.list(ReplicaSet, { namespace })).items.map((replicaSet) => [replicaSet.metadata.uid, replicaSet]));
const caller = createWebhookCaller();
const outdated = new Set<string>();
for (const pod of (await client.list(Pod, { namespace })).items) {
  const replicaSet = replicaSets.get(pod.metadata.ownerReferences?.[0]?.uid ?? "");
  const deployment = deployments.get(replicaSet?.metadata.ownerReferences?.[0]?.uid ?? "");
  if (!deployment?.spec) continue;
  const { name, uid } = deployment.metadata;
  const options = { namespaceLabels: namespaces.get(namespace) ?? {}, injectors, caller, whole: false };
  const expectation = await expectSidecar({ kind: "Deployment", namespace, name, uid, template: deployment.spec.template }, options);
  if (expectation.type !== "known") throw new Error(`asking about ${namespace}/${name}: ${expectation.message}`);
  if (compareSidecar(sidecarOf(pod, options), expectation.sidecar, { compareHub: false }).type === "outdated") outdated.add(uid);
}
report({ type: "done", ms: performance.now() - startedMs, outdated: outdated.size });
