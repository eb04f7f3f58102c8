// The operator on a real API server, with the CRD and exactly the rights that `npm run manifests` prints.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { ConfigMap, loadConfig, runOperator } from "@keyturn/runtime";
import { soon, useCluster } from "@keyturn/runtime/testing/vitest";
import { expect, it } from "vitest";
import { greetings } from "../src/controller.ts";
import { Greeting, operator } from "../src/greeting.ts";

const manifests = fileURLToPath(new URL("../src/manifests.ts", import.meta.url));
const serviceAccount = { namespace: `${operator.name}-system`, name: operator.name };

const cluster = useCluster();

it("greets on a real API server", async () => {
  const { client } = cluster();
  const { stdout } = await promisify(execFile)(process.execPath, [manifests]);
  await cluster().apply(stdout);
  const connection = await loadConfig({ kubeconfig: await cluster().kubeconfigFor({ serviceAccount }), env: {} });
  const stop = new AbortController();
  const leaderElection = { namespace: serviceAccount.namespace };
  const finished = runOperator({ operator, connection, controllers: [greetings], leaderElection }, stop.signal);
  try {
    const name = { namespace: await cluster().namespace("greetings"), name: "world" };
    await client.create(Greeting, { metadata: name, spec: { who: "world" } });
    await soon(async () => expect((await client.get(ConfigMap, name))?.data).toEqual({ text: "Hello, world!" }));
    await expect(client.create(Greeting, { metadata: { ...name, name: "nobody" }, spec: { who: "" } })).rejects.toThrow("spec.who");
    await client.delete(Greeting, name);
    await soon(async () => expect(await client.get(ConfigMap, name)).toBeUndefined());
  } finally {
    stop.abort();
    await finished;
  }
});
