// How the checksums of a namespace fare, for people.
import type { Health } from "@keyturn/dashboard/contract";
import { type DeepReadonly, findCondition, type Kind, type Stored } from "@keyturn/runtime";
import { type NextStep, type Summary, timeMs, unlessOverdue, type HealthReport, healthReportOf } from "../../feature/summary.ts";
import type { CheckSumObject } from "./check-sum-object.ts";
import type { ConditionReason } from "./reasons.ts";

/** A checksum as it is shown: its ids can be a megabyte, and are not. */
export type ShownCheckSum = Stored<CheckSumObject>;

/** For a watch. */
export function keepShownCheckSum(checksum: ShownCheckSum): ShownCheckSum {
  const { managedFields: _, ...metadata } = checksum.metadata;
  const { ids: __, ...spec } = checksum.spec;
  return { ...checksum, metadata, spec };
}

/** One summary for each namespace that has checksums: of the one that is about the objects as they are, or that they are to become. */
export function checksumSummaries(kind: Pick<Kind, "kind">, checksums: Iterable<DeepReadonly<ShownCheckSum>>, nowMs: number): readonly Summary[] {
  const byNamespace = Map.groupBy(checksums, ({ metadata }) => metadata.namespace ?? "");
  return [...byNamespace].flatMap(([namespace, all]) => {
    const [newest] = all.toSorted(newerFirst);
    return newest ? [summaryOf(kind, namespace, { newest, nowMs })] : [];
  });
}

function summaryOf(
  { kind }: Pick<Kind, "kind">,
  namespace: string,
  { newest, nowMs }: { readonly newest: DeepReadonly<ShownCheckSum>; readonly nowMs: number },
): Summary {
  const { metadata, spec } = newest;
  const { count = 0 } = spec;
  const summary: Summary = {
    kind,
    namespace,
    name: metadata.name,
    ...checksumHealth(newest),
    detail: `${count} ${count === 1 ? "object" : "objects"}, checksum ${(spec.checksum ?? "none").slice(0, 12)}`,
    next: nextOf(newest),
    names: [metadata.name],
  };
  return unlessOverdue(summary, nowMs);
}

function newerFirst(left: DeepReadonly<ShownCheckSum>, right: DeepReadonly<ShownCheckSum>): number {
  const newer = (timeMs(right.spec.timestamp) ?? 0) - (timeMs(left.spec.timestamp) ?? 0);
  return newer || (left.metadata.name < right.metadata.name ? -1 : 1);
}

/** What gateways serve goes on working whatever a checksum says; it is the check that stands still. */
const healthOfReason: Readonly<Record<string, Health>> = {
  Published: "healthy",
  Reached: "healthy",
  Awaited: "progressing",
  BatchAnnounced: "progressing",
  Superseded: "progressing",
  EmptySet: "degraded",
  Paused: "paused",
} satisfies Readonly<Record<Exclude<ConditionReason, "TooManyIds">, Health>>;

function checksumHealth({ metadata, status }: DeepReadonly<ShownCheckSum>): HealthReport {
  const current = findCondition(status?.conditions, "Current");
  if (!current) {
    const message = "the operator has not reported on it yet; is it running, with this controller?";
    return { health: "unknown", reason: "NotReported", message, sinceMs: timeMs(metadata.creationTimestamp) };
  }
  const report = healthReportOf(current, healthOfReason[current.reason] ?? "degraded");
  const { problemCount = 0, problems = [] } = status ?? {};
  if (problemCount === 0 || report.health === "degraded" || report.health === "paused") return report;
  const named = problems.slice(0, 3).map(({ name, reason }) => `${name} (${reason})`);
  const message = `${problemCount === 1 ? "1 object is" : `${problemCount} objects are`} left out or not unique: ${named.join(", ")}${problemCount > named.length ? ", …" : ""}`;
  return { health: "degraded", reason: problems[0]?.reason ?? "LeftOut", message, sinceMs: undefined };
}

function nextOf({ spec, status }: DeepReadonly<ShownCheckSum>): NextStep | undefined {
  const atMs = status?.reached === undefined ? timeMs(spec.announcement?.expires) : undefined;
  return atMs === undefined ? undefined : { atMs, what: "gives up waiting for the announced state" };
}
