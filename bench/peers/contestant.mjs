// What the contestants on npm packages have in common: how they talk to the benchmark, what the common job needs of a Secret, and a work queue.
//
// Such a program takes the scenario's name as its argument and a kubeconfig in BENCH_KUBECONFIG, says on standard output, in lines of JSON,
// what it reached, and ends when its standard input does, so that it never outlives the benchmark.
import { hash } from "node:crypto";

/** Where the common job notes on a Secret what it has published. */
export const digestKey = "bench/digest";

/** Prints one line. */
export function report(line) {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

/** Says that a change is being answered, with the clock that all processes of the machine share. */
export function reportReaction(secret) {
  const atNs = String(process.hrtime.bigint());
  report({ type: "reconciled", sequence: secret.metadata.annotations?.["bench/sequence"] ?? "", atNs });
}

/** Runs the scenario that was asked for. */
export async function runScenario(scenarios) {
  const scenario = scenarios[process.argv[2]];
  if (!scenario) throw new Error(`usage: main.mjs ${Object.keys(scenarios).join("|")}`);
  process.stdin.resume().on("end", () => process.exit(0));
  await scenario();
}

/** The SHA-256 of a Secret's certificate. */
export function certificateDigest(secret) {
  return hash("sha256", Buffer.from(secret.data?.["tls.crt"] ?? "", "base64"), "hex");
}

/** The ConfigMap that the common job keeps for a Secret. */
export function configMapFor({ metadata: { namespace, name, uid } }, digest) {
  const ownerReferences = [{ apiVersion: "v1", kind: "Secret", name, uid, controller: true, blockOwnerDeletion: true }];
  return { metadata: { namespace, name, labels: { bench: "job" }, ownerReferences }, data: { sha256: digest } };
}

/** What can be left out of every cached object. */
export function stripManagedFields(object) {
  delete object.metadata.managedFields;
}

/** Leaves of a Secret what the common job needs, in place: the program has no other say in what is cached. */
export function keepDigest(secret) {
  const { namespace, name, uid, resourceVersion } = secret.metadata;
  const digest = certificateDigest(secret);
  for (const field of Object.keys(secret)) delete secret[field];
  secret.metadata = { namespace, name, uid, resourceVersion };
  secret.sha256 = digest;
}

/** As many as the other contestants have. */
const workers = 16;
const retryMs = 100;

/** As long as the server asked for, which with a 429 it does. */
const waitMs = (error) => Number(error?.headers?.["retry-after"]) * 1000 || retryMs;

/** The work queue that a program on a plain client must bring along: distinct keys, each worked on by one worker at a time. Gives a function that adds a key; `reconcile` is called for it, and again if that failed: after 100 ms, or when the server wants it. */
export function createQueue(reconcile) {
  const waiting = new Set();
  const running = new Set();
  const next = () => {
    for (const key of waiting) {
      if (running.size >= workers) return;
      if (running.has(key)) continue;
      waiting.delete(key);
      running.add(key);
      reconcile(key)
        .catch((error) => setTimeout(() => add(key), waitMs(error)))
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
}
