// The chart's own tests, and what it tells people after an installation.
import { execFile } from "node:child_process";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { findBinaries } from "@keyturn/runtime/testing";
import { temporaryFolder } from "@keyturn/runtime/testing/vitest";
import { chartFolder, type ChartValues, helmWithValues } from "../../tools/chart-rendering.ts";

test("helm unittest passes", async () => {
  const { "helm-unittest": program } = await findBinaries(["helm-unittest"]);
  // In a copy, since it may write beside the tests.
  const folder = join(await temporaryFolder(), "keyturn");
  await cp(chartFolder, folder, { recursive: true });
  const { stdout } = await promisify(execFile)(program, ["--strict", folder]).catch((error: unknown) => {
    throw new Error(`helm unittest: ${String(Reflect.get(Object(error), "stdout"))}`);
  });
  expect(stdout).toMatch(/Test Suites: (\d+) passed, \1 total/);
});

/** What Helm prints after the chart is installed with some values. */
async function notesWith(values: ChartValues): Promise<string> {
  const text = await helmWithValues(["install", "keyturn", chartFolder, "--namespace", "ops", "--dry-run=client"], values);
  return text.slice(text.indexOf("NOTES:"));
}

test("the notes say what was installed, how to look at it, and what is missing", async () => {
  const notes = await notesWith({});
  expect(notes).toContain("runs checksum, jwks, rotation in all namespaces");
  expect(notes).toContain("kubectl -n ops rollout status deployment/keyturn");
  expect(notes).toContain("no ServiceMonitor is installed");
  expect(notes).not.toContain("NOTE:");
});

test("the notes warn of what was switched off, or has to be there first", async () => {
  const notes = await notesWith({
    namespaces: ["shop", "gateway"],
    metrics: { secure: false },
    dryRun: true,
    replicaCount: 1,
    crds: { enabled: false },
    rbac: { create: false },
    controllers: { eventingAuth: { enabled: true }, rotation: { kinds: ["a.v1.b"] } },
    dashboard: { enabled: true },
    agent: { enabled: true, namespace: "gateway" },
  });
  expect(notes).toContain("in shop, gateway");
  expect(notes).toContain("dryRun is on");
  expect(notes).toContain(
    "keyturn rbac --controllers=checksum,eventing-auth,jwks,rotation --namespace=ops --service-account=keyturn --namespaces=shop,gateway '--metrics-bind-address=:8443' '--metrics-secure=false'",
  );
  expect(notes).toContain("keyturn crds | kubectl apply -f -");
  expect(notes).toContain("kcp-system/eventing-auth-ias-creds");
  expect(notes).toContain("there is one replica");
  expect(notes).toContain("port-forward service/keyturn-dashboard 8082:80");
  expect(notes).toContain("An agent keeps the certificates of gateway under /certificates/agent/current");
});
