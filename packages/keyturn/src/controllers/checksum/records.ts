// What people see of checksums, a namespace each; and of agents.
import type { ChecksumRecord, ChecksumView, DashboardRecord, Health, NextStep, ObjectRef } from "@keyturn/dashboard/contract";
import {
  type Cache,
  type DeepReadonly,
  earliest,
  findCondition,
  keyOf,
  type Kind,
  Lease,
  managedBySelector,
  nameOf,
  resourceOf,
  Secret,
  type Selection,
  type Stored,
} from "@keyturn/runtime";
import { type FlagReader, keyturn } from "../../feature/feature.ts";
import {
  againAtMs,
  conditionViews,
  defined,
  type Differences,
  happened,
  type HealthReport,
  healthReportOf,
  inNamespace,
  type Made,
  noStory,
  objectReport,
  type ObjectStory,
  pauseCommand,
  type Records,
  shortDigest,
  shownText,
  timeMs,
  unlessOverdue,
  valuesOf,
} from "../../feature/record.ts";
import { afterNow, agentId, agentLeaseLabel, agentRecord, keepAgentLease, noteOf, type StoredLease, validUntilMs } from "./agent-lease.ts";
import { IngressCheckSum, SecretCheckSum } from "./api.ts";
import type { CheckSumObject } from "./check-sum-object.ts";
import { differenceInWords, namespaceDiffs } from "./difference.ts";
import { checksumFlags, memberFlags } from "./flags.ts";
import type { ConditionReason } from "./reasons.ts";

/** A checksum as it is shown: its ids can be a megabyte, and are not. */
export type ShownCheckSum = Stored<CheckSumObject>;

/** For a watch. */
export function keepShownCheckSum(checksum: ShownCheckSum): ShownCheckSum {
  const { managedFields: _, ...metadata } = checksum.metadata;
  const { ids: __, ...spec } = checksum.spec;
  return { ...checksum, metadata, spec };
}

type CheckSum = DeepReadonly<ShownCheckSum>;

