// The guide says what there is: every reason, every flag, and commands that work.
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { Namespace } from "@keyturn/runtime";
import { startOperator } from "@keyturn/runtime/testing";
import { useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { keyturn } from "../../packages/keyturn/src/feature/feature.ts";
import { consumersFeature } from "../../packages/keyturn/src/controllers/consumers/feature.ts";
import { consumersFlags } from "../../packages/keyturn/src/controllers/consumers/flags.ts";
import { consumersReasons } from "../../packages/keyturn/src/controllers/consumers/reasons.ts";
import { operatorKubeconfig } from "../support/operated-namespace.ts";
import { runShell, shellBlock } from "../support/shell-block.ts";
import { typed } from "../support/typed-command.ts";

const cluster = useSharedCluster();
const guide = "guides/use.md";
const text = await readFile(new URL(`../../docs/${guide}`, import.meta.url), "utf8");

test("every reason is in the guide", () => {
  expect(Object.keys(consumersReasons).filter((reason) => !text.includes(`\`${reason}\``))).toEqual([]);
});

test("every flag is in the guide, with its default", () => {
  for (const { name, default: byDefault } of Object.values(consumersFlags)) {
    expect(text).toContain(byDefault === undefined ? `| \`--${name}\` | | ` : `| \`--${name}\` | \`${byDefault}\` | `);
  }
});

test("a first workload is restarted when what it uses changes, by an operator with exactly its rights", async () => {
  const namespace = `use-${randomUUID().slice(0, 8)}`;
  await cluster().client.create(Namespace, { metadata: { name: namespace } });
  const controllers = consumersFeature.controllers((flag) => flag.parse(undefined));
  const access = controllers.flatMap((controller) => controller.access);
  const kubeconfig = await operatorKubeconfig(cluster(), namespace, access);
  const operator = await startOperator({ operator: keyturn, kubeconfig, controllers, namespaces: [namespace], leaderElection: { namespace } });
  try {
    const here = `kubectl() { command kubectl --namespace=${namespace} "$@"; }\n`;
    await runShell(cluster(), here + (await shellBlock(guide, "first")));
    const printed = await runShell(cluster(), here + (await shellBlock(guide, "change")));
    expect(printed).toMatch(/CredentialRestart +Deployment\/web +restarted: password of secret db has changed/);
    const asked = ["-n", namespace, "--kubeconfig", cluster().adminKubeconfig];
    for (const subject of ["secret/db", "consumers/db", "consumers/secret/db"]) {
      const said = await typed("plan", subject, ...asked);
      expect(said.err + said.out).toMatch(/deployment\/web .* password of secret db, read when a container starts/);
    }
    expect((await typed("plan", "configmap/db", ...asked)).out).toBe("no workload uses configmap db\n");
    expect((await typed("plan", "consumers/web/db", ...asked)).err).toContain("ask for secret/NAME or configmap/NAME");
    expect((await typed("status", "db", ...asked)).out).toMatch(/use +deployment\/\S+\/web +healthy +Current/);
  } finally {
    await operator.stop();
    await cluster().client.delete(Namespace, { name: namespace });
  }
});
