// A namespace in which nothing is published for now, because people said so on it or on one of its checksums.
import type { Condition } from "@keyturn/runtime";
import { type Pause, pausedAnnotation, pausedConditions, pauseInWords, pauseOf } from "../attention.ts";
import { type PublishedCheckSum, timestampMsOf } from "./check-sum-object.ts";
import type { ChecksumPlan } from "./plan.ts";

/** The pause of a namespace: that of the namespace itself, or else of any of its checksums. */
export function pauseOfNamespace(paused: string | undefined, published: readonly PublishedCheckSum[], nowMs: number): Pause | undefined {
  const own = pauseOf(paused, nowMs);
  if (own) return { ...own, by: "its namespace" };
  for (const { object } of published) {
    const pause = pauseOf(object.metadata.annotations?.[pausedAnnotation], nowMs);
    if (pause) return { ...pause, by: object.metadata.name };
  }
  return undefined;
}

/** Publishes nothing and removes nothing; the newest checksum says why. */
export function pausedChecksumPlan(published: readonly PublishedCheckSum[], pause: Pause, nowMs: number): ChecksumPlan {
  const newest = published.toSorted((a, b) => timestampMsOf(b) - timestampMsOf(a))[0];
  const before = newest?.object.status?.conditions ?? [];
  const conditions = ["Current", "Ready"].reduce<readonly Condition[]>(
    (current, type) => pausedConditions(current, pause, { type, generation: undefined, nowMs }),
    before,
  );
  const isNews = newest !== undefined && conditions !== before;
  const { namespace = "", name = "", uid = "" } = newest?.object.metadata ?? {};
  return {
    publish: undefined,
    removals: [],
    statuses: isNews ? [{ checksum: newest, status: { ...newest.object.status, conditions: [...conditions] } }] : [],
    notices: isNews ? [{ type: "Normal", reason: "Paused", message: pauseInWords(pause), about: { namespace, name, uid } }] : [],
    restsOnState: false,
    nextAtMs: pause.untilMs,
  };
}
