// `keyturn run` beside an operator that is at work, on a real API server.
import { Lease } from "@keyturn/runtime";
import { soon, useCluster } from "@keyturn/runtime/testing/vitest";
import { expect, onTestFinished, test } from "vitest";
import { type KeyturnProcess, startKeyturn } from "../support/keyturn-process.ts";

// Its own, so that nobody else holds Leases.
const cluster = useCluster();

function start(...flags: readonly string[]): KeyturnProcess {
  const servers = ["--metrics-bind-address=0", "--health-probe-bind-address=0"];
  const keyturn = startKeyturn(["run", "--controllers=consumers", ...servers, ...flags], { KUBECONFIG: cluster().adminKubeconfig });
  onTestFinished(() => keyturn.kill("SIGKILL"));
  return keyturn;
}

test("a second operator takes turns with the first, and does not start where it could not", async () => {
  const first = start();
  await soon(() => expect(first.output.out).toContain("lease taken"));
  expect(first.output.out).toContain("made the namespace of the Leases");
  const lease = await cluster().client.get(Lease, { namespace: "keyturn-system", name: "keyturn-sidecars" });
  expect(lease?.metadata.annotations).toEqual({ "keyturn.io/serves": '{"namespaces":[],"skipNamespaces":[],"selector":"","only":{}}' });

  const second = start();
  await soon(() => expect(second.output.out).toContain("standing by: another process holds the lease"));

  const elsewhere = "--leader-elect-namespace=default";
  const refused = start(elsewhere);
  expect(await refused.exit).toBe(1);
  expect(refused.output.err).toMatch(
    /^keyturn: another operator serves the same objects: \S+, with the Leases of sidecars in namespace keyturn-system; /,
  );

  const apart = start(elsewhere, "--namespaces=default");
  expect(await apart.exit).toBe(1);
  const insisting = start(elsewhere, "--allow-other-operators");
  await soon(() => expect(insisting.output.out).toContain("lease taken"));

  first.kill("SIGTERM");
  expect(await first.exit).toBe(0);
  await soon(() => expect(second.output.out).toContain("lease taken"));
});
