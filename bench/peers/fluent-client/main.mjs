// The kubernetes-fluent-client contestant: its watcher, with the queue and the memory of what is there that it leaves to its users.
import { K8s, kind, WatchEvent } from "kubernetes-fluent-client";
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

// The package takes its cluster from here and nowhere else.
process.env.KUBECONFIG = process.env.BENCH_KUBECONFIG;

/** The least that it accepts between the end of a watch and the next; its default is 5 s. */
const watchSettings = { resyncDelaySec: 1 };
const escapedDigestKey = digestKey.replace("/", "~1");

/** Watches objects with the scenario's label. Resolves once everything that is there has been shown to `onChange`. */
const follow = async (model, label, onChange) => {
  const watcher = K8s(model).WithLabel("bench", label).Watch(onChange, watchSettings);
  const connected = new Promise((resolve) => watcher.events.once(WatchEvent.CONNECT, resolve));
  await watcher.start();
  await connected;
};

const reportSync = async (keep) => {
  const started = performance.now();
  let objects = 0;
  // The watcher holds what it shows, for its next list.
  await follow(kind.Secret, "sync", (secret) => {
    keep(secret);
    objects++;
  });
  report({ type: "synced", ms: performance.now() - started, objects });
};

await runScenario({
  "sync-whole": () => reportSync(stripManagedFields),
  "sync-digest": () => reportSync(keepDigest),

  async react() {
    await follow(kind.Secret, "react", reportReaction);
    report({ type: "ready" });
  },

  async job() {
    const secrets = new Map();
    const published = new Map();
    const publish = async (secret, digest) => {
      const { namespace, name } = secret.metadata;
      const found = published.get(`${namespace}/${name}`);
      if (!found) await K8s(kind.ConfigMap).Create(configMapFor(secret, digest));
      else if (found !== digest) await K8s(kind.ConfigMap, { namespace, name }).Patch([{ op: "replace", path: "/data/sha256", value: digest }]);
    };
    const add = createQueue(async (key) => {
      const secret = secrets.get(key);
      if (!secret) return;
      const { namespace, name, annotations } = secret.metadata;
      const digest = certificateDigest(secret);
      await publish(secret, digest);
      if (annotations?.[digestKey] === digest) return;
      const note = annotations
        ? { op: "add", path: `/metadata/annotations/${escapedDigestKey}`, value: digest }
        : { op: "add", path: "/metadata/annotations", value: { [digestKey]: digest } };
      await K8s(kind.Secret, { namespace, name }).Patch([note]);
    });
    const remember = (known, valueOf) => (object, phase) => {
      const key = `${object.metadata.namespace}/${object.metadata.name}`;
      stripManagedFields(object);
      if (phase === "DELETED") known.delete(key);
      else known.set(key, valueOf(object));
      add(key);
    };
    await follow(
      kind.ConfigMap,
      "job",
      remember(published, ({ data }) => data?.sha256),
    );
    await follow(
      kind.Secret,
      "job",
      remember(secrets, (secret) => secret),
    );
    report({ type: "ready" });
  },
});
