// What `keyturn status`, `doctor` and `version` say in a cluster where nothing was installed, and once something is.
import { crdOf, CustomResourceDefinition, type KubeObject } from "@keyturn/runtime";
import { soon, useCluster } from "@keyturn/runtime/testing/vitest";
import { describe, expect, it } from "vitest";
import { renderCrds } from "../../packages/keyturn/src/cli/manifests.ts";
import { RotationTarget } from "../../packages/keyturn/src/controllers/rotation/api.ts";
import { rotationFeature } from "../../packages/keyturn/src/controllers/rotation/feature.ts";
import { restartedForAnnotation } from "../../packages/keyturn/src/workloads/annotations.ts";
import { Rollout } from "../../packages/keyturn/src/workloads/workload.ts";
import { restartedRollout, rolloutDefinition } from "../support/rollout-definition.ts";
import { startTyped, typed } from "../support/typed-command.ts";

// Its own: other files install CRDs.
const cluster = useCluster();

const put = (object: KubeObject & { readonly spec: object }): Promise<unknown> => cluster().apply(object);

const putLease = (namespace: string, controller: string, renewedMs: number): Promise<unknown> =>
  put({
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { namespace, name: `keyturn-${controller}` },
    spec: { holderIdentity: `pod-in-${namespace}`, leaseDurationSeconds: 15, renewTime: new Date(renewedMs).toISOString().replace("Z", "000Z") },
  });

describe("in a cluster where nothing was installed", () => {
  const ask = (...words: readonly string[]): ReturnType<typeof typed> => typed(...words, "--kubeconfig", cluster().adminKubeconfig);

  it("keyturn status says of each step that it is not installed, and of none that it failed", async () => {
    const { code, out } = await ask("status", "-A");
    expect(code).toBe(0);
    expect(out).toMatch(/^rotate +not installed +nobody/m);
    expect(out).toContain(
      "rotate: rotationtargets.rotator.k8s.telekom.com is not served here; if this step is wanted, apply what `keyturn crds` prints",
    );
    expect(out).toMatch(/^roll out +none/m);
  });

  it("keyturn doctor names what is missing, and is content once that is there", async () => {
    const before = await ask("doctor", "--controllers=rotation");
    expect(before.code).toBe(1);
    expect(before.out).toMatch(/fail +kinds +rotationtargets.rotator.k8s.telekom.com is not installed\n +→ apply what `keyturn crds` prints/);
    expect(before.out).toMatch(/warn +leaders +no leader elected for rotation/);
    // Clusters for tests run without.
    expect(before.out).toMatch(/warn +priority +the API server does not say that .* is on\n +→ see the API server's --enable-priority-and-fairness/);
    await cluster().apply(renderCrds([rotationFeature]));
    // A server that has just got a kind may not answer for it at once.
    await soon(async () => {
      const after = await ask("doctor", "--controllers=rotation");
      expect(after.out.split("\n").filter((line) => line.startsWith("fail"))).toEqual([]);
      expect(after.code).toBe(0);
      expect(after.out).toMatch(/ok +kinds +rotationtargets.rotator.k8s.telekom.com is installed as this release defines it/);
    });
  });

  it("keyturn doctor sees another schema, a silent leader, two leaders, and an original beside us", async () => {
    const crd = crdOf(RotationTarget);
    const versions = crd.spec.versions.map((version) => ({
      ...version,
      additionalPrinterColumns: [{ name: "X", type: "string", jsonPath: ".spec.x" }],
    }));
    await cluster().client.apply(CustomResourceDefinition, { ...crd, spec: { ...crd.spec, versions } }, { fieldManager: "test", force: true });
    for (const name of ["ops", "other", "fortsa-system"]) await cluster().apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
    await put({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { namespace: "fortsa-system", name: "fortsa-controller-manager" },
      spec: {
        selector: { matchLabels: { a: "b" } },
        template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "manager", image: "ghcr.io/somebody/fortsa:v0.1" }] } },
      },
    });
    await putLease("ops", "rotation", Date.now() - 3_600_000);
    const silent = await ask("doctor", "--controllers=rotation,sidecars");
    expect(silent.code).toBe(1);
    expect(silent.out).toMatch(/warn +kinds +rotationtargets.rotator.k8s.telekom.com is installed with another schema than this release's/);
    expect(silent.out).toMatch(/fail +leaders +no leader for rotation: pod-in-ops in ops is silent, 6\dm after its last sign of life/);
    expect(silent.out).toMatch(
      /fail +originals +Fortsa still runs as Deployment fortsa-system\/fortsa-controller-manager, over the same objects as sidecars/,
    );
    // Leases that nobody renews, but not for a long time.
    const soonMs = Date.now() + 3_600_000;
    for (const namespace of ["ops", "other"]) await putLease(namespace, "rotation", soonMs);
    const twice = await ask("doctor", "--controllers=rotation", "-o", "yaml");
    expect(twice.code).toBe(1);
    expect(twice.out).toContain("rotation is led twice, by pod-in-ops in ops and pod-in-other in other");
  });

  it("keyturn version names the operators that run", async () => {
    await put({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { namespace: "default", name: "my-keyturn", labels: { "app.kubernetes.io/name": "keyturn" } },
      spec: {
        replicas: 2,
        selector: { matchLabels: { a: "b" } },
        template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "keyturn", image: "ghcr.io/keyturn/keyturn:9.9.9" }] } },
      },
    });
    const { code, out } = await ask("version");
    expect(code).toBe(0);
    expect(out).toMatch(/^keyturn +\d+\.\d+\.\d+$/m);
    expect(out).toMatch(/^kubernetes +v1\.\d+/m);
    expect(out).toMatch(/^operator +ghcr.io\/keyturn\/keyturn:9.9.9 \(0 of 2 ready, default\/my-keyturn\)$/m);
    // Not by its arguments an operator.
    expect((await ask("doctor", "--controllers=rotation")).out).not.toContain("my-keyturn");
    expect((await typed("version", "--client")).out).toMatch(/^keyturn \d+\.\d+\.\d+\n$/);
  });
});

