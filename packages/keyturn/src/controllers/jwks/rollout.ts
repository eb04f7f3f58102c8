// Whether the pods that serve a document are those that are wanted, and what they say if they are not.
import { type Deployment, findCondition, type Pod, type ReportedStatus } from "@keyturn/runtime";
import type { JwksCondition } from "./reasons.ts";

/** What is known about a rollout besides the Deployment. */
interface Watched {
  readonly object: { readonly status?: ReportedStatus | undefined };
  readonly pods: readonly Pod[] | undefined;
}

/** Rollouts that take no longer are nobody's concern, and nobody asks their pods what is the matter. */
export const patienceMs = 10_000;
/** Rollouts that take longer are said to stand in the way, although enough pods answer. */
const rolloutMs = 60_000;
/** How long after a look at the pods the next one is at the latest. */
const maxLookMs = 300_000;

/** True if every pod is of the Deployment as it is, and available. */
export function isRolledOut({ metadata: { generation = 0 }, spec, status = {} }: Deployment): boolean {
  const { observedGeneration = 0, replicas = 0, updatedReplicas = 0, availableReplicas = 0, unavailableReplicas = 0 } = status;
  const wanted = spec?.replicas ?? 1;
  return (
    observedGeneration >= generation && replicas === wanted && updatedReplicas === wanted && availableReplicas === wanted && unavailableReplicas === 0
  );
}

/** True if the Deployment asks for pods that serve the document as it is, and for as many of them. What was not written yet is not rolled out. */
function isOfSameRevision({ spec: live }: Deployment, { spec: wanted }: Deployment): boolean {
  const annotations = live?.template.metadata?.annotations ?? {};
  return (
    live?.replicas === wanted?.replicas &&
    Object.entries(wanted?.template.metadata?.annotations ?? {}).every(([annotation, value]) => annotations[annotation] === value)
  );
}

/** Since when the object has been waiting for pods; undefined if it is not. */
export function waitingSinceMs({ object: { status } }: Pick<Watched, "object">): number | undefined {
  const served = findCondition(status?.conditions, "Served");
  return served?.status === "False" ? Date.parse(served.lastTransitionTime) : undefined;
}

/** What is said of a rollout, and when to look at its pods again, of which there is no watch. */
export function rolloutOf(
  observation: Watched,
  { live, wanted, nowMs }: { readonly live: Deployment | undefined; readonly wanted: Deployment; readonly nowMs: number },
): { readonly report: JwksCondition; readonly nextAtMs: number | undefined } {
  const { pods } = observation;
  const { name } = wanted.metadata;
  const replicas = wanted.spec?.replicas ?? 1;
  if (replicas === 0) return { report: unavailable(`Deployment ${name} has no replicas`), nextAtMs: undefined };
  const available = live?.status?.availableReplicas ?? 0;
  if (live && isOfSameRevision(live, wanted) && isRolledOut(live)) {
    return { report: { status: "True", reason: "Serving", message: `${available} of ${replicas} pods serve the document` }, nextAtMs: undefined };
  }
  const sinceMs = waitingSinceMs(observation) ?? nowMs;
  // Twice as long after each look, because what does not get ready in an hour will not do so in the next second.
  const nextAtMs = nowMs + Math.min(Math.max(patienceMs, nowMs - sinceMs), maxLookMs);
  const words = [...deploymentWords(live), ...(pods ?? []).flatMap(podWords)];
  const { updatedReplicas = 0 } = live?.status ?? {};
  const state =
    available === 0
      ? `no pod of Deployment ${name} is available`
      : `${updatedReplicas} of ${replicas} pods of Deployment ${name} are up to date, ${available} available`;
  const [first] = words;
  const goesWell = live !== undefined && available >= replicas && nowMs - sinceMs < rolloutMs;
  if (first === undefined) return { report: goesWell ? { status: "False", reason: "RollingOut", message: state } : unavailable(state), nextAtMs };
  return { report: { status: "False", reason: "PodsFail", message: `${state}: ${[...new Set(words)].slice(0, 3).join("; ")}` }, nextAtMs };
}

/** What the Deployment's own controller says is wrong: that no pod can be made, or that a rollout takes too long. */
function deploymentWords(deployment: Deployment | undefined): readonly string[] {
  const conditions = deployment?.status?.conditions ?? [];
  return conditions.flatMap(({ type, status, message = "" }) =>
    (type === "ReplicaFailure" && status === "True") || (type === "Progressing" && status === "False") ? [message] : [],
  );
}

/** Ways of waiting that are a part of every start. */
const starting = new Set(["ContainerCreating", "PodInitializing"]);

/** What a pod says of itself: why it is not scheduled, why its container waits, and what nginx said when it ended. */
function podWords({ metadata: { name }, status = {} }: Pod): readonly string[] {
  const unscheduled = status.conditions?.find((condition) => condition.type === "PodScheduled" && condition.status === "False");
  const containers = (status.containerStatuses ?? []).flatMap(({ state, lastState }) => {
    const { reason = "", message = "" } = state?.waiting ?? {};
    const said = state?.terminated?.message ?? lastState?.terminated?.message ?? "";
    return reason === "" || starting.has(reason)
      ? said === ""
        ? []
        : [said]
      : [`${reason}${message === "" ? "" : `: ${message}`}${said === "" ? "" : `: ${said}`}`];
  });
  const words = [...(unscheduled?.message === undefined ? [] : [unscheduled.message]), ...containers];
  return words.map((each) => `pod ${name} says ${each.trim().slice(0, 500)}`);
}

/** Nothing is wrong, and nothing serves the document as it is. */
export function unavailable(message: string): JwksCondition {
  return { status: "False", reason: "PodsNotAvailable", message };
}
