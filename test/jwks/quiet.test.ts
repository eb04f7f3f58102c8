// What the operator does not do: it writes nothing when nothing changed, and asks nothing when nothing happens.
import { answerWith, startFaultProxy } from "@keyturn/runtime/testing";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { makeCertificate } from "../../packages/keyturn/test/certificates.ts";
import { busyRequests, isLease } from "../support/busy-requests.ts";
import { publishingNamespace } from "./publishing-namespace.ts";

const cluster = useSharedCluster();

test("a restart writes nothing, and an idle operator makes no requests but lease renewals and watches", async () => {
  await using place = await publishingNamespace(cluster(), "quiet");
  const before = await place.startOperator();
  await place.putSecret("signer", makeCertificate());
  for (const name of ["one", "two", "three"]) await place.putConfig(name, { nginxConfigMapName: `${name}-nginx` });
  await place.putConfig("plain");
  await place.putJwks("rieset", { nginxConfigMapName: "rieset-nginx" });
  await place.putConfig("missing", { certificateSecret: "missing" });
  for (const name of ["one", "two", "three", "plain"]) await place.conditionSays(name, "Ready", "True Ready");
  await place.conditionSays("missing", "Ready", "False SecretNotFound");
  await soon(async () => expect(await cluster().kubectl("get", "jwks.rieset.io", "rieset", "-n", place.namespace)).toContain("True"));
  await before.stop();
  const versions = async (): Promise<readonly string[]> =>
    (await place.allObjects()).map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`);
  const seen = await versions();

  await using proxy = await startFaultProxy(cluster());
  const operator = await place.startOperator({ kubeconfig: proxy.through(place.kubeconfig) });
  await soon(async () => {
    const metrics = await operator.metrics();
    const runs = (labels: string): number =>
      Number(new RegExp(`^controller_runtime_reconcile_total\\{${labels}\\} (\\d+)$`, "m").exec(metrics)?.[1] ?? 0);
    // Each object at least once: those that are published look again when their certificate expires, the other one waits for its Secret.
    expect(runs('controller="jwks",result="requeue_after"')).toBeGreaterThanOrEqual(4);
    expect(runs('controller="jwks",result="success"')).toBeGreaterThanOrEqual(1);
    expect(runs('controller="jwks-rieset",result="requeue_after"')).toBeGreaterThanOrEqual(1);
  });
  const renewals = proxy.requests({ path: isLease }).length;
  // Two more renewals of each Lease are some seconds in which anything that spins or polls would show.
  await soon(() => expect(proxy.requests({ path: isLease }).length).toBeGreaterThan(renewals + 4));
  expect(busyRequests(proxy)).toEqual([]);
  expect(await versions()).toEqual(seen);
  // Of others' objects nothing is watched but Secrets and what asks to be merged: who has a name that is wanted is found out by the write.
  const watched = proxy.requests({ watch: true }).flatMap(({ path }) => {
    const { pathname, searchParams } = new URL(path, "http://server");
    return pathname.includes(`/namespaces/${place.namespace}/`) && !isLease.test(path)
      ? [`${pathname.split("/").at(-1)} ${searchParams.get("labelSelector") ?? "all"}`]
      : [];
  });
  const ours = "app.kubernetes.io/managed-by=keyturn";
  expect([...new Set(watched)].toSorted()).toEqual([
    `configmaps ${ours}`,
    "configmaps keyturn.io/jwks-source=true",
    `deployments ${ours}`,
    "jwks all",
    "jwksconfigs all",
    "secrets all",
    `services ${ours}`,
  ]);
});

test("an API server that refuses writes: the object says so, what was published stays, and it goes on by itself", async () => {
  await using place = await publishingNamespace(cluster(), "refusing");
  await using proxy = await startFaultProxy(cluster());
  const [first, second] = [makeCertificate(), makeCertificate()];
  const operator = await place.startOperator({ kubeconfig: proxy.through(place.kubeconfig) });
  await place.putSecret("signer", first);
  await place.putConfig("site");
  await place.published("site-jwks", [first]);
  const refusal = proxy.inject(answerWith({ status: 503 }, { path: /\/configmaps\//, write: true }));
  await place.putSecret("signer", second);
  await soon(async () => expect((await place.condition("site", "Ready"))?.status).toBe("False"));
  await place.published("site-jwks", [first]);
  // A machine that is slow sees more tries; something that spins would make thousands.
  expect(refusal.hits).toBeLessThan(100);
  refusal.remove();
  await place.published("site-jwks", [second, first]);
  await place.conditionSays("site", "Ready", "True Ready");
  expect(operator.logLines.filter(({ msg }) => msg === "reconcile failed; it will be tried again")).not.toHaveLength(0);
});
