// How Deployments are rolled out on a real node: every change of theirs is followed, so that nothing between two looks is missed.
import { createHttpTransport, loadConfig } from "@keyturn/runtime";
import { type ClusterAccess, openWatch } from "@keyturn/runtime/testing";
import { soon } from "@keyturn/runtime/testing/vitest";
import { expect } from "vitest";
import * as z from "zod";

const deploymentSchema = z.object({
  metadata: z.object({ name: z.string(), generation: z.number() }),
  spec: z.object({ template: z.unknown().transform((template) => JSON.stringify(template)) }),
  status: z.object({
    observedGeneration: z.number().default(0),
    updatedReplicas: z.number().default(0),
    replicas: z.number().default(0),
    availableReplicas: z.number().default(0),
  }),
});

/** Of a Deployment of one pod, whose template is of this generation: annotations make generations too. */
function isRolling({ status }: z.infer<typeof deploymentSchema>, generation: number): boolean {
  return status.observedGeneration < generation || status.updatedReplicas < 1 || status.replicas > 1 || status.availableReplicas < 1;
}

/** What has become of the Deployments of a namespace since they were first rolled out. */
interface Rollouts {
  /** How often each was rolled out anew, by name. */
  readonly counts: Readonly<Record<string, number>>;
  readonly rolling: number;
  readonly mostAtOnce: number;
}

/** Waits for all Deployments of the namespace, each of one pod, and follows what becomes of them. */
export async function watchRollouts(cluster: ClusterAccess, namespace: string): Promise<Disposable & { now(): Rollouts }> {
  const path = `/apis/apps/v1/namespaces/${namespace}/deployments`;
  await soon(async () => {
    const { items } = z.object({ items: z.array(deploymentSchema) }).parse(await cluster.client.request({ method: "GET", path }));
    expect(items.filter((item) => isRolling(item, item.metadata.generation))).toEqual([]);
  });
  const transport = createHttpTransport(await loadConfig({ kubeconfig: cluster.adminKubeconfig, env: {} }));
  const { lines } = await openWatch(transport, `${path}?watch=true`);
  return {
    now() {
      const templates = new Map<string, { readonly template: string; readonly generation: number; readonly count: number }>();
      const rolling = new Set<string>();
      let mostAtOnce = 0;
      for (const { object } of lines) {
        const deployment = deploymentSchema.parse(object);
        const { name, generation } = deployment.metadata;
        const { template } = deployment.spec;
        const before = templates.get(name);
        if (before?.template !== template) templates.set(name, { template, generation, count: before === undefined ? 0 : before.count + 1 });
        if (isRolling(deployment, templates.get(name)?.generation ?? generation)) rolling.add(name);
        else rolling.delete(name);
        mostAtOnce = Math.max(mostAtOnce, rolling.size);
      }
      return { counts: Object.fromEntries(Array.from(templates, ([name, { count }]) => [name, count])), rolling: rolling.size, mostAtOnce };
    },
    [Symbol.dispose]: () => transport.close(),
  };
}
