// An operator that has not been given its rights yet.
import { managerAccess, policyRules } from "@keyturn/runtime";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { checksumFeature } from "../../packages/keyturn/src/controllers/checksum/feature.ts";
import { verifiedNamespace } from "./verified-namespace.ts";

const cluster = useSharedCluster();

test("without its rights the operator says which one is missing, and goes on once it has them", async () => {
  await using place = await verifiedNamespace(cluster(), "rights");
  const { namespace } = place;
  const serviceAccount = { namespace, name: "newcomer" };
  const manager = managerAccess({ operatorNamespace: namespace, controllerAccess: [] });
  const leases = policyRules(manager.accessIn[namespace] ?? []);
  const kubeconfig = await cluster().kubeconfigFor({ serviceAccount, namespacedRules: { [namespace]: leases } });
  const operator = await place.startOperator({ kubeconfig });
  await soon(async () => {
    const { status, text } = await operator.readyz();
    expect(status).toBe(503);
    expect(text).toContain("list secretchecksums.tengine.taobao.org");
  });
  const access = checksumFeature
    .controllers((flag) => flag.parse(flag.name === "checksum.namespaces" ? namespace : undefined))
    .flatMap((controller) => controller.access);
  await cluster().kubeconfigFor({ serviceAccount, namespacedRules: { [namespace]: [...leases, ...policyRules(access)] } });
  await place.putSecret("shop-7", 1);
  await soon(async () => expect(await place.checksums()).toHaveLength(1));
});
