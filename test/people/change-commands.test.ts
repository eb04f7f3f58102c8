// `keyturn pause`, `resume` and `restart` on a real API server: what they change with a person's own rights, and what they leave alone.
import { Deployment, Secret } from "@keyturn/runtime";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, it } from "vitest";
import { renderCrds } from "../../packages/keyturn/src/cli/manifests.ts";
import { RotationTarget } from "../../packages/keyturn/src/controllers/rotation/api.ts";
import { rotationFeature } from "../../packages/keyturn/src/controllers/rotation/feature.ts";
import { startTyped, typed } from "../support/typed-command.ts";

const cluster = useSharedCluster();

/** A namespace with a RotationTarget and a Secret of one name. */
async function place(prefix: string) {
  await cluster().apply(renderCrds([rotationFeature]));
  const namespace = await cluster().namespace(prefix);
  const metadata = { namespace, name: "key" };
  const target = { apiVersion: "rotator.k8s.telekom.com/v1", kind: "RotationTarget", metadata, spec: { rotationSet: "s", rotationOrder: 1 } };
  await soon(() => cluster().apply(target));
  await cluster().apply({ apiVersion: "v1", kind: "Secret", metadata });
  const where = ["-n", namespace, "--kubeconfig", cluster().adminKubeconfig];
  const paused = async (): Promise<string | undefined> =>
    (await cluster().client.get(RotationTarget, metadata))?.metadata.annotations?.["keyturn.io/paused"];
  return { namespace, where, paused };
}

it("pauses and resumes an object by its name, and only when somebody says yes", async () => {
  const { where, paused } = await place("pausing");
  const unanswered = await typed("pause", "key", ...where);
  expect(unanswered).toMatchObject({
    code: 2,
    err: expect.stringContaining("nothing was changed, because nobody can answer here; repeat it with --yes"),
  });
  const refused = startTyped(["pause", "key", ...where], { ask: () => Promise.resolve("no") });
  expect(await refused.exit).toBe(1);
  expect(refused.output.err).toContain("Keyturn will leave rotationtarget");
  for (const dry of ["--dry-run", "--dry-run=server"])
    expect(await typed("pause", "key", dry, ...where)).toEqual({ code: 0, out: "rotationtarget/key paused (server dry run)\n", err: "" });
  expect(await paused()).toBeUndefined();

  const agreed = startTyped(["pause", "key", ...where], { ask: () => Promise.resolve("y") });
  expect([await agreed.exit, agreed.output.out]).toEqual([0, "rotationtarget/key paused\n"]);
  expect(await paused()).toBe("true");
  expect(await typed("pause", "rotationtargets/key", "--until", "2999-12-24T06:00:00Z", "--yes", ...where)).toMatchObject({ code: 0, err: "" });
  expect(await paused()).toBe("2999-12-24T06:00:00Z");
  const beganMs = Date.now();
  expect(await typed("pause", "rotationtarget/key", "--for", "2h", "-y", ...where)).toMatchObject({ code: 0 });
  expect(Date.parse((await paused()) ?? "")).toBeGreaterThan(beganMs + 3_600_000);

  expect(await typed("resume", "key", "--dry-run", ...where)).toMatchObject({ code: 0, out: "rotationtarget/key resumed (server dry run)\n" });
  expect(await paused()).toBeDefined();
  expect(await typed("resume", "key", "--yes", ...where)).toEqual({ code: 0, out: "rotationtarget/key resumed\n", err: "" });
  expect(await paused()).toBeUndefined();
  expect(await typed("resume", "key", ...where)).toEqual({ code: 0, out: "rotationtarget/key is not paused\n", err: "" });
});