it("keyturn doctor checks what the Deployment runs, and says that none of its pods is ready", async () => {
  const namespace = await cluster().namespace("installed");
  const container = { name: "keyturn", image: "keyturn:1", args: ["run", "--controllers=checksum"] };
  await put({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { namespace, name: "keyturn", labels: { "app.kubernetes.io/name": "keyturn" } },
    spec: { selector: { matchLabels: { a: "b" } }, template: { metadata: { labels: { a: "b" } }, spec: { containers: [container] } } },
  });
  const { code, out } = await typed("doctor", "--operator-namespace", namespace, "--kubeconfig", cluster().adminKubeconfig);
  expect(code).toBe(1);
  expect(out).toMatch(new RegExp(`^fail +operator +Deployment ${namespace}/keyturn: 0 of 1 pods ready$`, "m"));
  expect(out).toContain("secretchecksums.");
  expect(out).not.toContain("eventingauths.");
});

// Argo Rollouts: like other workloads where they are served, and not a word of them elsewhere.

it("says nothing of Rollouts where they are not served, whatever one's rights, and shows them where they are", async () => {
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
  await putLease(namespace, "sidecars", Date.now() + 3_600_000);
  await soon(() => cluster().client.apply(Rollout, restartedRollout(namespace, "canary"), { fieldManager: "test" }));
  // What is served is told a moment later.
  await soon(async () => {
    const { code, out } = await typed("status", ...where);
    expect(code).toBe(0);
    expect(out).toMatch(new RegExp(`^roll out +1 progressing .*rollout/${namespace}/canary counts as stuck unless it is healthy by then$`, "m"));
  });
  const one = await typed("status", "rollout/canary", ...where);
  expect(one.code).toBe(0);
  expect(one.out).toMatch(new RegExp(`^roll out +rollout/${namespace}/canary +progressing +Rolling`, "m"));
  expect((await typed("status", ...nobody)).out).toMatch(/^roll out: rollouts\.argoproj\.io is not shown: you lack the right to/m);
});

it("follows them, and puts first what needs attention", async () => {
  const namespace = await cluster().namespace("argo-watch");
  await cluster().apply(rolloutDefinition);
  await putLease(namespace, "sidecars", Date.now() + 3_600_000);
  const { metadata, ...rollout } = restartedRollout(namespace, "canary");
  await soon(() => cluster().client.apply(Rollout, { metadata, ...rollout }, { fieldManager: "test" }));
  const command = startTyped(["status", "--watch", "-n", namespace, "--kubeconfig", cluster().adminKubeconfig]);
  await soon(() => expect(command.output.out).toMatch(/^roll out +1 progressing/m));
  const { labels: _, ...unmarked } = metadata;
  const finished = { ...rollout, metadata: { ...unmarked, annotations: { [restartedForAnnotation]: "digest" } } };
  await cluster().client.apply(Rollout, finished, { fieldManager: "test" });
  await soon(() => expect(command.output.out).toMatch(new RegExp(`Z  roll out  rollout/${namespace}/canary  degraded  RestartWithoutEffect`)));
  command.interrupt();
  expect(await command.exit).toBe(0);
});
