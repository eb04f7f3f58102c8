// Argo Rollouts in `keyturn status`: like other workloads where they are served, and not a word of them elsewhere.
import { soonWithin, useCluster } from "@keyturn/runtime/testing/vitest";
import { expect, it } from "vitest";
import { restartedForAnnotation } from "../../packages/keyturn/src/controllers/sidecars/annotations.ts";
import { Rollout } from "../../packages/keyturn/src/controllers/sidecars/workload.ts";
import { restartedRollout, rolloutDefinition } from "../sidecars/rollout-definition.ts";
import { startTyped, typed } from "../support/typed-command.ts";

// Its own: other files install the CRD.
const cluster = useCluster();
const soon = soonWithin(90_000);
const timeout = 240_000;

it("says nothing of Rollouts where they are not served, whatever one's rights, and shows them where they are", { timeout }, async () => {
  const namespace = await cluster().namespace("argo");
  const where = ["-n", namespace, "--kubeconfig", cluster().adminKubeconfig];
  const nobody = ["-n", namespace, "--kubeconfig", await cluster().kubeconfigFor({ user: "nobody-with-rollouts" })];
  const before = await typed("status", ...where);
  expect(before).toMatchObject({ code: 0, err: "" });
  expect(before.out).toMatch(/^roll out +none/m);
  expect(before.out).not.toContain("rollouts");
  const refused = await typed("status", ...nobody);
  expect(refused.out).toContain("roll out: deployments.apps is not shown");
  expect(refused.out).not.toContain("rollouts");

  await cluster().apply(rolloutDefinition);
  await soon(() => cluster().client.apply(Rollout, restartedRollout(namespace, "canary"), { fieldManager: "test" }));
  // What is served is told a moment later.
  await soon(async () => {
    const { code, out } = await typed("status", ...where);
    expect(code).toBe(0);
    expect(out).toMatch(new RegExp(`^roll out +1 unknown .*rollout/${namespace}/canary counts as stuck unless it is healthy by then$`, "m"));
  });
  const one = await typed("status", "rollout/canary", ...where);
  expect(one.code).toBe(0);
  expect(one.out).toMatch(new RegExp(`^roll out +rollout/${namespace}/canary +unknown +NotLed`, "m"));
  expect((await typed("status", ...nobody)).out).toMatch(/^roll out: rollouts\.argoproj\.io is not shown: you lack the right to/m);
});

it("follows them, and puts first what needs attention", { timeout }, async () => {
  const namespace = await cluster().namespace("argo-watch");
  await cluster().apply(rolloutDefinition);
  const { metadata, ...rollout } = restartedRollout(namespace, "canary");
  await soon(() => cluster().client.apply(Rollout, { metadata, ...rollout }, { fieldManager: "test" }));
  const command = startTyped(["status", "--watch", "-n", namespace, "--kubeconfig", cluster().adminKubeconfig]);
  await soon(() => expect(command.output.out).toMatch(/^roll out +1 unknown/m));
  const { labels: _, ...unmarked } = metadata;
  const finished = { ...rollout, metadata: { ...unmarked, annotations: { [restartedForAnnotation]: "digest" } } };
  await cluster().client.apply(Rollout, finished, { fieldManager: "test" });
  await soon(() => expect(command.output.out).toMatch(new RegExp(`Z  roll out  rollout/${namespace}/canary  degraded  RestartWithoutEffect`)));
  command.interrupt();
  expect(await command.exit).toBe(0);
});
