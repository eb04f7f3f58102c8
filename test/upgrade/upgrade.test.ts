// From one release to the next: what the old one left is still there, with the same content and the same status, and is not written anew.
import { everything, type RunningOperator, startOperator } from "@keyturn/runtime/testing";
import { soon, useCluster } from "@keyturn/runtime/testing/vitest";
import { beforeAll, describe, expect, it } from "vitest";
import * as z from "zod";
import { renderCrds, renderRbac } from "../../packages/keyturn/src/cli/manifests.ts";
import { controllersOf, features } from "../../packages/keyturn/src/registry.ts";
import { keyturn } from "../../packages/keyturn/src/feature/feature.ts";
import { isOurs, readObject, type RecordedObject, recordedFile, recordedObjects, restore } from "./recorded-release.ts";

/** Every release whose record is here. */
const releases = ["0.1.0", "0.2.0"];

const serviceAccount = { namespace: "keyturn-system", name: "keyturn" };
const chosen = features.filter(({ name }) => ["rotation", "jwks", "checksum"].includes(name));

/**
 * Notes of the operator to itself, which a new release may write in its own form. The digest of what was applied covers the owner's uid, which is another one
 * in a restored cluster.
 */
const notes = new Set(["keyturn.io/applied", "keyturn.io/jwks-history", "rotator.k8s.telekom.com/log", "rotator.k8s.telekom.com/proof"]);

/** What must not change: everything but the status and the operator's notes. */
function contentOf(object: RecordedObject): object {
  const { metadata, status: _status, ...content } = object;
  const { resourceVersion: _version, generation: _generation, managedFields: _fields, annotations = {}, ...kept } = metadata;
  return { ...content, metadata: { ...kept, annotations: Object.fromEntries(Object.entries(annotations).filter(([name]) => !notes.has(name))) } };
}

/** nginx's configuration and pods are made anew by a release that serves otherwise; what they serve is not theirs. */
function isNginx({ kind, metadata }: RecordedObject): boolean {
  return kind === "Deployment" || (kind === "ConfigMap" && metadata.name.endsWith("-nginx"));
}

const statusSchema = z.looseObject({
  conditions: z.array(z.looseObject({ type: z.string(), status: z.string(), reason: z.string(), lastTransitionTime: z.string() })).default([]),
  currentVersion: z.looseObject({ digest: z.string() }).optional(),
});

/** Of a JWKS: when it was written last, and how often. */
const countsAndDates = new Set(["revision", "lastUpdateTime", "nginxConfigUpdated"]);

/**
 * What the status said, and since when. A new release may say it in other words, and say more; digests of contents are keyed since 0.3, and the record of a JWKS
 * is written once more, in its new form, which counts as a revision.
 */
function said({ status }: RecordedObject): { readonly conditions: readonly object[]; readonly rest: object } {
  const { conditions, currentVersion, ...whole } = statusSchema.parse(status ?? {});
  const others = Object.fromEntries(Object.entries(whole).filter(([name]) => !countsAndDates.has(name)));
  const { digest: _digest, ...version } = currentVersion ?? {};
  const rest = { ...others, ...(currentVersion && { currentVersion: version }) };
  // Its pods are rolled once by the upgrade.
  const isServed = conditions.some(({ type }) => type === "Served");
  return {
    conditions: conditions.map(({ type, status: holds, reason, lastTransitionTime }) => ({
      type,
      status: holds,
      reason,
      since: isServed ? "" : lastTransitionTime,
    })),
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
    await cluster().apply(renderCrds(features));
    const after = await now();
    expect(after.map(contentOf)).toEqual(restored.map(contentOf));
    expect(after.filter(isOurs)).toEqual(restored.filter(isOurs));
  });

  it("the new operator says the same of every object, and changes none of those that the old one made", async () => {
    const controllers = controllersOf(chosen, { "jwks.serving": "true" }, {});
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
    // nginx's pods are rolled once, and until they are ready Served says so.
    await soon(async () => {
      const after = await now();
      for (const [index, before] of restored.entries()) {
        if (!isOurs(before)) continue;
        const { conditions, rest } = said(after[index] ?? before);
        expect(conditions).toEqual(expect.arrayContaining([...said(before).conditions]));
        expect(rest).toMatchObject(said(before).rest);
      }
    });
    const isKept = (object: RecordedObject): boolean => !isNginx(object);
    expect((await now()).filter(isKept).map(contentOf)).toEqual(restored.filter(isKept).map(contentOf));
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
