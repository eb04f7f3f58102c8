// The @kubernetes/client-node contestant: its informer, over whole Secrets, less managedFields.
//
// It takes the scenario's name as its argument and a kubeconfig in BENCH_KUBECONFIG, says on standard output, in lines of JSON,
// what it reached, and ends when its standard input does, so that it never outlives the benchmark.
import { hash } from "node:crypto";
import { CoreV1Api, KubeConfig, makeInformer, PatchStrategy, setHeaderOptions } from "@kubernetes/client-node";

const report = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

const config = new KubeConfig();
config.loadFromFile(process.env.BENCH_KUBECONFIG);

const connect = (label) => {
  const api = config.makeApiClient(CoreV1Api);
  const labelSelector = `bench=${label}`;
  return makeInformer(config, "/api/v1/secrets", () => api.listSecretForAllNamespaces({ labelSelector }), labelSelector);
};

const stripManagedFields = (secret) => {
  delete secret.metadata.managedFields;
};

const digestKey = "bench/digest";
const workers = 16;
const keyOf = ({ metadata: { namespace, name } }) => `${namespace}/${name}`;

/** A queue of distinct keys, each worked on by one worker at a time and again after 100 ms if that failed. */
const createQueue = (reconcile) => {
  const waiting = new Set();
  const running = new Set();
  const next = () => {
    for (const key of waiting) {
      if (running.size >= workers) return;
      if (running.has(key)) continue;
      waiting.delete(key);
      running.add(key);
      reconcile(key)
        .catch(() => setTimeout(() => add(key), 100))
        .finally(() => {
          running.delete(key);
          next();
        });
    }
  };
  const add = (key) => {
    waiting.add(key);
    next();
  };
  return add;
};

/** An informer ends when its connection does; its own examples start it again after a while. */
const keepRunning = (informer) => informer.on("error", () => setTimeout(() => void informer.start(), 1000));

const scenarios = {
  async job() {
    const api = config.makeApiClient(CoreV1Api);
    const labelSelector = "bench=job";
    const secrets = makeInformer(config, "/api/v1/secrets", () => api.listSecretForAllNamespaces({ labelSelector }), labelSelector);
    const published = makeInformer(config, "/api/v1/configmaps", () => api.listConfigMapForAllNamespaces({ labelSelector }), labelSelector);
    const publish = async (secret, digest) => {
      const { namespace, name, uid } = secret.metadata;
      const found = published.get(name, namespace);
      const data = { sha256: digest };
      if (!found) {
        const ownerReferences = [{ apiVersion: "v1", kind: "Secret", name, uid, controller: true, blockOwnerDeletion: true }];
        await api.createNamespacedConfigMap({ namespace, body: { metadata: { namespace, name, labels: { bench: "job" }, ownerReferences }, data } });
      } else if (found.data?.sha256 !== digest) {
        await api.replaceNamespacedConfigMap({ namespace, name, body: { ...found, data } });
      }
    };
    const add = createQueue(async (key) => {
      const [namespace, name] = key.split("/");
      const secret = secrets.get(name, namespace);
      if (!secret) return;
      const digest = hash("sha256", Buffer.from(secret.data?.["tls.crt"] ?? "", "base64"), "hex");
      await publish(secret, digest);
      if (secret.metadata.annotations?.[digestKey] === digest) return;
      const body = { metadata: { annotations: { [digestKey]: digest } } };
      await api.patchNamespacedSecret({ namespace, name, body }, setHeaderOptions("content-type", PatchStrategy.MergePatch));
    });
    for (const informer of [secrets, published]) {
      for (const verb of ["add", "update"]) informer.on(verb, stripManagedFields);
      for (const verb of ["add", "update", "delete"]) informer.on(verb, (object) => add(keyOf(object)));
      keepRunning(informer);
    }
    await published.start();
    await secrets.start();
    report({ type: "ready" });
  },
  async "sync-whole"() {
    const started = performance.now();
    const informer = connect("sync");
    informer.on("add", stripManagedFields);
    await informer.start();
    report({ type: "synced", ms: performance.now() - started, objects: informer.list().length });
  },
  async react() {
    const informer = connect("react");
    const answer = (secret) => {
      const atNs = String(process.hrtime.bigint());
      report({ type: "reconciled", sequence: secret.metadata.annotations?.["bench/sequence"] ?? "", atNs });
    };
    informer.on("add", answer);
    informer.on("update", answer);
    await informer.start();
    report({ type: "ready" });
  },
};

const scenario = scenarios[process.argv[2]];
if (!scenario) throw new Error("usage: contestant.mjs sync-whole|react|job");
process.stdin.resume().on("end", () => process.exit(0));
await scenario();
