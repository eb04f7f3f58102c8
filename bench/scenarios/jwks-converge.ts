// How long does it take to publish 1,000 JWKSConfigs from nothing, next to a bare loop that makes the same writes?
import { generateKeyPairSync } from "node:crypto";
import { type Client, collectionPath, ConfigMap, Deployment, Namespace, Secret, Service } from "@keyturn/runtime";
import * as z from "zod";
import { makeCertificate, secretData } from "../../packages/keyturn/test/certificates.ts";
import { JWKSConfig } from "../../packages/keyturn/src/controllers/jwks/api.ts";
import { renderCrds } from "../../packages/keyturn/src/cli/crds.ts";
import type { Contestants } from "../contestants.ts";
import { type Command, ContestantProcess } from "../measure/contestant-process.ts";
import { forEachIndex } from "../programs/for-each-index.ts";
import type { Bed, Scenario } from "../scenario.ts";

const done = z.object({ type: z.literal("done"), ms: z.number() });

/** The scenario, for these contestants. */
export function jwksConverge(contestants: Contestants): Scenario {
  let runs = 0;
  return {
    id: "jwks-converge",
    title: "Publishing 1,000 JWKSConfigs from nothing",
    method:
      "A new namespace with 1,000 Secrets and 1,000 JWKSConfigs that want nginx: four managed objects, a finalizer and a status each. " +
      "Keyturn is timed from its start, caches included, until the status of every object says Published; its rate limits are off. " +
      "The bare loop knows every write beforehand and sends them with as many workers as the controller has; only its writes are timed. No controller makes pods, which would take longer than either. " +
      "(With `--quick`, 200 objects.)",
    contestants: [contestants.ours("jwks-converge", "Keyturn"), contestants.ours("jwks-bare-loop", "bare loop")],
    metrics: [{ id: "converged", label: "converged", unit: "ms" }],
    goals: [
      {
        text: "1,000 JWKSConfigs: time, of a bare loop's",
        contestant: "jwks-converge",
        metric: "converged",
        type: "ratio",
        of: "jwks-bare-loop",
        atMost: 1.5,
      },
    ],
    async prepare({ cluster }) {
      await cluster.apply(renderCrds());
    },
    async measure({ command }, bed) {
      const namespace = `bench-jwks-${runs++}`;
      const count = bed.quick ? 200 : 1000;
      await seed(bed.cluster.client, namespace, count);
      return { converged: await converge({ ...command, args: [...command.args, namespace, String(count)] }, bed, namespace) };
    },
  };
}

async function converge(command: Command, { cluster }: Bed, namespace: string): Promise<number> {
  try {
    await using contestant = new ContestantProcess(command, cluster.adminKubeconfig);
    return done.parse(await contestant.next(300_000)).ms;
  } finally {
    // What is left behind makes the next run slower: the API server looks for a free address among all Services.
    for (const kind of [Service, Deployment, ConfigMap, Secret]) {
      await cluster.client.request({ method: "DELETE", path: collectionPath(kind, namespace), timeoutMs: 120_000 });
    }
  }
}

/** One certificate for all: what differs between objects is their names. */
async function seed(client: Client, namespace: string, count: number): Promise<void> {
  const { certificate, privateKey } = makeCertificate({ privateKey: generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey });
  const data = secretData(certificate, privateKey);
  await client.create(Namespace, { metadata: { name: namespace } });
  await forEachIndex(count, async (index) => {
    const name = `object-${String(index).padStart(4, "0")}`;
    await client.create(Secret, { metadata: { namespace, name }, type: "kubernetes.io/tls", data });
    const spec = { certificateSecret: name, configMapName: `${name}-jwks`, nginxConfigMapName: `${name}-nginx` };
    await client.request({
      method: "POST",
      path: collectionPath(JWKSConfig, namespace),
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ apiVersion: `${JWKSConfig.group}/${JWKSConfig.version}`, kind: JWKSConfig.kind, metadata: { namespace, name }, spec }),
    });
  });
}
