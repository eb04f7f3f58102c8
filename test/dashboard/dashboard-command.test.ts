// `keyturn dashboard`: the page on one's own machine, with one's own rights and no more.
import { chmod, readFile, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { soon, temporaryFolder, useCluster } from "@keyturn/runtime/testing/vitest";
import { beforeAll, expect, test } from "vitest";
import { renderCrds } from "../../packages/keyturn/src/cli/manifests.ts";
import { Rollout } from "../../packages/keyturn/src/workloads/workload.ts";
import { startKeyturn } from "../support/keyturn-process.ts";
import { restartedRollout, rolloutDefinition } from "../support/rollout-definition.ts";
import { startDashboardCommand } from "./support/dashboard-command.ts";
import { ask, namespacesIn, openPage } from "./support/page-reader.ts";
import { publishKeys, rotateKeys } from "./support/shown-objects.ts";
import { features } from "../../packages/keyturn/src/registry.ts";

const cluster = useCluster();

beforeAll(async () => {
  await cluster().apply(renderCrds(features));
  for (const namespace of ["mine", "theirs"]) {
    await publishKeys(cluster(), namespace, "tokens");
    await rotateKeys(cluster(), namespace, "keys");
  }
});

test("as the README prints it, the command opens the page in the browser", async () => {
  const readme = await readFile(new URL("../../README.md", import.meta.url), "utf8");
  const [, ...words] = /^keyturn dashboard\b[^#\n]*/m.exec(readme)?.[0].trim().split(/ +/) ?? [];
  expect(words).toEqual(["dashboard"]);
  const folder = await temporaryFolder();
  const opened = join(folder, "opened");
  for (const opener of ["xdg-open", "open"]) {
    await writeFile(join(folder, opener), `#!/bin/sh\necho "$1" > ${opened}.part && mv ${opened}.part ${opened}\n`);
    await chmod(join(folder, opener), 0o755);
  }
  const environment = { KUBECONFIG: cluster().adminKubeconfig, PATH: `${folder}${delimiter}${process.env["PATH"]}` };
  const keyturn = startKeyturn(words, environment);
  try {
    const file = await soon(() => readFile(opened, "utf8"));
    const door = await readFile(fileURLToPath(file.trim()), "utf8");
    const [, url = "", secret = ""] = /url=(http:\/\/127\.0\.0\.1:\d+\/)#secret=([^"]+)"/.exec(door) ?? [];
    expect((await ask(`${url}api/stream`, { bearer: secret, method: "HEAD" })).status).toBe(200);
    await soon(() => expect(keyturn.output.out).toContain("it is open in your browser"));
  } finally {
    keyturn.kill("SIGTERM");
  }
  expect({ code: await keyturn.exit, err: keyturn.output.err }).toEqual({ code: 0, err: "" });
});

// The tests that follow go on side by side: that a kind has come is noticed after a while.

test.concurrent("shows all that an administrator may see, to nobody without the secret, and ends when told to", async () => {
  let address = "";
  {
    await using served = await startDashboardCommand(cluster().adminKubeconfig);
    address = served.url;
    for (const path of ["api/stream", "api/object"]) expect((await ask(`${served.url}${path}`, { bearer: "guessed" })).status).toBe(401);
    using page = await openPage(served.url, { bearer: served.secret });
    await soon(() => expect(namespacesIn(page, "keySets")).toEqual(["mine", "theirs"]));
    await soon(() => expect(namespacesIn(page, "rotationSets")).toEqual(["mine", "theirs"]));
    await soon(() => expect(page.stages.map(({ state, troubles }) => [state, troubles])).toEqual(Array.from({ length: 6 }, () => ["on", []])));
    // Nobody runs the controllers here, and that is what is told.
    expect(page.table("keySets")[0]).toMatchObject({ health: "unknown", reason: "NotReported" });
    expect(page.hello).toMatchObject({ cluster: expect.stringMatching(/^https:\/\/127\.0\.0\.1:\d+$/) });
    await publishKeys(cluster(), "mine", "later");
    await soon(() => expect(page.records.has("jwks/JWKSConfig/mine/later")).toBe(true));
    const { body } = await ask(`${served.url}api/object?resource=jwksconfigs.keyturn.io&namespace=mine&name=tokens`, { bearer: served.secret });
    expect(JSON.parse(body)).toMatchObject({ events: [], history: [{ what: "was created" }] });
  }
  await expect(ask(address)).rejects.toThrow(/ECONNREFUSED/);
});

test.concurrent("shows somebody with few rights what they may see, and says which rights are missing", async () => {
  const rules = [{ apiGroups: ["keyturn.io"], resources: ["jwksconfigs"], verbs: ["list", "watch"] }];
  const kubeconfig = await cluster().kubeconfigFor({ user: "somebody", namespacedRules: { mine: rules } });
  await using served = await startDashboardCommand(kubeconfig, "--namespaces", "mine");
  using page = await openPage(served.url, { bearer: served.secret });
  await soon(() => expect(page.table("keySets").map(({ ref }) => ref.namespace)).toContain("mine"));
  await soon(() => {
    const states = new Map(page.stages.map(({ step, state }) => [step, state]));
    expect([...states.values()]).toEqual(["limited", "limited", "limited", "limited", "limited", "limited"]);
  });
  const rotation = page.stages.find(({ step }) => step === "rotation");
  expect(rotation?.troubles).toContainEqual({
    resource: "rotationtargets.rotator.k8s.telekom.com",
    namespace: "mine",
    state: "forbidden",
    message: expect.stringContaining("rotationtargets.rotator.k8s.telekom.com in namespace mine"),
  });
  expect(page.bytes).not.toContain("theirs");
  expect(page.hello?.namespaces).toEqual(["mine"]);
  const { body } = await ask(`${served.url}api/object?resource=jwksconfigs.keyturn.io&namespace=mine&name=tokens`, { bearer: served.secret });
  expect(JSON.parse(body)).toMatchObject({ eventsHidden: "the right to list events.events.k8s.io in namespace mine is missing" });
});

test.concurrent("shows Argo Rollouts from when their CRD is there, and says nothing of them before", async () => {
  await using served = await startDashboardCommand(cluster().adminKubeconfig, "--sidecars.argo-rollouts");
  using page = await openPage(served.url, { bearer: served.secret });
  const steps = (): readonly unknown[] => page.stages.map(({ step, state, troubles }) => [step, state, troubles]);
  await soon(() => expect(steps()).toContainEqual(["sidecars", "on", []]));
  await cluster().apply(rolloutDefinition);
  await soon(() => cluster().client.apply(Rollout, restartedRollout("mine", "canary"), { fieldManager: "test" }));
  await soon(() => expect(page.records.get("workload/Rollout/mine/canary")).toMatchObject({ facet: "rolling", reason: "Rolling" }));
  await soon(() => expect(steps()).toContainEqual(["sidecars", "on", []]));
  await cluster().client.delete(Rollout, { namespace: "mine", name: "canary" });
  await soon(() => expect(page.records.has("workload/Rollout/mine/canary")).toBe(false));
  expect(served.output.err).toBe("");
});
