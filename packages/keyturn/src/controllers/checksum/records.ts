// What people see of checksums, a namespace each; and of agents.
import { type CommandView, type Health, type NextStep, type ObjectRecord, type ObjectRef, shellCommand } from "@keyturn/dashboard/contract";
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
import { keyturn } from "../../feature/feature.ts";
import { skippingOf } from "../../feature/pause-and-selection.ts";
import {
  againAtMs,
  cellAt,
  defined,
  type Differences,
  factAt,
  factDigest,
  factText,
  happened,
  type HealthReport,
  healthReportOf,
  inNamespace,
  laidOut,
  objectReport,
  type ObjectStory,
  pauseCommands,
  type RecordBase,
  type Records,
  type RecordScope,
  shortDigest,
  shownText,
  timeMs,
  unlessOverdue,
  valuesOf,
} from "../../feature/record.ts";
import {
  afterNow,
  type Agent,
  agentId,
  agentLeaseLabel,
  agentOf,
  agentRecord,
  keepAgentLease,
  noteOf,
  type StoredLease,
  validUntilMs,
} from "./agent-lease.ts";
import { IngressCheckSum, SecretCheckSum } from "./api.ts";
import { type CheckSumObject, madeMsOf } from "./check-sum-object.ts";
import { differenceInWords, namespaceDiffs } from "./difference.ts";
import { checksumFlags, memberFlags, scopeFlags } from "./flags.ts";
import { secretSelection } from "./member-kind.ts";
import type { ConditionReason } from "./reasons.ts";
import { isWide, scopeArguments, scopeChoiceOf, scopesFor, watchScopes } from "./scopes.ts";

/** A checksum as it is shown: its ids can be a megabyte, and are not. */
export type ShownCheckSum = Stored<CheckSumObject>;

/** For a watch. */
export function keepShownCheckSum(checksum: ShownCheckSum): ShownCheckSum {
  const { managedFields: _, ...metadata } = checksum.metadata;
  const { ids: __, ...spec } = checksum.spec;
  return { ...checksum, metadata, spec };
}

type CheckSum = DeepReadonly<ShownCheckSum>;

/** A checksum that is or was published. */
interface ChecksumView {
  readonly checksum: string;
  readonly sha256?: string;
  readonly count: number;
  readonly timestampMs: number;
  /** Since when it counts; absent for one that is announced and still awaited. */
  readonly sinceMs?: number;
  /** Until when its state is awaited. */
  readonly announcedUntilMs?: number;
}

/** The checksums of one kind in one namespace. Its `ref` is the newest of them. */
interface NamespaceChecksums extends RecordBase {
  /** `current`: the objects are as the newest checksum says. `awaited`: an announced state is still to come. `differs`: they are not, see the reason. */
  readonly standing: "current" | "awaited" | "differs";
  /** Newest first. */
  readonly checksums: readonly ChecksumView[];
  readonly problemCount: number;
  /** The first objects that a checksum leaves out, or counts with a reservation. */
  readonly problems: readonly { readonly name: string; readonly reason: string }[];
  /** Agents of this namespace by whether they have the checksum that counts. Always 0 for Ingresses. */
  readonly agents: { readonly current: number; readonly behind: number; readonly silent: number };
}

