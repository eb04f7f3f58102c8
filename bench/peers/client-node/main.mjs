// The @kubernetes/client-node contestant: its informers, with the queue and the connections that it leaves to its users.
import { CoreV1Api, KubeConfig, makeInformer, PatchStrategy, setHeaderOptions } from "@kubernetes/client-node";
import {
  certificateDigest,
  configMapFor,
  createQueue,
  digestKey,
  keepDigest,
  report,
  reportReaction,
  runScenario,
  stripManagedFields,
} from "../contestant.mjs";

/** The package makes an agent, and so a TLS connection, for every request; one for all saves most of the time that it takes. */
class PooledConfig extends KubeConfig {
  #dispatcher;

  async applySecurityAuthentication(context) {
    await super.applySecurityAuthentication(context);
    this.#dispatcher ??= context.getDispatcher();
    context.setDispatcher(this.#dispatcher);
  }
}

const config = new PooledConfig();
config.loadFromFile(process.env.BENCH_KUBECONFIG);
const api = config.makeApiClient(CoreV1Api);
const pageSize = 500;
/** An informer ends when its connection does; its own examples start it again after a while. */
const restartMs = 1000;

/** Lists page by page, as client-go does: one answer with everything would have to fit into one string. */
const pagedList = async (list, labelSelector) => {
  const items = [];
  for (let _continue; ;) {
    const page = await list({ labelSelector, limit: pageSize, ...(_continue && { _continue }) });
    items.push(...page.items);
    _continue = page.metadata._continue;
    if (!_continue) return { ...page, items };
  }
};

const listSecrets = (options) => api.listSecretForAllNamespaces(options);
const listConfigMaps = (options) => api.listConfigMapForAllNamespaces(options);

/** An informer of objects with the scenario's label that starts again by itself; `keep` is called first with each object. */
const follow = ({ resource, list, label, keep = stripManagedFields }) => {
  const labelSelector = `bench=${label}`;
  const informer = makeInformer(config, `/api/v1/${resource}`, () => pagedList(list, labelSelector), labelSelector);
  for (const verb of ["add", "update"]) informer.on(verb, keep);
  informer.on("error", () => setTimeout(() => void informer.start(), restartMs));
  return informer;
};

const reportSync = async (keep) => {
  const started = performance.now();
  const informer = follow({ resource: "secrets", list: listSecrets, label: "sync", keep });
  await informer.start();
  report({ type: "synced", ms: performance.now() - started, objects: informer.list().length });
};

await runScenario({
  "sync-whole": () => reportSync(stripManagedFields),
  "sync-digest": () => reportSync(keepDigest),

  async react() {
    const informer = follow({ resource: "secrets", list: listSecrets, label: "react" });
    for (const verb of ["add", "update"]) informer.on(verb, reportReaction);
    await informer.start();
    report({ type: "ready" });
  },

  async job() {
    const secrets = follow({ resource: "secrets", list: listSecrets, label: "job" });
    const published = follow({ resource: "configmaps", list: listConfigMaps, label: "job" });
    const publish = async (secret, digest) => {
      const { namespace, name } = secret.metadata;
      const found = published.get(name, namespace);
      if (!found) await api.createNamespacedConfigMap({ namespace, body: configMapFor(secret, digest) });
      else if (found.data?.sha256 !== digest) await api.replaceNamespacedConfigMap({ namespace, name, body: { ...found, data: { sha256: digest } } });
    };
    const add = createQueue(async (key) => {
      const [namespace, name] = key.split("/");
      const secret = secrets.get(name, namespace);
      if (!secret) return;
      const digest = certificateDigest(secret);
      await publish(secret, digest);
      if (secret.metadata.annotations?.[digestKey] === digest) return;
      const body = { metadata: { annotations: { [digestKey]: digest } } };
      await api.patchNamespacedSecret({ namespace, name, body }, setHeaderOptions("content-type", PatchStrategy.MergePatch));
    });
    for (const informer of [published, secrets]) {
      informer.on("change", ({ metadata: { namespace, name } }) => add(`${namespace}/${name}`));
      await informer.start();
    }
    report({ type: "ready" });
  },
});
