// The writes on workloads: a restart, and the end of one. By server-side apply, on exactly the object that was looked at.
import { type Client, DaemonSet, type DeepReadonly, Deployment, fieldManagerOf, type Kind, type KubeObject, StatefulSet } from "@keyturn/runtime";
import { keyturn } from "../../operator-identity.ts";
import { restartedAtAnnotation, restartTime, rolloutLabel, rolloutLabelValue, restartedForAnnotation } from "./marks.ts";
import { Rollout } from "./rollout-kind.ts";
import type { Workload } from "./workload.ts";

/** Names the controller's Lease and field manager. */
export const sidecarsController = "sidecars";

/** The kinds that can be restarted, by name. */
export const restartableKinds: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  [Deployment.kind, Deployment],
  [StatefulSet.kind, StatefulSet],
  [DaemonSet.kind, DaemonSet],
  [Rollout.kind, Rollout],
]);

/** A workload as it was looked at. */
export interface RestartTarget {
  readonly client: Client;
  readonly workload: DeepReadonly<Workload>;
  /** The version that the decision was made from. If the object has changed since, nothing is written, and the write fails with `Conflict`. */
  readonly resourceVersion: string;
}

/** Restarts the workload for a sidecar, and marks it until its rollout is finished. */
export function restartWorkload(target: RestartTarget, { nowMs, digest }: { readonly nowMs: number; readonly digest: string }): Promise<unknown> {
  const labels = { [rolloutLabel]: rolloutLabelValue };
  return applyMarks(target, { labels, annotations: { [restartedForAnnotation]: digest }, restartedAt: restartTime(nowMs) });
}

/** Takes the mark off; what the restart was for stays written down unless it helped. */
export function finishRollout(target: RestartTarget, { helped }: { readonly helped: boolean }): Promise<unknown> {
  const { restartedAt, restartedFor } = target.workload;
  const annotations = helped || restartedFor === undefined ? {} : { annotations: { [restartedForAnnotation]: restartedFor } };
  // The time is applied again as it is: a field that its manager no longer applies is removed, and that would roll the workload.
  return applyMarks(target, { ...annotations, restartedAt });
}

interface Marks {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly restartedAt: string | undefined;
}

async function applyMarks({ client, workload, resourceVersion }: RestartTarget, { restartedAt, ...metadata }: Marks): Promise<unknown> {
  const { kind, namespace, name, uid } = workload.source;
  const restartable = restartableKinds.get(kind);
  if (!restartable) throw new Error(`restarting ${kind} ${namespace}/${name}: there is no way to restart a ${kind}`);
  const object: KubeObject & { readonly spec?: object } = {
    metadata: { namespace, name, uid, resourceVersion, ...metadata },
    ...(restartedAt !== undefined && {
      spec: kind === "Rollout" ? { restartAt: restartedAt } : { template: { metadata: { annotations: { [restartedAtAnnotation]: restartedAt } } } },
    }),
  };
  // By force: the annotation may be Fortsa's, or that of somebody who tried it by hand.
  const options = { fieldManager: fieldManagerOf(keyturn, sidecarsController), force: true, answer: "metadata" } as const;
  return client.apply<KubeObject, "metadata">(restartable, object, options);
}
