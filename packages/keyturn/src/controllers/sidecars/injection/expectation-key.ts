// What the answer to "which sidecar would a new pod get" depends on, as one string to keep answers by.
import { hash } from "node:crypto";
import { canonicalJson, type DeepReadonly, type PodTemplateSpec } from "@keyturn/runtime";
import { restartedAtAnnotation } from "../marks.ts";
import type { Injectors } from "./injectors.ts";
import type { PodSource } from "./pod-draft.ts";

/** Annotations that say when to restart and nothing about what runs. */
const restartAnnotations = new Set([restartedAtAnnotation, "kubectl.kubernetes.io/restartedAt"]);

/** A digest of a pod template that a restart does not change. */
export function templateDigest(template: DeepReadonly<PodTemplateSpec>): string {
  const annotations = Object.entries(template.metadata?.annotations ?? {}).filter(([name]) => !restartAnnotations.has(name));
  const { creationTimestamp: _never, ...metadata } = template.metadata ?? {};
  return digest({ ...template, metadata: { ...metadata, annotations: Object.fromEntries(annotations) } });
}

/** Everything that an answer depends on. */
export interface ExpectationInputs {
  readonly source: Pick<PodSource, "kind" | "namespace" | "name">;
  readonly templateDigest: string;
  readonly namespaceLabels: Readonly<Record<string, string>>;
  readonly injectors: Injectors;
  /** Changes with the configuration of the injectors themselves. */
  readonly configurationVersion: string;
  readonly whole: boolean;
}

/**
 * Equal keys, equal answers. Workloads of one namespace with the same template share an answer, unless the whole sidecar is compared: its environment
 * names the workload. Namespace labels that no webhook selects by do not count.
 */
export function expectationKey({ source, templateDigest, namespaceLabels, injectors, configurationVersion, whole }: ExpectationInputs): string {
  const labels = Object.entries(namespaceLabels).filter(([key]) => injectors.namespaceLabels.has(key));
  const { kind, namespace, name } = source;
  return digest([kind, namespace, whole ? name : "", templateDigest, Object.fromEntries(labels), injectors.digest, configurationVersion]);
}

function digest(value: unknown): string {
  return hash("sha256", canonicalJson(value)).slice(0, 32);
}
