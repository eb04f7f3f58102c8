// `keyturn doctor` on real API servers: an empty one, a healthy operator, and what can be wrong with one.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { crdOf, CustomResourceDefinition, type KubeObject } from "@keyturn/runtime";
import { soon, temporaryFolder, useCluster, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { describe, expect, it } from "vitest";
import { renderCrds } from "../../packages/keyturn/src/cli/manifests.ts";
import { rotationFeature } from "../../packages/keyturn/src/controllers/rotation/feature.ts";
import { RotationTarget } from "../../packages/keyturn/src/controllers/rotation/api.ts";
import { rotatingNamespace } from "../rotation/rotating-namespace.ts";
import { typed } from "../support/typed-command.ts";

const timeout = 240_000;

describe("of an operator at work, keyturn doctor", () => {
  const cluster = useSharedCluster();

  it("finds nothing wrong, and exits with 0", { timeout }, async () => {
    await using place = await rotatingNamespace(cluster(), "doctor");
    await place.startOperator();
    const scope = ["--controllers=rotation", `--namespaces=${place.namespace}`, `--as-service-account=${place.namespace}/operator`];
    const { code, out, err } = await soon(async () => {
      const answer = await typed("doctor", ...scope, "--kubeconfig", cluster().adminKubeconfig);
      // The Lease comes with the first sync.
      expect(answer.out).toMatch(/ok +leaders +rotation is led by/);
      return answer;
    });
    expect(failures(out)).toEqual([]);
    expect(err).toBe("");
    expect(code).toBe(0);
    expect(out).toMatch(/ok +server version +Kubernetes v1\.\d+/);
    expect(out).toMatch(/ok +clock +this machine's clock agrees/);
    expect(out).toMatch(/ok +kinds +rotationtargets.rotator.k8s.telekom.com is installed as this release defines it/);
    expect(out).toMatch(new RegExp(`ok +rights +ServiceAccount ${place.namespace}/operator has all \\d+ rights`));
    expect(out).toMatch(/ok +watches +\d+ of \d+ watches were opened/);
  });

  it("names each right that a ServiceAccount lacks, and what to apply", { timeout }, async () => {
    const namespace = await cluster().namespace("rightless");
    await cluster().apply({ apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace, name: "keyturn" } });
    const { code, out, err } = await typed(
      "doctor",
      "--controllers=rotation",
      `--as-service-account=${namespace}/keyturn`,
      "--kubeconfig",
      cluster().adminKubeconfig,
    );
    expect(code).toBe(1);
    expect(err).toMatch(/^keyturn: \d+ checks failed\n$/);
    expect(out).toMatch(
      new RegExp(
        `fail +rights +ServiceAccount ${namespace}/keyturn may not .*list.* rotationtargets.rotator.k8s.telekom.com in the cluster: needed to`,
      ),
    );
    expect(out).toContain(`keyturn rbac --namespace=${namespace} --service-account=keyturn`);
  });

  it("says what it could check for somebody with no rights at all", { timeout }, async () => {
    const kubeconfig = await cluster().kubeconfigFor({ user: "nobody-with-a-doctor" });
    const { code, out } = await typed("doctor", "--controllers=rotation", "--kubeconfig", kubeconfig);
    expect(code).toBe(1);
    expect(out).toMatch(/fail +rights +you may not .*list.* rotationtargets/);
    expect(out).toContain("--as-service-account NAMESPACE/NAME");
    expect(out).toMatch(/warn +watches +you may not watch .*rotationtargets/);
    expect(out).toMatch(/warn +leaders +you may not list Leases in all namespaces/);
    expect(out).toMatch(/warn +originals +you may not list Deployments/);
  });

  it("says that credentials are not accepted", { timeout }, async () => {
    const file = join(await temporaryFolder(), "config");
    await writeFile(file, kubeconfigFor(cluster().url, { caFile: cluster().caFile, token: "planted-bad-token" }));
    const { code, out, err } = await typed("doctor", "--kubeconfig", file);
    expect(code).toBe(1);
    expect(out).toMatch(/fail +server +https:\S+ does not accept your credentials/);
    expect(out).toContain("→ log in again");
    expect(`${out}${err}`).not.toContain("planted-bad-token");
  });
});

it("keyturn doctor and status say plainly that the API server does not answer", { timeout }, async () => {
  const file = join(await temporaryFolder(), "config");
  // The discard port, where nobody listens.
  await writeFile(file, kubeconfigFor("https://127.0.0.1:9"));
  const doctor = await typed("doctor", "--kubeconfig", file);
  expect(doctor.code).toBe(1);
  expect(doctor.out).toMatch(/fail +server +https:\/\/127\.0\.0\.1:9 does not answer: /);
  expect(doctor.out).toContain("→ see whether kube-apiserver runs");
  expect(doctor.out).toContain("0 ok, 0 warnings, 1 failure");
  const status = await typed("status", "--kubeconfig", file);
  expect(status.code).toBe(1);
  expect(status.err.trimEnd().split("\n")).toHaveLength(1);
  expect(status.err).toContain("127.0.0.1:9");
});

describe("in a cluster where nothing was installed", () => {
  const cluster = useCluster();
  const put = (object: KubeObject & { readonly spec: object }): Promise<unknown> => cluster().apply(object);
  const ask = (...words: readonly string[]): ReturnType<typeof typed> => typed(...words, "--kubeconfig", cluster().adminKubeconfig);

  it("keyturn status says of each step that it is not installed, and of none that it failed", { timeout }, async () => {
    const { code, out } = await ask("status", "-A");
    expect(code).toBe(0);
    expect(out).toMatch(/^rotate +not installed +nobody/m);
    expect(out).toContain(
      "rotate: rotationtargets.rotator.k8s.telekom.com is not served here; if this step is wanted, apply what `keyturn crds` prints",
    );
    expect(out).toMatch(/^roll out +none/m);
  });

  it("keyturn doctor names what is missing, and is content once that is there", { timeout }, async () => {
    const before = await ask("doctor", "--controllers=rotation");
    expect(before.code).toBe(1);
    expect(before.out).toMatch(/fail +kinds +rotationtargets.rotator.k8s.telekom.com is not installed\n +→ apply what `keyturn crds` prints/);
    expect(before.out).toMatch(/warn +leaders +nobody has ever led rotation/);
    // Clusters for tests run without.
    expect(before.out).toMatch(/warn +priority +the API server does not say that .* is on\n +→ see the API server's --enable-priority-and-fairness/);
    await cluster().apply(renderCrds([rotationFeature]));
    // A server that has just got a kind may not answer for it at once.
    await soon(async () => {
      const after = await ask("doctor", "--controllers=rotation");
      expect(failures(after.out)).toEqual([]);
      expect(after.code).toBe(0);
      expect(after.out).toMatch(/ok +kinds +rotationtargets.rotator.k8s.telekom.com is installed as this release defines it/);
    });
  });

  it("keyturn doctor sees another schema, a silent leader, two leaders, and an original beside us", { timeout }, async () => {
    const crd = crdOf(RotationTarget);
    const versions = crd.spec.versions.map((version) => ({
      ...version,
      additionalPrinterColumns: [{ name: "X", type: "string", jsonPath: ".spec.x" }],
    }));
    await cluster().client.apply(CustomResourceDefinition, { ...crd, spec: { ...crd.spec, versions } }, { fieldManager: "test", force: true });
    for (const name of ["ops", "other", "fortsa-system"]) await cluster().apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
    const putLease = (namespace: string, renewedMs: number) =>
      put({
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        metadata: { namespace, name: "keyturn-rotation" },
        spec: { holderIdentity: `pod-in-${namespace}`, leaseDurationSeconds: 15, renewTime: new Date(renewedMs).toISOString().replace("Z", "000Z") },
      });
    await put({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { namespace: "fortsa-system", name: "fortsa-controller-manager" },
      spec: {
        selector: { matchLabels: { a: "b" } },
        template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "manager", image: "ghcr.io/somebody/fortsa:v0.1" }] } },
      },
    });
    await putLease("ops", Date.now() - 3_600_000);
    const silent = await ask("doctor", "--controllers=rotation,sidecars");
    expect(silent.code).toBe(1);
    expect(silent.out).toMatch(/warn +kinds +rotationtargets.rotator.k8s.telekom.com is installed with another schema than this release's/);
    expect(silent.out).toMatch(/fail +leaders +nobody leads rotation: pod-in-ops in ops is silent, 60m after its last sign of life/);
    expect(silent.out).toMatch(
      /fail +originals +Fortsa still runs as Deployment fortsa-system\/fortsa-controller-manager, over the same objects as sidecars/,
    );
    // Leases that nobody renews, but not for a long time.
    const soonMs = Date.now() + 3_600_000;
    for (const namespace of ["ops", "other"]) await putLease(namespace, soonMs);
    const twice = await ask("doctor", "--controllers=rotation", "-o", "yaml");
    expect(twice.code).toBe(1);
    expect(twice.out).toContain("rotation is led twice, by pod-in-ops in ops and pod-in-other in other");
  });

  it("keyturn version names the operators that run", { timeout }, async () => {
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
    expect((await typed("version", "--client")).out).toMatch(/^keyturn \d+\.\d+\.\d+\n$/);
  });
});

/** The lines about what is wrong. */
function failures(text: string): readonly string[] {
  return text.split("\n").filter((line) => line.startsWith("fail"));
}

function kubeconfigFor(server: string, { caFile, token = "none" }: { readonly caFile?: string; readonly token?: string } = {}): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "it",
    contexts: [{ name: "it", context: { cluster: "it", user: "me" } }],
    clusters: [{ name: "it", cluster: { server, ...(caFile && { "certificate-authority": caFile }) } }],
    users: [{ name: "me", user: { token } }],
  });
}
