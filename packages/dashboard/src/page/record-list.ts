// Lists of records: what somebody should look at first, what happens next, and what a search leaves.
import {
  countHealth,
  type Health,
  type HealthCounts,
  healthOrder,
  isDoubted,
  needsAttention,
  type ObjectRecord,
  sumCounts,
} from "../contract/index.ts";
import type { Route } from "./route.ts";

/** What needs attention for one reason. */
export interface ConcernGroup {
  readonly step: string;
  readonly reason: string;
  readonly health: Health;
  /** The newest first. */
  readonly records: readonly ObjectRecord[];
}

/**
 * What needs attention, by what is wrong: what failed before what is degraded before what is unknown, and of those the reason first that most share. What
 * is only in doubt because all of its step is, is told once, with the step.
 */
export function concernGroups(records: readonly ObjectRecord[]): readonly ConcernGroup[] {
  const concerned = records
    .filter((record) => needsAttention(record) && !isDoubted(record))
    .toSorted((left, right) => (right.sinceMs ?? 0) - (left.sinceMs ?? 0) || (left.id < right.id ? -1 : 1));
  const groups = Map.groupBy(concerned, ({ step, reason, health }) => JSON.stringify([step, reason, health]));
  return Array.from(groups.values())
    .flatMap((own): readonly ConcernGroup[] => own.slice(0, 1).map(({ step, reason, health }) => ({ step, reason, health, records: own })))
    .toSorted((left, right) => severity(left) - severity(right) || right.records.length - left.records.length);
}

function severity({ health }: { readonly health: Health }): number {
  return healthOrder.indexOf(health);
}

/** The next things that happen by themselves, soonest first. */
export function comingUp(records: readonly ObjectRecord[], nowMs: number, most: number): readonly ObjectRecord[] {
  return records
    .filter(({ next }) => next !== undefined && next.atMs > nowMs)
    .toSorted((left, right) => (left.next?.atMs ?? 0) - (right.next?.atMs ?? 0) || (left.id < right.id ? -1 : 1))
    .slice(0, most);
}

// Which records of a list are shown: those that a search and a choice of health leave.

/** What is searched: every word must be in one of the texts. */
function matches(texts: readonly string[], search: string): boolean {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const all = texts.join("\n").toLowerCase();
  return words.every((word) => all.includes(word));
}

/** The records that are left; the same array if that is all of them. */
export function filterRecords(
  records: readonly ObjectRecord[],
  { search, health, namespace }: Pick<Route, "search" | "health" | "namespace">,
): readonly ObjectRecord[] {
  if (search.trim() === "" && health === "all" && namespace === "") return records;
  return records.filter(
    (record) =>
      (health === "all" || record.health === health) &&
      (namespace === "" || record.ref.namespace === namespace || (record.covers?.includes(namespace) ?? false)) &&
      matches([record.ref.namespace, record.ref.name, record.ref.kind, record.reason, record.message, ...record.texts], search),
  );
}

/** The namespaces of some records, in order. */
export function namespacesOf(tables: readonly (readonly ObjectRecord[])[]): readonly string[] {
  const names = new Set(tables.flat().map(({ ref }) => ref.namespace));
  names.delete("");
  return Array.from(names).sort();
}

/** The records by what a column says, or by how they fare in one that has its mark; what says the same stays in order. The same array if there is no such column. */
export function sortRecords(records: readonly ObjectRecord[], sort: string): readonly ObjectRecord[] {
  const isDown = sort.startsWith("-");
  const column = isDown ? sort.slice(1) : sort;
  if (!records.some(({ cells }) => column in cells)) return records;
  const compare = (left: ObjectRecord, right: ObjectRecord): number => compareCells(left, right, column);
  return records.toSorted(isDown ? (left, right) => compare(right, left) : compare);
}

const texts = new Intl.Collator("en", { numeric: true });

function compareCells(left: ObjectRecord, right: ObjectRecord, column: string): number {
  const [one, other] = [left.cells[column], right.cells[column]];
  if (one?.look === "health" && severity(left) !== severity(right)) return severity(left) - severity(right);
  const [main, otherMain] = [one?.main ?? "", other?.main ?? ""];
  // What has no time comes after all that have one.
  if (typeof main === "string") return typeof otherMain === "string" ? texts.compare(main, otherMain) : 1;
  return typeof otherMain === "string" ? -1 : main.atMs - otherMain.atMs;
}

/** Several parts of the page count the same tables, which are new arrays when anything in them is. */
const counted = new WeakMap<readonly { readonly health: Health }[], HealthCounts>();

/** How many records there are of each health; of several tables in all. */
export function countTables(...tables: readonly (readonly { readonly health: Health }[])[]): HealthCounts {
  const parts = tables.map((table) => {
    const counts = counted.get(table) ?? countHealth(table);
    counted.set(table, counts);
    return counts;
  });
  return sumCounts(parts);
}