it("says what it cannot pause: what is not there, what is of no such kind, a time that has been, what the person may not change", async () => {
  const { namespace, where } = await place("unpausable");
  const refusals: readonly (readonly [readonly string[], number, RegExp])[] = [
    [["nothing"], 2, /there is no object "nothing" in namespace unpausable/],
    [["rotationtarget/nothing"], 2, /there is no rotationtarget "nothing"/],
    [["pod/key"], 2, /"pod" cannot be paused; there are .*rotationtarget.*deployment.*namespace/],
    [["a/b/c"], 2, /is not KIND\/NAME/],
    [["key", "--until", "2001-01-01T00:00:00Z"], 2, /is no time to come/],
    [["key", "--until", "tomorrow"], 2, /is no time to come/],
    [["key", "--until", "2999-12-24T06:00:00Z", "--for", "1h"], 2, /give one of them/],
  ];
  for (const [words, code, says] of refusals)
    expect(await typed("pause", ...words, "--yes", ...where)).toMatchObject({ code, out: "", err: expect.stringMatching(says) });
  const rules = [{ apiGroups: ["rotator.k8s.telekom.com"], resources: ["rotationtargets"], verbs: ["get"] }];
  const kubeconfig = await cluster().kubeconfigFor({ user: `reader-${namespace}`, namespacedRules: { [namespace]: rules } });
  expect(await typed("pause", "key", "--yes", "-n", namespace, "--kubeconfig", kubeconfig)).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^keyturn: you lack the right to patch rotationtargets\.rotator\.k8s\.telekom\.com in namespace unpausable/),
  });
});

it("restarts the workloads that use a Secret one after the other, and stops at the first that is not healthy in time", async () => {
  const { namespace, where } = await place("restarting");
  // No node has this label: pods that want it never run.
  const put = (name: string, secretName: string, nodeSelector: Readonly<Record<string, string>> = {}): Promise<unknown> => {
    const containers = [{ name: "app", image: "app", envFrom: [{ secretRef: { name: secretName } }] }];
    const template = { metadata: { labels: { name } }, spec: { nodeSelector, containers } };
    const deployment = {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { namespace, name },
      spec: { selector: { matchLabels: { name } }, template },
    };
    return cluster().apply(deployment);
  };
  await put("one", "key", { "keyturn.io/no-such-node": "true" });
  await put("two", "key");
  await put("unrelated", "another");
  const restartedAt = async (name: string): Promise<string | undefined> =>
    (await cluster().client.get(Deployment, { namespace, name }))?.spec?.template?.metadata?.annotations?.["kubectl.kubernetes.io/restartedAt"];

  const dry = await typed("restart", "secret/key", "--dry-run", ...where);
  expect(dry).toMatchObject({
    code: 0,
    out: expect.stringMatching(/deployment\/one: [^]*deployment\/two: [^]*deployment\/one restarted \(server dry run\)/),
  });
  expect(dry.out).not.toContain("unrelated");
  expect(await typed("restart", "secret/key", ...where)).toMatchObject({ code: 2, err: expect.stringContaining("nothing was changed") });
  for (const name of ["one", "two", "unrelated"]) expect(await restartedAt(name)).toBeUndefined();

  const stopped = await typed("restart", "secret/key", "--yes", "--timeout", "1s", ...where);
  expect(stopped).toEqual({
    code: 1,
    out: "deployment/one restarted\n",
    err: "keyturn: deployment/one is not healthy in time; nothing further was restarted\n",
  });
  expect(await restartedAt("one")).toMatch(/^\d{4}-/);
  expect(await restartedAt("two")).toBeUndefined();
  expect(await restartedAt("unrelated")).toBeUndefined();

  expect(await typed("restart", "deployment/two", "--yes", ...where)).toEqual({
    code: 0,
    out: "deployment/two restarted\ndeployment/two is healthy\n",
    err: "",
  });
  expect(await restartedAt("two")).toMatch(/^\d{4}-/);

  expect(await typed("restart", "secret/unused", "--yes", ...where)).toMatchObject({ code: 2, err: expect.stringContaining("uses secret/unused") });
  expect(await typed("restart", "deployment/gone", "--yes", ...where)).toMatchObject({
    code: 2,
    err: expect.stringContaining("there is no deployment/gone"),
  });
  expect(await typed("restart", "pod/one", "--yes", ...where)).toMatchObject({
    code: 2,
    err: expect.stringContaining("neither a Secret nor a ConfigMap"),
  });
  expect((await cluster().client.get(Secret, { namespace, name: "key" }))?.metadata.annotations).toBeUndefined();
});
