// What is written on workloads that are restarted. Never changes: objects in running clusters carry these. They are named after sidecars, the first reason there was for a restart.
import { keyturn } from "../feature/feature.ts";
import type { WorkloadId } from "./rollout-plan.ts";

/** On the pod template: when the workload was last restarted, RFC 3339. The same as Fortsa's, so that either sees the other's restarts. */
export const restartedAtAnnotation = "fortsa.scaffidi.net/restartedAt";

/** On the workload from the moment it is restarted until its rollout is finished. A label, so that one cheap list finds every rollout that is under way. */
export const rolloutLabel = `${keyturn.domain}/sidecar-rollout`;
export const rolloutLabelValue = "rolling";

/**
 * On the workload, with the restart: the digest of what it is to bring. It goes when the rollout is finished and has brought it.
 * One that stays says that the restart had no effect, and the workload is not restarted for the same again.
 */
export const restartedForAnnotation = `${keyturn.domain}/sidecar-restarted-for`;

/** On an Argo Rollout: `rollout` has it restarted by a change of its template, which its own strategy rolls out; otherwise it is by `spec.restartAt`. Reloader's. */
export const rolloutStrategyAnnotation = "reloader.stakater.com/rollout-strategy";

/** RFC 3339 with whole seconds, as Fortsa writes it. */
export function restartTime(nowMs: number): string {
  return new Date(Math.floor(nowMs / 1000) * 1000).toISOString().replace(".000Z", "Z");
}

/** The inverse; undefined for what is no time. */
export function restartTimeMs(text: string | undefined): number | undefined {
  const timeMs = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(timeMs) ? undefined : timeMs;
}

/**
 * When workloads were restarted, as far as that can be believed. Anybody can write the annotation: one that is ahead of our clock, or that is no time,
 * counts as a restart at the moment when it was first seen here. So it neither ends a cooldown nor makes one that lasts for ever.
 */
export class RestartTimes {
  readonly #firstSeen = new Map<WorkloadId, { readonly text: string; readonly atMs: number }>();

  /** The time that `text` says or stands for; undefined without one. */
  timeOf(id: WorkloadId, text: string | undefined, nowMs: number): number | undefined {
    const seen = this.#firstSeen.get(id);
    if (text !== undefined && seen?.text === text) return seen.atMs;
    const timeMs = restartTimeMs(text);
    if (text === undefined || (timeMs !== undefined && timeMs <= nowMs)) {
      this.#firstSeen.delete(id);
      return timeMs;
    }
    this.#firstSeen.set(id, { text, atMs: nowMs });
    return nowMs;
  }

  /** For a workload that is gone. */
  forget(id: WorkloadId): void {
    this.#firstSeen.delete(id);
  }
}
