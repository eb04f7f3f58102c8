// `keyturn doctor` of an operator at work, with and without rights, and of a server that does not answer.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { soon, temporaryFolder, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { describe, expect, it } from "vitest";
import { rotatingNamespace } from "../rotation/rotating-namespace.ts";
import { typed } from "../support/typed-command.ts";

describe("of an operator at work, keyturn doctor", () => {
  const cluster = useSharedCluster();

  it("finds nothing wrong, and exits with 0", async () => {
    await using place = await rotatingNamespace(cluster(), "doctor");
    await place.startOperator();
    const scope = [
      "--controllers=rotation",
      "--metrics-secure=false",
      `--namespaces=${place.namespace}`,
      `--as-service-account=${place.namespace}/operator`,
    ];
    // The Lease comes with the first sync; and on a busy machine it is renewed late, and a clock that is asked for is told late.
    await soon(async () => {
      const { code, out, err } = await typed("doctor", ...scope, "--kubeconfig", cluster().adminKubeconfig);
      expect(out).toMatch(/ok +leaders +rotation is led by/);
      expect(failures(out)).toEqual([]);
      expect(err).toBe("");
      expect(code).toBe(0);
      expect(out).toMatch(/ok +server version +Kubernetes v1\.\d+/);
      expect(out).toMatch(/ok +clock +this machine's clock agrees/);
      expect(out).toMatch(/ok +kinds +rotationtargets.rotator.k8s.telekom.com is installed as this release defines it/);
      expect(out).toMatch(new RegExp(`ok +rights +ServiceAccount ${place.namespace}/operator has all \\d+ rights`));
      expect(out).toMatch(/ok +watches +\d+ of \d+ watches were opened/);
    });
  });

  it("names each right that a ServiceAccount lacks, and what to apply", async () => {
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

  it("says what it could check for somebody with no rights at all", async () => {
    const kubeconfig = await cluster().kubeconfigFor({ user: "nobody-with-a-doctor" });
    const { code, out } = await typed("doctor", "--controllers=rotation", "--kubeconfig", kubeconfig);
    expect(code).toBe(1);
    expect(out).toMatch(/fail +rights +you may not .*list.* rotationtargets/);
    expect(out).toContain("--as-service-account NAMESPACE/NAME");
    expect(out).toMatch(/warn +watches +you may not watch .*rotationtargets/);
    expect(out).toMatch(/warn +leaders +you may not list Leases in all namespaces/);
    expect(out).toMatch(/warn +originals +you may not list Deployments/);
  });

  it("says that credentials are not accepted", async () => {
    const file = join(await temporaryFolder(), "config");
    await writeFile(file, kubeconfigFor(cluster().url, { caFile: cluster().caFile, token: "planted-bad-token" }));
    const { code, out, err } = await typed("doctor", "--kubeconfig", file);
    expect(code).toBe(1);
    expect(out).toMatch(/fail +server +https:\S+ does not accept your credentials/);
    expect(out).toContain("→ log in again");
    expect(`${out}${err}`).not.toContain("planted-bad-token");
  });
});

it("keyturn doctor and status say plainly that the API server does not answer", async () => {
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
  const unreachable =
    "keyturn: cannot reach the API server at https://127.0.0.1:9: connection refused; check that it is running, and that --kubeconfig and --context name the right cluster\n";
  expect(status).toEqual({ code: 1, out: "", err: unreachable });
  for (const words of [["plan", "x"], ["plan", "x", "--watch"], ["history", "x"], ["revoke", "x", "--yes"], ["checksum", "allow"], ["orphans"]])
    expect(await typed(...words, "--kubeconfig", file)).toEqual({ code: 1, out: "", err: unreachable });
  // As kubectl has it: 1 would say that something differs, and the version of the program is known.
  expect(await typed("diff", "--kubeconfig", file)).toEqual({ code: 2, out: "", err: unreachable });
  expect(await typed("version", "--kubeconfig", file)).toEqual({ code: 1, out: expect.stringMatching(/^keyturn \d/), err: unreachable });
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
