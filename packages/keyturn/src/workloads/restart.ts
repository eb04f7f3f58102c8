// The writes on workloads: a restart, and the end of one. By server-side apply, on exactly the object that was looked at.
import { type Client, type DeepReadonly, fieldManagerOf, type KubeObject } from "@keyturn/runtime";
import { keyturn } from "../feature/feature.ts";
import { restartedAtAnnotation, restartedForAnnotation, restartTime, rolloutLabel, rolloutLabelValue } from "./annotations.ts";
import { restartableKinds, type Workload } from "./workload.ts";

/**
 * Names the controller's Lease and field manager. Never changes, although sidecars are no longer the only reason for a restart: an operator before and one
 * after an update hold the same Lease, and fields that were applied under another name would stay on workloads for ever.
 */
export const controllerName = "sidecars";

/** A workload as it was looked at. */
export interface RestartTarget {
  readonly workload: DeepReadonly<Workload>;
  /** The version that the decision was made from. If the object has changed since, nothing is written, and the write fails with `Conflict`. */
  readonly resourceVersion: string;
}

/** Restarts the workload, and labels it until its rollout is finished. `digest` stands for what the restart is to bring. */
export function restartWorkload(
  client: Client,
  target: RestartTarget,
  { nowMs, digest, records }: { readonly nowMs: number; readonly digest: string; readonly records?: Annotations | undefined },
): Promise<unknown> {
  const labels = { [rolloutLabel]: rolloutLabelValue };
  const annotations = { ...target.workload.records, ...records, [restartedForAnnotation]: digest };
  return applyRestart(client, target, { labels, annotations, restartedAt: restartTime(nowMs) });
}

/** Takes the label off; what the restart was for stays written down unless it helped. */
export function finishRollout(
  client: Client,
  target: RestartTarget,
  { helped, records }: { readonly helped: boolean; readonly records?: Annotations | undefined },
): Promise<unknown> {
  const { restartedAt, restartedFor } = target.workload;
  const kept = helped || restartedFor === undefined ? {} : { [restartedForAnnotation]: restartedFor };
  // The time is applied again as it is: a field that its manager no longer applies is removed, and that would roll the workload.
  return applyRestart(client, target, { annotations: { ...target.workload.records, ...records, ...kept }, restartedAt });
}

/** Writes down what the pods were started with, and leaves all else as it is: nothing is rolled. */
export function recordWorkload(client: Client, target: RestartTarget, records: Annotations): Promise<unknown> {
  const { restartedAt, restartedFor, restarting, records: known } = target.workload;
  const kept = restartedFor === undefined ? {} : { [restartedForAnnotation]: restartedFor };
  const labels = restarting ? { labels: { [rolloutLabel]: rolloutLabelValue } } : {};
  return applyRestart(client, target, { ...labels, annotations: { ...known, ...records, ...kept }, restartedAt });
}

type Annotations = Readonly<Record<string, string>>;

interface RestartFields {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations: Annotations;
  readonly restartedAt: string | undefined;
}

async function applyRestart(
  client: Client,
  { workload, resourceVersion }: RestartTarget,
  { restartedAt, ...metadata }: RestartFields,
): Promise<unknown> {
  const { kind, namespace, name, uid } = workload.source;
  const restartable = restartableKinds.get(kind)?.kind;
  if (!restartable) throw new Error(`restarting ${kind} ${namespace}/${name}: there is no way to restart a ${kind}`);
  const { restartedBy, otherRestartedAt } = workload;
  const [inTemplate, restartAt] = restartedBy === "template" ? [restartedAt, otherRestartedAt] : [otherRestartedAt, restartedAt];
  const spec = {
    ...(inTemplate !== undefined && { template: { metadata: { annotations: { [restartedAtAnnotation]: inTemplate } } } }),
    ...(restartAt !== undefined && { restartAt }),
  };
  const object: KubeObject & { readonly spec?: object } = {
    metadata: { namespace, name, uid, resourceVersion, ...metadata },
    ...(Object.keys(spec).length > 0 && { spec }),
  };
  // By force: the annotation may be Fortsa's, or that of somebody who tried it by hand.
  const options = { fieldManager: fieldManagerOf(keyturn, controllerName), force: true, answer: "metadata" } as const;
  return client.apply<KubeObject, "metadata">(restartable, object, options);
}
