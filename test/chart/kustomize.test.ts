// config/ is the chart with its default values, and `kubectl apply -k` installs it.
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { useCluster } from "@keyturn/runtime/testing/vitest";
import { everything } from "@keyturn/runtime/testing";
import { readObjects, renderChart } from "../../tools/chart-rendering.ts";
import { rightsOf } from "./rights.ts";

// A busy machine may take its time to bring pods up.

// One of its own: the manifests name their namespace and roles, which other tests use too.
const cluster = useCluster(everything);
const config = fileURLToPath(new URL("../../config", import.meta.url));
const serviceAccount = { namespace: "keyturn-system", name: "keyturn" };

test("kubectl apply -k config installs the operator with the rights and arguments of the chart, and its pods run", async () => {
  const installed = await cluster().kubectl("apply", "--server-side", "-k", config);
  expect(installed).toContain("deployment.apps/keyturn serverside-applied");
  await cluster().kubectl("rollout", "status", "deployment/keyturn", "-n", "keyturn-system", "--timeout=300s");

  const objects = readObjects(await cluster().kubectl("kustomize", config));
  const chart = await renderChart();
  expect(rightsOf(objects, serviceAccount)).toEqual(rightsOf(chart, serviceAccount));
  const specOf = (all: typeof chart): unknown => Reflect.get(all.find(({ kind }) => kind === "Deployment") ?? {}, "spec");
  expect(specOf(objects)).toEqual(specOf(chart));

  const kinds = (await cluster().kubectl("api-resources", "--categories=keyturn", "-o", "name")).trim().split("\n");
  expect(kinds.toSorted()).toEqual([
    "eventingauths.operator.kyma-project.io",
    "ingresschecksums.tengine.taobao.org",
    "jwks.rieset.io",
    "jwksconfigs.keyturn.io",
    "rotationtargets.rotator.k8s.telekom.com",
    "secretchecksums.tengine.taobao.org",
  ]);
  // Nothing that Helm would take for its own.
  expect(objects.filter(({ metadata }) => metadata.labels?.["app.kubernetes.io/managed-by"])).toEqual([]);

  await cluster().kubectl("delete", "-k", config, "--wait=false");
});