/** The record of the checksums of one kind in one namespace; undefined if there are none. It fares as the one that is about the objects as they are, or are to become. */
export function checksumRecord(
  kind: Kind,
  { namespace, checksums, leases }: { readonly namespace: string; readonly checksums: readonly CheckSum[]; readonly leases: readonly StoredLease[] },
  nowMs: number,
): (Made & { readonly record: ChecksumRecord }) | undefined {
  const newestFirst = checksums.toSorted(newerFirst);
  const [newest] = newestFirst;
  if (!newest) return undefined;
  const { metadata, spec, status } = newest;
  const { count = 0 } = spec;
  const report = unlessOverdue(
    objectReport(kind, newest, {
      ...checksumHealth(newest),
      detail: `${count} ${count === 1 ? "object" : "objects"}, checksum ${(spec.checksum ?? "none").slice(0, 12)}`,
      about: [metadata.name],
      next: nextOf(newest),
    }),
    nowMs,
  );
  const record: ChecksumRecord = {
    type: "checksum",
    id: checksumId(kind, namespace),
    step: "checksum",
    ...report,
    ...defined("createdMs", timeMs(metadata.creationTimestamp)),
    standing: standingOf(newest),
    checksums: newestFirst.map(checksumView),
    problemCount: status?.problemCount ?? 0,
    problems: (status?.problems ?? []).map(({ name, reason }) => ({ name, reason })),
    agents: agentCounts(leases, { counting: countingChecksum(checksums), nowMs }),
  };
  return { record, againAtMs: earliest([againAtMs(report, nowMs), ...leases.map((lease) => afterNow(validUntilMs(lease), nowMs))]) };
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

function checksumId({ kind }: Pick<Kind, "kind">, namespace: string): string {
  return `checksum/${kind}/${namespace}`;
}

/** The MD5 of the checksum that gateways are to have: of the newest one that is not only announced. */
export function countingChecksum(checksums: readonly CheckSum[]): string | undefined {
  return checksums.toSorted(newerFirst).find((checksum) => !isAwaited(checksum))?.spec.checksum;
}

function standingOf({ status }: CheckSum): ChecksumRecord["standing"] {
  const current = findCondition(status?.conditions, "Current");
  if (current?.status === "True") return "current";
  return current?.reason === "Awaited" ? "awaited" : "differs";
}

function checksumView(checksum: CheckSum): ChecksumView {
  const { metadata, spec, status } = checksum;
  const awaited = isAwaited(checksum);
  return {
    name: metadata.name,
    checksum: spec.checksum ?? "",
    ...defined("sha256", spec.sha256),
    count: spec.count ?? 0,
    timestampMs: timeMs(spec.timestamp) ?? 0,
    ...defined("sinceMs", awaited ? undefined : timeMs(status?.reached ?? metadata.creationTimestamp)),
    ...defined("announcedUntilMs", awaited ? timeMs(spec.announcement?.expires) : undefined),
    reason: findCondition(status?.conditions, "Current")?.reason ?? "",
    conditions: conditionViews(status?.conditions),
  };
}

function isAwaited({ spec, status }: CheckSum): boolean {
  return spec.announcement !== undefined && status?.reached === undefined;
}

function newerFirst(left: CheckSum, right: CheckSum): number {
  const newer = (timeMs(right.spec.timestamp) ?? 0) - (timeMs(left.spec.timestamp) ?? 0);
  return newer || (left.metadata.name < right.metadata.name ? -1 : 1);
}

function agentCounts(
  leases: readonly StoredLease[],
  { counting, nowMs }: { readonly counting: string | undefined; readonly nowMs: number },
): ChecksumRecord["agents"] {
  const silent = leases.filter((lease) => (validUntilMs(lease) ?? 0) <= nowMs);
  const current = leases.filter((lease) => !silent.includes(lease) && noteOf(lease, "checksum") === counting);
  return { current: current.length, behind: leases.length - silent.length - current.length, silent: silent.length };
}

/** What to watch, as the controller does: elsewhere the operator may have no right to look. */
function watchedChecksums(flag: FlagReader): {
  readonly kinds: readonly Kind<CheckSumObject>[];
  readonly places: readonly Pick<Selection, "namespace">[];
} {
  const kinds = { secrets: SecretCheckSum, ingresses: IngressCheckSum };
  const names = flag(checksumFlags.namespaces);
  return {
    kinds: flag(checksumFlags.kinds).map((kind) => kinds[kind]),
    places: names.length > 0 ? names.map((namespace) => ({ namespace })) : [{}],
  };
}

function story(ref: ObjectRef, record: DashboardRecord): ObjectStory {
  const diff = { what: "which Secrets differ", command: `keyturn diff${inNamespace(ref)}` };
  if (record.type === "agent") {
    const { createdMs, promotedMs, checksum } = record;
    return {
      history: [...happened(createdMs, "was created"), ...happened(promotedMs, `took over checksum ${shortDigest(checksum)}`)],
      commands: [diff],
    };
  }
  if (record.type !== "checksum") return noStory;
  return {
    history: record.checksums.flatMap(({ checksum, count, sinceMs, timestampMs, announcedUntilMs }) =>
      happened(
        sinceMs ?? timestampMs,
        `checksum ${shortDigest(checksum)} of ${count} objects was ${announcedUntilMs === undefined ? "published" : "announced"}`,
      ),
    ),
    commands: [diff, pauseCommand(ref)],
  };
}

/** How the live Secrets of a namespace differ from its newest checksum. */
const differences: Differences = {
  of: SecretCheckSum,
  needs: Secret,
  async find(where, flag) {
    const rules = { versionAnnotations: flag(memberFlags.versionAnnotations) };
    const chosen = { rules, labels: flag(memberFlags.secretSelector), types: flag(memberFlags.secretTypes), allNamespaces: false };
    const [diff] = await namespaceDiffs(where, chosen);
    return (diff?.differences ?? []).map((difference) => ({
      direction: difference.direction,
      name: difference.secret ?? "",
      message: shownText(differenceInWords(difference)),
    }));
  },
};

export const checksumRecords: Records = {
  story,
  differences,
  perNamespace: true,
  watch({ watch, touch, flag }) {
    const { kinds, places } = watchedChecksums(flag);
    const labels = managedBySelector(keyturn);
    const checksums = kinds.flatMap((kind) =>
      places.map((place): Cache<ShownCheckSum> => watch(kind, { ...place, labels, keep: keepShownCheckSum })),
    );
    const leases = watch<Lease, Stored<Lease>>(Lease, { labels: `${labels},${agentLeaseLabel.key}=${agentLeaseLabel.value}`, keep: keepAgentLease });
    const checksumsIn = (namespace: string, kind = SecretCheckSum.kind): readonly DeepReadonly<ShownCheckSum>[] =>
      checksums.filter((cache) => cache.kind.kind === kind).flatMap((cache) => valuesOf(cache, namespace));
    for (const cache of checksums) {
      cache.subscribe(({ key }) => {
        const { namespace = "" } = nameOf(key);
        touch(checksumId(cache.kind, namespace));
        // Whether an agent has the checksum that counts depends on both.
        if (cache.kind === SecretCheckSum) for (const [leaseKey] of leases.entries(namespace)) touch(agentId(nameOf(leaseKey)));
      });
    }
    leases.subscribe(({ key }) => {
      const name = nameOf(key);
      touch(agentId(name));
      touch(checksumId(SecretCheckSum, name.namespace ?? ""));
    });
    return {
      step: "checksum",
      resources: [...kinds, Lease].map(resourceOf),
      caches: () => [...checksums, leases],
      ids: () => [
        ...new Set(checksums.flatMap((cache) => Array.from(cache.entries(), ([key]) => checksumId(cache.kind, nameOf(key).namespace ?? "")))),
        ...Array.from(leases.entries(), ([key]) => agentId(nameOf(key))),
      ],
      make(id, nowMs) {
        const [type, first = "", second = ""] = id.split("/");
        if (type === "agent") {
          const lease = leases.get(keyOf({ namespace: first, name: second }));
          return lease && agentRecord(lease, { counting: countingChecksum(checksumsIn(first)), nowMs });
        }
        const kind = first === SecretCheckSum.kind ? SecretCheckSum : IngressCheckSum;
        const agents = kind === SecretCheckSum ? valuesOf(leases, second) : [];
        return checksumRecord(kind, { namespace: second, checksums: checksumsIn(second, first), leases: agents }, nowMs);
      },
      find(resource, name) {
        if (resource === resourceOf(Lease)) return { kind: Lease, id: agentId(name) };
        const cache = checksums.find((candidate) => resourceOf(candidate.kind) === resource && candidate.get(keyOf(name)) !== undefined);
        return cache && { kind: cache.kind, id: checksumId(cache.kind, name.namespace) };
      },
    };
  },
};
