// From one release to the next: what the old one left is still there, with the same content and the same status, and is not written anew.
import { everything, type RunningOperator, startOperator } from "@keyturn/runtime/testing";
import { soon, useCluster } from "@keyturn/runtime/testing/vitest";
import { beforeAll, describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { renderCrds, renderRbac } from "../../packages/keyturn/src/cli/manifests.ts";
import { controllersOf, features } from "../../packages/keyturn/src/registry.ts";
import { keyturn } from "../../packages/keyturn/src/feature/feature.ts";
import { isOurs, readObject, type RecordedObject, recordedFile, recordedObjects, restore } from "./recorded-release.ts";

vi.setConfig({ testTimeout: 180_000 });
/** Every release whose record is here. */
const releases = ["0.1.0"];

const serviceAccount = { namespace: "keyturn-system", name: "keyturn" };
const chosen = features.filter(({ name }) => ["rotation", "jwks", "checksum"].includes(name));

/** What must not change: everything but the status and bookkeeping. The digest of what was applied covers the owner's uid, which is another one in a restored cluster. */
function contentOf(object: RecordedObject): object {
  const { metadata, status: _status, ...content } = object;
  const { resourceVersion: _version, generation: _generation, managedFields: _fields, annotations = {}, ...kept } = metadata;
  const { "keyturn.io/applied": _digest, ...others } = annotations;
  return { ...content, metadata: { ...kept, annotations: others } };
}

const statusSchema = z.looseObject({
  conditions: z.array(z.looseObject({ type: z.string(), status: z.string(), reason: z.string(), lastTransitionTime: z.string() })).default([]),
});

/** What the status said, and since when. A new release may say it in other words, and say more. */
function said({ status }: RecordedObject): { readonly conditions: readonly object[]; readonly rest: object } {
  const { conditions, ...rest } = statusSchema.parse(status ?? {});
  return {
    conditions: conditions.map((each) => ({ type: each.type, status: each.status, reason: each.reason, since: each.lastTransitionTime })),
    rest,
  };
}

/** How many objects each controller has to look at, at least. */
const atLeast = { rotation: 1, jwks: 2, "jwks-rieset": 1, checksum: 1, "checksum-ingress": 1 };

/** Resolves when every controller has looked at its objects and has nothing left to do. */
async function isSettled(operator: RunningOperator): Promise<void> {
  await soon(async () => {
    const metrics = await operator.metrics();
    const value = (pattern: string): number =>
      [...metrics.matchAll(new RegExp(`^${pattern} (\\d+)`, "gm"))].reduce((sum, [, number]) => sum + Number(number), 0);
    for (const [controller, count] of Object.entries(atLeast)) {
      expect(value(`controller_runtime_reconcile_total\\{controller="${controller}",result="(?:success|requeue_after)"\\}`)).toBeGreaterThanOrEqual(
        count,
      );
    }
    expect(value("workqueue_depth\\{.*\\}") + value("controller_runtime_active_workers\\{.*\\}")).toBe(0);
  });
}

describe.each(releases)("from %s", (version) => {
  const cluster = useCluster(everything);
  let objects: readonly RecordedObject[];
  let restored: readonly RecordedObject[];
  const now = (): Promise<readonly RecordedObject[]> => Promise.all(objects.map((object) => readObject(cluster().client, object)));

  beforeAll(async () => {
    objects = await recordedObjects(version);
    await cluster().apply(await recordedFile(version, "crds.yaml"));
    const namespaces = new Set(objects.map(({ metadata }) => metadata.namespace));
    const labels = { "keyturn.io/checksum": "enabled" };
    for (const name of namespaces) {
      await cluster().apply({ apiVersion: "v1", kind: "Namespace", metadata: { name, ...(name.endsWith("-verify") && { labels }) } });
    }
    await restore(cluster().client, objects);
    restored = await now();
  });

  it("the record was put back as it was", () => {
    for (const [index, object] of objects.entries()) {
      if (!isOurs(object)) continue;
      expect(restored[index]?.status).toEqual(object.status);
      expect(restored[index]?.metadata.managedFields).toHaveLength(object.metadata.managedFields.length);
    }
  });

  it("the new CRDs lose no object and no field", async () => {
    await cluster().apply(renderCrds());
    const after = await now();
    expect(after.map(contentOf)).toEqual(restored.map(contentOf));
    expect(after.filter(isOurs)).toEqual(restored.filter(isOurs));
  });

  it("the new operator says the same of every object, and changes none of those that the old one made", async () => {
    const controllers = controllersOf(chosen, {}, {});
    await cluster().apply([
      { apiVersion: "v1", kind: "Namespace", metadata: { name: serviceAccount.namespace } },
      { apiVersion: "v1", kind: "ServiceAccount", metadata: serviceAccount },
    ]);
    await cluster().apply(renderRbac({ controllers, namespaces: [], leaderElection: true, serviceAccount }));
    const kubeconfig = await cluster().kubeconfigFor({ serviceAccount });
    await using operator = await startOperator({
      operator: keyturn,
      controllers,
      kubeconfig,
      leaderElection: { namespace: serviceAccount.namespace },
    });
    await isSettled(operator);
    const after = await now();
    expect(after.map(contentOf)).toEqual(restored.map(contentOf));
    for (const [index, before] of restored.entries()) {
      if (!isOurs(before)) continue;
      const { conditions, rest } = said(after[index] ?? before);
      expect(conditions).toEqual(expect.arrayContaining([...said(before).conditions]));
      expect(rest).toMatchObject(said(before).rest);
    }
  });

  it("the old CRDs, put back, lose no object and nothing that they know", async () => {
    const before = await now();
    await cluster().apply(await recordedFile(version, "crds.yaml"));
    const after = await now();
    expect(after.map(contentOf)).toEqual(before.map(contentOf));
    for (const [index, object] of restored.entries()) {
      if (isOurs(object)) expect(said(after[index] ?? object).rest).toMatchObject(said(object).rest);
    }
  });
});
