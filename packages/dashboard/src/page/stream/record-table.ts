// The records of one type in the order of their ids, as an array that is never changed in place: what did not change is the same object as before.

interface Identified {
  readonly id: string;
}

/** Puts changed and new records in and takes removed ones out. Gives the same array if there is nothing to do. */
export function applyToTable<T extends Identified>(table: readonly T[], upserts: readonly T[], removals: ReadonlySet<string>): readonly T[] {
  const gone = [...removals].some((id) => findRecord(table, id) !== undefined);
  if (upserts.length === 0 && !gone) return table;
  const changed = inOrder(upserts);
  return (gone ? undefined : replaceAll(table, changed)) ?? merge(table, changed, removals);
}

/** The table with these in the places of those before them; undefined if one of them has no place yet. Most changes are such, and need no look at the rest. */
function replaceAll<T extends Identified>(table: readonly T[], changed: readonly T[]): readonly T[] | undefined {
  const result = table.slice();
  for (const record of changed) {
    const index = placeOf(table, record.id);
    if (table[index]?.id !== record.id) return undefined;
    result[index] = record;
  }
  return result;
}

function merge<T extends Identified>(table: readonly T[], changed: readonly T[], removals: ReadonlySet<string>): readonly T[] {
  const result: T[] = [];
  let next = 0;
  for (const record of table) {
    let change = changed[next];
    for (; change !== undefined && change.id < record.id; change = changed[++next]) result.push(change);
    if (change?.id === record.id) {
      result.push(change);
      next++;
    } else if (!removals.has(record.id)) result.push(record);
  }
  return result.concat(changed.slice(next));
}

/** Sorted by id; of several with one id the last. */
export function inOrder<T extends Identified>(records: readonly T[]): readonly T[] {
  const byId = new Map(records.map((record) => [record.id, record]));
  return [...byId.values()].sort((left, right) => (left.id < right.id ? -1 : 1));
}

/** The record of an id. */
export function findRecord<T extends Identified>(table: readonly T[], id: string): T | undefined {
  const found = table[placeOf(table, id)];
  return found?.id === id ? found : undefined;
}

/** Where the record of an id is, or would be. */
function placeOf(table: readonly Identified[], id: string): number {
  let low = 0;
  let high = table.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const record = table[middle];
    if (record !== undefined && record.id < id) low = middle + 1;
    else high = middle;
  }
  return low;
}
