// The records of checksums, a namespace each, and of agents.
import type { AgentRecord, ChecksumRecord, ChecksumView } from "@keyturn/dashboard/contract";
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
  type Selection,
  type Stored,
} from "@keyturn/runtime";
import { agentAnnotations, agentLeaseLabel, agentSummary } from "../../agent/status.ts";
import { IngressCheckSum, SecretCheckSum } from "../../controllers/checksum/api.ts";
import type { CheckSumObject } from "../../controllers/checksum/check-sum-object.ts";
import { checksumSummaries, keepShownCheckSum, type ShownCheckSum } from "../../controllers/checksum/summary.ts";
import { keyturn } from "../../feature/feature.ts";
import { timeMs } from "../../feature/summary.ts";
import {
  conditionViews,
  defined,
  type Made,
  objectRef,
  recordBase,
  type RecordSource,
  type SourceScope,
  summaryAgainAtMs,
  healthViews,
} from "../record-source.ts";

type CheckSum = DeepReadonly<ShownCheckSum>;
type AgentLease = DeepReadonly<Stored<Lease>>;

/** The record of the checksums of one kind in one namespace; undefined if there are none. */
export function checksumRecord(
  kind: Kind,
  { namespace, checksums, leases }: { readonly namespace: string; readonly checksums: readonly CheckSum[]; readonly leases: readonly AgentLease[] },
  nowMs: number,
): Made | undefined {
  const [summary] = checksumSummaries(kind, checksums, nowMs);
  const newest = checksums.find(({ metadata }) => metadata.name === summary?.name);
  if (!summary || !newest) return undefined;
  const counting = countingChecksum(checksums);
  const { status } = newest;
  const standing = standingOf(newest);
  const record: ChecksumRecord = {
    type: "checksum",
    id: checksumId(kind, namespace),
    step: "checksum",
    ...recordBase(kind, newest, summary),
    standing,
    checksums: checksums.toSorted(newerFirst).map(checksumView),
    problemCount: status?.problemCount ?? 0,
    problems: (status?.problems ?? []).map(({ name, reason }) => ({ name, reason })),
    agents: agentCounts(leases, { counting, nowMs }),
  };
  return { record, againAtMs: earliest([summaryAgainAtMs(summary, nowMs), ...leases.map((lease) => afterNow(validUntilMs(lease), nowMs))]) };
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
  leases: readonly AgentLease[],
  { counting, nowMs }: { readonly counting: string | undefined; readonly nowMs: number },
): ChecksumRecord["agents"] {
  const silent = leases.filter((lease) => (validUntilMs(lease) ?? 0) <= nowMs);
  const current = leases.filter((lease) => !silent.includes(lease) && noteOf(lease, "checksum") === counting);
  return { current: current.length, behind: leases.length - silent.length - current.length, silent: silent.length };
}

/** For a watch of agents' Leases: of the annotations only the agent's own. */
export function keepAgentLease({
  metadata: { name, namespace, uid, resourceVersion, creationTimestamp, annotations = {} },
  spec,
}: Stored<Lease>): Stored<Lease> {
  const own = Object.fromEntries(Object.values(agentAnnotations).flatMap((key) => (annotations[key] === undefined ? [] : [[key, annotations[key]]])));
  return {
    metadata: {
      name,
      uid,
      resourceVersion,
      annotations: own,
      ...defined("namespace", namespace),
      ...defined("creationTimestamp", creationTimestamp),
    },
    ...(spec && { spec }),
  };
}

/** The record of an agent; `counting` is the checksum that it is to have. */
export function agentRecord(lease: AgentLease, { counting, nowMs }: { readonly counting: string | undefined; readonly nowMs: number }): Made {
  const { metadata, spec } = lease;
  const summary = agentSummary(lease, nowMs);
  const checksum = noteOf(lease, "checksum");
  const untilMs = validUntilMs(lease);
  const record: AgentRecord = {
    type: "agent",
    id: agentId(metadata),
    step: "checksum",
    ref: objectRef(Lease, metadata),
    ...healthViews(summary),
    ...defined("createdMs", timeMs(metadata.creationTimestamp)),
    conditions: [],
    identity: spec?.holderIdentity ?? metadata.name,
    state: noteOf(lease, "state"),
    checksum,
    generation: noteOf(lease, "generation"),
    ...defined("matches", counting === undefined ? undefined : counting === checksum),
    secrets: countIn(noteOf(lease, "secrets")),
    ...defined("promotedMs", timeMs(noteOf(lease, "promotedAt"))),
    ...defined("verifiedMs", timeMs(noteOf(lease, "verifiedAt"))),
    ...defined("renewedMs", timeMs(spec?.renewTime)),
    ...defined("validUntilMs", untilMs),
    differences: differenceCounts(noteOf(lease, "differences")),
    alarms: noteOf(lease, "alarms")
      .split(",")
      .filter((alarm) => alarm !== ""),
  };
  return { record, againAtMs: afterNow(untilMs, nowMs) };
}

function agentId({ namespace = "", name }: { readonly namespace?: string | undefined; readonly name: string }): string {
  return `agent/${namespace}/${name}`;
}

function noteOf({ metadata }: AgentLease, name: keyof typeof agentAnnotations): string {
  return metadata.annotations?.[agentAnnotations[name]] ?? "";
}

function differenceCounts(text: string): AgentRecord["differences"] {
  const count = (direction: string): number => countIn(new RegExp(`\\b${direction}=(\\d+)`).exec(text)?.[1]);
  return { missing: count("missing"), unexpected: count("unexpected"), changed: count("changed") };
}

/** A number of things as an agent notes it; 0 for what is none, such as one so large that the page could not show it. */
function countIn(text = ""): number {
  return /^\d{1,9}$/.test(text) ? Number(text) : 0;
}

function validUntilMs({ spec }: AgentLease): number | undefined {
  const renewedMs = timeMs(spec?.renewTime);
  return renewedMs === undefined ? undefined : renewedMs + (spec?.leaseDurationSeconds ?? 0) * 1000;
}

function afterNow(atMs: number | undefined, nowMs: number): number | undefined {
  return atMs !== undefined && atMs > nowMs ? atMs : undefined;
}

// Watches the objects of the step "verify": checksums, and the Leases in which agents show themselves.

/** What to watch, as the controller does. */
export interface ChecksumSourceOptions {
  /** The kinds of checksums that are published. */
  readonly kinds: readonly Kind<CheckSumObject>[];
  /** Where; one place without a namespace is everywhere. */
  readonly places: readonly Pick<Selection, "namespace">[];
}

export function checksumSource({ watch, touch }: SourceScope, { kinds, places }: ChecksumSourceOptions): RecordSource {
  const labels = managedBySelector(keyturn);
  const checksums = kinds.flatMap((kind) => places.map((place): Cache<ShownCheckSum> => watch(kind, { ...place, labels, keep: keepShownCheckSum })));
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
}

function valuesOf<V>(cache: Cache<V>, namespace: string): readonly DeepReadonly<V>[] {
  return Array.from(cache.entries(namespace), ([, value]) => value);
}
