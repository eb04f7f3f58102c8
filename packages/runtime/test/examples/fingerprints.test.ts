// The example of the runtime's README: what is printed there is what runs here.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { ConfigMap, Secret } from "@keyturn/runtime";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";

const example = fileURLToPath(new URL("../../examples/fingerprints.ts", import.meta.url));
const readme = fileURLToPath(new URL("../../README.md", import.meta.url));

const cluster = useSharedCluster();
it("is printed in the README as it is, in at most 40 lines", async () => {
  const code = await readFile(example, "utf8");
  expect(await readFile(readme, "utf8")).toContain(`\`\`\`ts\n${code}\`\`\``);
  expect(code.trimEnd().split("\n").length).toBeLessThanOrEqual(40);
});

it("does what it says, with the rights that it declares, and ends cleanly", async () => {
  const { client } = cluster();
  const namespace = await cluster().namespace("fingerprints");
  const kubeconfig = await cluster().kubeconfigFor({
    serviceAccount: { namespace, name: "fingerprints" },
    rules: [
      { apiGroups: [""], resources: ["secrets"], verbs: ["list", "watch"] },
      { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch", "create", "patch", "delete"] },
    ],
    namespacedRules: { default: [{ apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "create", "update"] }] },
  });
  const secret = { metadata: { namespace, name: "site", labels: { fingerprint: "yes" } }, data: { "tls.crt": "YQ==" } };
  await client.create(Secret, secret);

  const operator = spawn(process.execPath, [example], {
    env: { KUBECONFIG: kubeconfig, HOME: "/nonexistent" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(operator, "exit");
  try {
    await soon(async () => expect((await client.get(ConfigMap, { namespace, name: "site" }))?.data?.sha256).toMatch(/^[0-9a-f]{64}$/));
    await client.delete(ConfigMap, { namespace, name: "site" });
    await soon(async () => expect(await client.get(ConfigMap, { namespace, name: "site" })).toBeDefined());
    await client.delete(Secret, { namespace, name: "site" });
    await soon(async () => expect(await client.get(ConfigMap, { namespace, name: "site" })).toBeUndefined());
  } finally {
    operator.kill("SIGINT");
  }
  expect(await exited).toEqual([0, null]);
});
