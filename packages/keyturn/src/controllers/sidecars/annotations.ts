// What this controller writes on workloads, and the label by which people say what it may do. Never changes: objects in running clusters carry these.
import { keyturn } from "../../feature/feature.ts";

/** On the pod template: when the workload was last restarted, RFC 3339. The same as Fortsa's, so that either sees the other's restarts. */
export const restartedAtAnnotation = "fortsa.scaffidi.net/restartedAt";

/** On the workload from the moment it is restarted until its rollout is finished. A label, so that one cheap list finds every rollout that is under way. */
export const rolloutLabel = `${keyturn.domain}/sidecar-rollout`;
export const rolloutLabelValue = "rolling";

/**
 * On the workload, with the restart: the digest of the sidecar that it is to bring. It goes when the rollout is finished and has brought it.
 * One that stays tells that the restart had no effect, and the workload is not restarted for that sidecar again.
 */
export const restartedForAnnotation = `${keyturn.domain}/sidecar-restarted-for`;

/** On a namespace or a workload: `enabled` or `disabled`. The workload's own label decides over its namespace's. */
export const consentLabel = `${keyturn.domain}/sidecar-restarts`;

/** RFC 3339 with whole seconds, as Fortsa writes it. */
export function restartTime(nowMs: number): string {
  return new Date(Math.floor(nowMs / 1000) * 1000).toISOString().replace(".000Z", "Z");
}

/** The inverse; undefined for what is no time, which counts as never. */
export function restartTimeMs(text: string | undefined): number | undefined {
  const timeMs = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(timeMs) ? undefined : timeMs;
}
