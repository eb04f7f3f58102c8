// The @kubernetes/client-node contestant: its informer, over whole Secrets, less managedFields.
//
// It takes the scenario's name as its argument and a kubeconfig in BENCH_KUBECONFIG, says on standard output, in lines of JSON,
// what it reached, and ends when its standard input does, so that it never outlives the benchmark.
import { CoreV1Api, KubeConfig, makeInformer } from "@kubernetes/client-node";

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

const scenarios = {
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
if (!scenario) throw new Error("usage: contestant.mjs sync-whole|react");
process.stdin.resume().on("end", () => process.exit(0));
await scenario();
