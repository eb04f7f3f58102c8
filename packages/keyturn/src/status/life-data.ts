// The life of credentials as data, for programs. Times are RFC 3339.
import type { LeaseSummary } from "../controllers/lease-summary.ts";
import { healths, type Summary } from "../controllers/summary.ts";
import type { Life } from "./life.ts";

/** What `-o json` and `-o yaml` print. Fields are only ever added. */
export function lifeData({ atMs, namespace, steps, leasesUnread }: Life): object {
  return {
    time: time(atMs),
    namespace: namespace ?? null,
    steps: steps.map(({ step, feature, objects, unread, leases }) => ({
      step,
      controller: feature,
      counts: Object.fromEntries(healths.map((health) => [health, objects.filter((object) => object.health === health).length])),
      leases: leases.map(leaseData),
      unread,
      objects: objects.map(summaryData),
    })),
    ...(leasesUnread && { leasesUnread }),
  };
}

/** One object of it. */
export function summaryData({ kind, namespace, name, health, reason, message, sinceMs, detail, next, names }: Summary): object {
  return {
    kind,
    namespace,
    name,
    health,
    reason,
    message,
    ...(sinceMs !== undefined && { since: time(sinceMs) }),
    detail,
    ...(next && { next: { at: time(next.atMs), what: next.what } }),
    about: names,
  };
}

function leaseData({ controller, namespace, holder, state, renewedMs, acquiredMs }: LeaseSummary): object {
  return {
    controller,
    namespace,
    state,
    ...(holder !== undefined && { holder }),
    ...(acquiredMs !== undefined && { since: time(acquiredMs) }),
    ...(renewedMs !== undefined && { renewed: time(renewedMs) }),
  };
}

function time(timeMs: number): string {
  return new Date(timeMs).toISOString();
}
