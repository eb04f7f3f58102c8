// `keyturn history <set>`: the versions, when each was seen, and where it is now. Never what they contain.
import { renderAge, renderTable } from "../../text/table.ts";
import type { Query, Report } from "../report.ts";
import type { RecordObservation, SetObservation } from "./observation.ts";
import { querySet } from "./set-query.ts";

/** One version, for people and for programs. */
interface VersionFacts {
  readonly version: number;
  readonly seenAt: string;
  readonly resource: string;
  readonly digest: string;
  /** The source is this version. */
  readonly isSource: boolean;
  /** Targets that hold it. */
  readonly targets: readonly string[];
  /** When each target, also one that has moved on, got it. */
  readonly appliedAt: Readonly<Record<string, string>>;
}

/** Enough of a digest to tell versions apart. */
const shownDigits = 12;

/** The history of a set, the newest version first. */
export async function rotationHistoryReport(query: Query, set: string): Promise<Report> {
  const { observation } = await querySet(query, set);
  const versions = observation.records.toSorted((a, b) => b.seq - a.seq).map((record) => factsOf(record, observation));
  const rows = versions.map(({ version, seenAt, digest, isSource, targets }) => [
    `v${version}`,
    renderAge(Date.parse(seenAt), query.nowMs),
    seenAt,
    digest.slice(0, shownDigits),
    [...(isSource ? ["source"] : []), ...targets].join(", ") || "-",
  ]);
  const table = versions.length > 0 ? renderTable(["version", "age", "seen", "digest", "where"], rows) : "no version has been seen yet";
  return { text: table, data: { set, namespace: query.namespace, versions } };
}

function factsOf({ seq, seenAtMs, resource, digest, watchDigest }: RecordObservation, { sources, targets, records }: SetObservation): VersionFacts {
  const newest = Math.max(...records.map((record) => record.seq));
  const content = sources.length === 1 ? sources[0]?.content : undefined;
  const commits = records.find((record) => record.seq === newest)?.log?.commits ?? [];
  const at = commits.find((commit) => commit.seq === seq)?.at ?? {};
  return {
    version: seq,
    seenAt: new Date(seenAtMs).toISOString(),
    resource,
    digest,
    isSource: seq === newest && content?.ok === true && content.watchDigest === watchDigest,
    targets: targets.filter(({ objects }) => objects.some(({ ours, applied }) => ours && applied?.seq === seq)).map(({ name }) => name),
    appliedAt: Object.fromEntries(Object.entries(at).map(([name, atMs]) => [name, new Date(atMs).toISOString()])),
  };
}
