// What is known of a pod's sidecar: little enough to be kept for every pod of a cluster.
import { hash } from "node:crypto";
import { canonicalJson, type DeepReadonly, LruMap, type Pod } from "@keyturn/runtime";
import { isSidecar, revisionOf } from "./injection-status.ts";
import { digestParts, type SidecarPart } from "./sidecar-parts.ts";

/** The sidecar of a pod, live or expected. */
export interface Sidecar {
  readonly image: string;
  /** The revision of the control plane that injected it; undefined if the pod does not say. */
  readonly revision: string | undefined;
  /** Digests of everything else about it; undefined if only the image and revision are compared. */
  readonly parts: Readonly<Record<SidecarPart, string>> | undefined;
}

/** The pods of a workload have equal sidecars, and mostly all pods of a cluster do: one object serves them all. */
const known = new LruMap<string, Sidecar>(5000);

/** The sidecar, or undefined if the pod has none. `whole` also takes digests of its parts. Equal sidecars are mostly the same object. */
export function sidecarOf(pod: DeepReadonly<Pod>, { whole }: { readonly whole: boolean }): Sidecar | undefined {
  const { containers = [], initContainers = [] } = pod.spec ?? {};
  const container = containers.find(isSidecar) ?? initContainers.find(isSidecar);
  if (!container) return undefined;
  const sidecar = { image: container.image ?? "", revision: revisionOf(pod), parts: whole ? digestParts(pod) : undefined };
  const id = sidecarDigest(sidecar);
  const same = known.get(id) ?? sidecar;
  known.set(id, same);
  return same;
}

/** A short name for a sidecar, or for having none: the same for equal ones, also in another process. */
export function sidecarDigest(sidecar: Sidecar | undefined): string {
  return hash("sha256", canonicalJson(sidecar ?? null)).slice(0, 16);
}
