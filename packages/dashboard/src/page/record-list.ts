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

/**
 * What failed before what is degraded before what is unknown, the newest of each first, at most `most` of them; and how many there are. What is only
 * in doubt because all of its step is, is told once, with the step.
 */
export function concernsIn(records: readonly ObjectRecord[], most: number): { readonly first: readonly ObjectRecord[]; readonly count: number } {
  const concerned = records.filter((record) => needsAttention(record) && !isDoubted(record));
  const first = concerned
    .toSorted((left, right) => severity(left) - severity(right) || (right.sinceMs ?? 0) - (left.sinceMs ?? 0) || (left.id < right.id ? -1 : 1))
    .slice(0, most);
  return { first, count: concerned.length };
}

function severity({ health }: ObjectRecord): number {
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
  { search, health }: { readonly search: string; readonly health: string },
): readonly ObjectRecord[] {
  if (search.trim() === "" && health === "all") return records;
  return records.filter(
    (record) =>
      (health === "all" || record.health === health) &&
      matches([record.ref.namespace, record.ref.name, record.ref.kind, record.reason, record.message, ...record.texts], search),
  );
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