/** What is known of the checksums of one kind in one namespace; undefined if there are none. It fares as the one that is about the objects as they are, or are to become. */
export function namespaceChecksums(
  kind: Kind,
  { namespace, checksums, leases }: { readonly namespace: string; readonly checksums: readonly CheckSum[]; readonly leases: readonly StoredLease[] },
  nowMs: number,
): { readonly checksums: NamespaceChecksums; readonly againAtMs: number | undefined } | undefined {
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
  const known: NamespaceChecksums = {
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
  return { checksums: known, againAtMs: earliest([againAtMs(report, nowMs), ...leases.map((lease) => afterNow(validUntilMs(lease), nowMs))]) };
}

/** What gateways serve goes on working whatever a checksum says; it is the check that stands still. */
const healthOfReason: Readonly<Record<string, Health>> = {
  Published: "healthy",
  Reached: "healthy",
  Awaited: "progressing",
  BatchAnnounced: "progressing",
  Superseded: "progressing",
  EmptySet: "degraded",
  LargeChange: "degraded",
  Unannounced: "degraded",
  Unsigned: "degraded",
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
  const message = `${problemCount === 1 ? "1 object" : `${problemCount} objects`} excluded or ambiguous: ${named.join(", ")}${problemCount > named.length ? ", …" : ""}`;
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

function standingOf({ status }: CheckSum): NamespaceChecksums["standing"] {
  const current = findCondition(status?.conditions, "Current");
  if (current?.status === "True") return "current";
  return current?.reason === "Awaited" ? "awaited" : "differs";
}

function checksumView(checksum: CheckSum): ChecksumView {
  const { metadata, spec, status } = checksum;
  const awaited = isAwaited(checksum);
  return {
    checksum: spec.checksum ?? "",
    ...defined("sha256", spec.sha256),
    count: spec.count ?? 0,
    timestampMs: madeMsOf(checksum),
    ...defined("sinceMs", awaited ? undefined : timeMs(status?.reached ?? metadata.creationTimestamp)),
    ...defined("announcedUntilMs", awaited ? timeMs(spec.announcement?.expires) : undefined),
  };
}

function isAwaited({ spec, status }: CheckSum): boolean {
  return spec.announcement !== undefined && status?.reached === undefined;
}

function newerFirst(left: CheckSum, right: CheckSum): number {
  return madeMsOf(right) - madeMsOf(left) || (left.metadata.name < right.metadata.name ? -1 : 1);
}

function agentCounts(
  leases: readonly StoredLease[],
  { counting, nowMs }: { readonly counting: string | undefined; readonly nowMs: number },
): NamespaceChecksums["agents"] {
  const silent = leases.filter((lease) => (validUntilMs(lease) ?? 0) <= nowMs);
  const current = leases.filter((lease) => !silent.includes(lease) && noteOf(lease, "checksum") === counting);
  return { current: current.length, behind: leases.length - silent.length - current.length, silent: silent.length };
}

/** What to watch, as the controller does: elsewhere the operator may have no right to look. Whoever asks for a status says where to look. */
function watchedChecksums({ flag, viewer }: Pick<RecordScope, "flag" | "viewer">): {
  readonly kinds: readonly Kind<CheckSumObject>[];
  readonly places: readonly Pick<Selection, "namespace">[];
} {
  const kinds = { secrets: SecretCheckSum, ingresses: IngressCheckSum };
  const names = viewer === "status" ? [] : flag(checksumFlags.namespaces);
  return {
    kinds: flag(checksumFlags.kinds).map((kind) => kinds[kind]),
    places: names.length > 0 ? names.map((namespace) => ({ namespace })) : [{}],
  };
}

/** A scope can have thousands. */
const maxNamespacesNamed = 20;

const standingWords = { current: "agrees", awaited: "awaited", differs: "differs" } as const;

export function checksumRecord(known: NamespaceChecksums): ObjectRecord {
  const { ref, standing, reason, next, problemCount, problems, agents } = known;
  const [newest] = known.checksums;
  const [problem] = problems;
  const counts = [`${agents.current} current`, ...counted(agents.behind, "behind"), ...counted(agents.silent, "silent")];
  return laidOut(known, {
    table: "checksums",
    cells: {
      namespace: { main: ref.namespace, sub: ref.kind === "IngressCheckSum" ? "Ingresses" : "certificates", look: "link" },
      state: { main: standingWords[standing], sub: reason, look: "health" },
      checksum: { main: newest?.checksum ?? "none", look: "mono" },
      since: { ...cellAt(newest?.sinceMs, "not yet"), onPhone: (newest?.checksum ?? "").slice(0, 12) },
      objects: { main: String(newest?.count ?? 0) },
      leftOut:
        problemCount === 0
          ? { main: "none", look: "faint" }
          : { main: String(problemCount), ...(problem && { sub: `${problem.name}: ${problem.reason}` }) },
      agents: agents.current + agents.behind + agents.silent === 0 ? { main: "none", look: "faint" } : { main: counts.join(", ") },
    },
    texts: known.checksums.map(({ checksum }) => checksum),
    facts: [
      ...factDigest("checksum", newest?.checksum),
      ...factDigest("SHA-256", newest?.sha256),
      ...factText("objects", String(newest?.count ?? 0)),
      ...factAt("made", newest?.timestampMs),
      ...factAt("holds since", newest?.sinceMs),
      ...factAt("awaited until", newest?.announcedUntilMs),
      ...problems.map(({ name, reason: why }) => ({ name: `left out: ${name}`, text: why })),
      ...factAt("next", next?.atMs),
    ],
    ...(standing !== "current" && { differing: { order: standing === "differs" ? 0 : 1, ...defined("givenUpMs", newest?.announcedUntilMs) } }),
  });
}

/** The same as of a scope: whoever looks for one of its namespaces finds it. */
function coveringAll(record: ObjectRecord, namespaces: readonly string[]): ObjectRecord {
  if (namespaces.every((namespace) => namespace === record.ref.namespace)) return record;
  const named = namespaces.slice(0, maxNamespacesNamed).join(", ");
  const rest = namespaces.length - maxNamespacesNamed;
  return {
    ...record,
    covers: namespaces,
    texts: [...record.texts, ...namespaces],
    facts: [...record.facts, ...factText("namespaces", rest > 0 ? `${named} and ${rest} more` : named)],
  };
}

function counted(count: number, word: string): readonly string[] {
  return count > 0 ? [`${count} ${word}`] : [];
}

function diffCommand(ref: ObjectRef, scope: readonly string[]): CommandView {
  return { what: "which Secrets differ", command: shellCommand`keyturn diff ${inNamespace(ref)} ${scope}` };
}

function agentStory(ref: ObjectRef, { createdMs, promotedMs, checksum }: Agent, scope: readonly string[]): ObjectStory {
  return {
    history: [...happened(createdMs, "was created"), ...happened(promotedMs, `took over checksum ${shortDigest(checksum)}`)],
    commands: [diffCommand(ref, scope)],
  };
}

export function checksumStory(ref: ObjectRef, { checksums, reason }: NamespaceChecksums, scope: readonly string[]): ObjectStory {
  return {
    history: checksums.flatMap(({ checksum, count, sinceMs, timestampMs, announcedUntilMs }) =>
      happened(
        sinceMs ?? timestampMs,
        `checksum ${shortDigest(checksum)} of ${count} objects was ${announcedUntilMs === undefined ? "published" : "announced"}`,
      ),
    ),
    commands: [diffCommand(ref, scope), ...pauseCommands(ref, reason)],
  };
}

/** How the live Secrets of a namespace differ from its newest checksum. */
const differences: Differences = {
  of: SecretCheckSum,
  needs: Secret,
  async places({ client, namespace, signal }, flag) {
    const scope = (await scopesFor(client, scopeChoiceOf(flag), signal))(namespace);
    return scope?.namespaces ?? [namespace];
  },
  async find(where, flag) {
    const rules = { versionAnnotations: flag(memberFlags.versionAnnotations) };
    const selection = secretSelection(flag(memberFlags.secretTypes), flag(memberFlags.secretSelector));
    const chosen = { rules, selection, scopeChoice: scopeChoiceOf(flag), allNamespaces: false };
    const [diff] = await namespaceDiffs(where, chosen);
    return (diff?.differences ?? []).map((difference) => ({
      direction: difference.direction,
      name: difference.secret ?? "",
      message: shownText(differenceInWords(difference)),
    }));
  },
};

const layout: Records["layout"] = {
  title: "Verify",
  about: "Whether control plane and gateways agree on the certificates and Ingresses of each namespace.",
  tables: [
    {
      id: "checksums",
      title: "Checksums by namespace",
      empty: {
        title: "No checksum is published yet",
        text: "A checksum is made for a namespace as soon as it has a certificate or an Ingress with a number in its name and a version annotation.",
        command: "kubectl annotate secret NAME-1 nginx.ingress.kubernetes.io/version=1",
      },
      columns: [
        { id: "namespace", title: "Namespace", width: "minmax(170px, 1.4fr)" },
        { id: "state", title: "State", width: "minmax(110px, 0.8fr)" },
        { id: "checksum", title: "Checksum", width: "minmax(150px, 1.6fr)", phone: "hidden" },
        { id: "since", title: "Holds since", width: "minmax(100px, 0.7fr)", phone: "line" },
        { id: "objects", title: "Objects", width: "70px", phone: "hidden" },
        { id: "leftOut", title: "Left out", width: "minmax(90px, 0.9fr)", phone: "hidden" },
        { id: "agents", title: "Agents", width: "minmax(120px, 0.9fr)", phone: "hidden" },
      ],
    },
    {
      id: "agents",
      title: "Agents",
      empty: {
        title: "No agent has reported",
        text: "An agent keeps the verified certificates of a namespace on a gateway's disk",
        command: "keyturn agent --help",
      },
      columns: [
        { id: "agent", title: "Agent", width: "minmax(170px, 1.4fr)" },
        { id: "state", title: "State", width: "minmax(110px, 0.8fr)" },
        { id: "checksum", title: "Checksum", width: "minmax(150px, 1.6fr)", phone: "hidden" },
        { id: "promoted", title: "Set promoted", width: "minmax(100px, 0.7fr)", phone: "line" },
        { id: "secrets", title: "Secrets", width: "70px", phone: "hidden" },
        { id: "difference", title: "Difference", width: "minmax(90px, 0.9fr)", phone: "hidden" },
        { id: "heard", title: "Last heard of", width: "minmax(120px, 0.9fr)", phone: "hidden" },
      ],
    },
  ],
};

export const checksumRecords: Records = {
  layout,
  differences,
  perNamespace: true,
  flags: scopeFlags,
  async elsewhere({ client, namespace, signal }, flag) {
    const { home = namespace } = (await scopesFor(client, scopeChoiceOf(flag), signal))(namespace) ?? {};
    return home === namespace ? [] : [home];
  },
  watch({ watch, touch, flag, viewer }) {
    const { kinds, places } = watchedChecksums({ flag, viewer });
    const scopeChoice = scopeChoiceOf(flag);
    const scope = scopeArguments(scopeChoice);
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
    const touchScope = (home: string): void => {
      for (const kind of kinds) touch(checksumId(kind, home));
      for (const [leaseKey] of leases.entries(home)) touch(agentId(nameOf(leaseKey)));
    };
    const scopes = isWide(scopeChoice.rule)
      ? watchScopes(
          { watch, trigger: (cache, homesOf) => void cache.subscribe((change) => homesOf?.(change).forEach(touchScope)) },
          scopeChoice,
          skippingOf(flag),
        )
      : undefined;
    const covering = (record: ObjectRecord): ObjectRecord => coveringAll(record, scopes?.namespacesOf(record.ref.namespace) ?? []);
    leases.subscribe(({ key }) => {
      const name = nameOf(key);
      touch(agentId(name));
      touch(checksumId(SecretCheckSum, name.namespace ?? ""));
    });
    return {
      step: "checksum",
      resources: [...kinds, Lease].map(resourceOf),
      caches: () => [...checksums, leases, ...(scopes?.restsOn ? [scopes.restsOn] : [])],
      ids: () => [
        ...new Set(checksums.flatMap((cache) => Array.from(cache.entries(), ([key]) => checksumId(cache.kind, nameOf(key).namespace ?? "")))),
        ...Array.from(leases.entries(), ([key]) => agentId(nameOf(key))),
      ],
      make(id, nowMs) {
        const [type, first = "", second = ""] = id.split("/");
        if (type === "agent") {
          const lease = leases.get(keyOf({ namespace: first, name: second }));
          if (!lease) return undefined;
          const { agent, againAtMs: laterMs } = agentOf(lease, { counting: countingChecksum(checksumsIn(first)), nowMs });
          return { record: covering(agentRecord(agent)), againAtMs: laterMs, story: (ref) => agentStory(ref, agent, scope) };
        }
        const kind = first === SecretCheckSum.kind ? SecretCheckSum : IngressCheckSum;
        const agents = kind === SecretCheckSum ? valuesOf(leases, second) : [];
        const known = namespaceChecksums(kind, { namespace: second, checksums: checksumsIn(second, first), leases: agents }, nowMs);
        return (
          known && {
            record: covering(checksumRecord(known.checksums)),
            againAtMs: known.againAtMs,
            story: (ref) => checksumStory(ref, known.checksums, scope),
          }
        );
      },
      find(resource, name) {
        if (resource === resourceOf(Lease)) return { kind: Lease, id: agentId(name) };
        const cache = checksums.find((candidate) => resourceOf(candidate.kind) === resource && candidate.get(keyOf(name)) !== undefined);
        return cache && { kind: cache.kind, id: checksumId(cache.kind, name.namespace) };
      },
    };
  },
};
