// Records what a release leaves in a cluster, for the tests of the upgrade to the next one: its CRDs, and the examples with all that it made of them.
//
//     node test/upgrade/record.ts PROGRAM FOLDER
//
// PROGRAM is that release's bin/keyturn or bundle; FOLDER is test/upgrade/<version>. Run it once, when a release is made. For the tests on a real node,
// put its chart beside what this writes (`chart.tgz`), and its bundle, compressed with Brotli (`keyturn.mjs.br`).
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { everything, startCluster } from "@keyturn/runtime/testing";
import { stringify } from "yaml";
import * as z from "zod";
import { examplesFolder, readManifests } from "../../packages/keyturn/src/dev/stories.ts";
import { recordedResources } from "./recorded-resources.ts";

const [program, folder] = process.argv.slice(2);
if (!program || !folder) throw new Error("usage: node test/upgrade/record.ts PROGRAM FOLDER");

/** Without an identity provider and a mesh: what these two leave is tested elsewhere. */
const controllers = "rotation,jwks,checksum";

await using cluster = await startCluster(everything);
const crds = (await promisify(execFile)(program, ["crds"])).stdout;
await cluster.apply(crds);
const manifests = (await readManifests(examplesFolder)).filter((text) => /namespace: keyturn-examples\b|name: keyturn-examples|-verify/.test(text));
for (const manifest of manifests) await cluster.apply(manifest);
const args = ["run", `--controllers=${controllers}`, "--leader-elect=false", "--metrics-bind-address=0", "--health-probe-bind-address=0"];
const operator = spawn(program, args, { env: { ...process.env, KUBECONFIG: cluster.adminKubeconfig }, stdio: "ignore" });
await cluster.kubectl("wait", "--for=condition=Ready", "--timeout=180s", "--all-namespaces", "--all", "rotationtargets,jwksconfigs,jwks.rieset.io");
await cluster.kubectl("wait", "--for=condition=Current", "--timeout=180s", "--all-namespaces", "--all", "secretchecksums,ingresschecksums");
operator.kill("SIGTERM");
await once(operator, "exit");

const listSchema = z.object({ items: z.array(z.looseObject({ metadata: z.looseObject({}) })) });
const objects: object[] = [];
for (const { apiVersion, kind, path } of recordedResources) {
  for (const namespace of ["keyturn-examples", "keyturn-examples-verify"]) {
    const { items } = listSchema.parse(await cluster.client.request({ method: "GET", path: path(namespace) }));
    // What is listed does not name its kind, and Kubernetes itself puts a ConfigMap into every namespace.
    for (const item of items) if (item.metadata["name"] !== "kube-root-ca.crt") objects.push({ apiVersion, kind, ...item });
  }
}
await mkdir(folder, { recursive: true });
await writeFile(join(folder, "crds.yaml"), crds);
await writeFile(join(folder, "objects.yaml"), objects.map((object) => stringify(object, { lineWidth: 0 })).join("---\n"));
