// What istiod writes down in a pod about what it injected.
import type { Container, DeepReadonly, Pod } from "@keyturn/runtime";
import * as z from "zod";

/** The annotation: JSON with the revision and the names of what was injected. */
export const statusAnnotation = "sidecar.istio.io/status";
const revisionKey = "istio.io/rev";

/** The container that Istio injects, among the containers or, as a native sidecar, among the init containers. */
const sidecarContainer = "istio-proxy";

/** Injected by every version of Istio, whatever the status says. */
const usualInitContainers = ["istio-init", "istio-validation", "enable-core-dump"];

const statusSchema = z.object({ revision: z.string().optional().catch(undefined), initContainers: z.array(z.string()).nullish().catch(undefined) });

/** True for the sidecar's container. */
export function isSidecar({ name }: DeepReadonly<Container>): boolean {
  return name === sidecarContainer;
}

/** The names of init containers that Istio injects. */
export function injectedNames(pod: DeepReadonly<Pod>): ReadonlySet<string> {
  return new Set([...usualInitContainers, ...(statusOf(pod).initContainers ?? [])]);
}

/**
 * The revision of the control plane that injected the pod; undefined if it does not say.
 * The status names the revision itself. The annotation and label may name a tag, so they count only where the status is silent, as before Istio 1.10.
 */
export function revisionOf(pod: DeepReadonly<Pod>): string | undefined {
  const { annotations = {}, labels = {} } = pod.metadata;
  return statusOf(pod).revision ?? annotations[revisionKey] ?? labels[revisionKey];
}

function statusOf({ metadata }: DeepReadonly<Pod>): z.infer<typeof statusSchema> {
  try {
    return statusSchema.parse(JSON.parse(metadata.annotations?.[statusAnnotation] ?? "{}"));
  } catch {
    // Anybody can write this annotation; one that cannot be read says nothing.
    return {};
  }
}
