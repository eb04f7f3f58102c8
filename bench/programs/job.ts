// The common job on our runtime: for each labelled Secret a ConfigMap with its certificate's SHA-256, and the same in an annotation of the Secret.
import { hash } from "node:crypto";
import {
  ConfigMap,
  type ControllerDefinition,
  createLogger,
  liveIn,
  managedBySelector,
  nameOf,
  ownedWriter,
  runOperator,
  Secret,
  sleep,
  type StartedOperator,
  type Stored,
  systemClock,
} from "@keyturn/runtime";
import { benchConnection, endWithInput, probeLoop, report } from "./contestant.ts";

const operator = { name: "bench", domain: "bench.keyturn.io" };
const digestKey = "bench/digest";
const labels = { bench: "job" };

/** All that the job needs of a Secret. */
const keepDigest = (secret: Stored<Secret>): { readonly sha256: string; readonly told: string | undefined; readonly uid: string } => ({
  sha256: hash("sha256", Buffer.from(secret.data?.["tls.crt"] ?? "", "base64"), "hex"),
  told: secret.metadata.annotations?.[digestKey],
  uid: secret.metadata.uid,
});

const publisher: ControllerDefinition = {
  name: "job",
  access: [
    { kind: Secret, verbs: ["list", "watch", "patch"], why: "to read certificates, and to say what was published" },
    { kind: ConfigMap, verbs: ["get", "list", "watch", "create", "patch"], why: "to publish their digests" },
  ],
  setup({ watch, trigger }) {
    const secrets = watch(Secret, { labels: "bench=job", keep: keepDigest });
    const published = watch(ConfigMap, { labels: `${managedBySelector(operator)},bench=job` });
    trigger(secrets);
    trigger(published);
    return async ({ key, client, signal }) => {
      const secret = secrets.get(key);
      if (!secret) return;
      const name = nameOf(key);
      const { sha256, told, uid } = secret;
      const ownerReferences = [{ apiVersion: "v1", kind: "Secret", name: name.name, uid, controller: true, blockOwnerDeletion: true }];
      const writer = ownedWriter({ client, operator, controller: "job", owner: { kind: Secret, name }, signal });
      await writer.apply(ConfigMap, { metadata: { ...name, labels, ownerReferences }, data: { sha256 } }, liveIn(published, key));
      if (told === sha256) return;
      await client.mergePatch(Secret, name, { metadata: { annotations: { [digestKey]: sha256 } } }, { answer: "metadata" }, signal);
    };
  },
};

endWithInput();
const connection = await benchConnection();
// Only when asked for: its timer keeps a process awake that would otherwise sleep.
if (process.argv.includes("probe")) {
  const endProbe = probeLoop();
  process.stdin.once("data", () => report({ type: "hold", ...endProbe() }));
}
await runOperator(
  {
    operator,
    connection,
    controllers: [publisher],
    leaderElection: { enabled: process.argv.includes("lead") },
    log: createLogger({ level: "warn", destination: process.stderr }),
    onStarted: (started) => void reportReady(started),
  },
  new AbortController().signal,
);

async function reportReady(started: StartedOperator): Promise<void> {
  while (!started.controllers().every(({ ready }) => ready)) await sleep(systemClock, 20);
  report({ type: "ready" });
}
