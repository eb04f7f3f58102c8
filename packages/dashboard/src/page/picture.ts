// Everything that the server has sent, put together: a pure function from what is known and the next event to what is known then.
import type { Changes, DashboardRecord, Hello, ObjectRecord, StageName, StageRecord, StreamEvents } from "../contract/index.ts";

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

/** The name of a table among those of all stages. */
export function tableName(step: StageName, id: string): string {
  return `${step}/${id}`;
}

/** What is known of the stages, and the records of each table by its name; all in the order of their ids. */
interface Tables {
  readonly stages: readonly StageRecord[];
  readonly objects: ReadonlyMap<string, readonly ObjectRecord[]>;
}

/** What is known. */
export interface Picture {
  readonly tables: Tables;
  /** The first part of the stream; undefined before the first connection. */
  readonly hello: Hello | undefined;
  /** Parts of a snapshot whose last part is still to come. What was known before is shown until then. */
  readonly incoming: { readonly records: readonly DashboardRecord[]; readonly total: number } | undefined;
  /** Whether a whole snapshot has been seen. */
  readonly complete: boolean;
  /** Where to go on after a cut. */
  readonly lastEventId: string | undefined;
}

const emptyTables: Tables = { stages: [], objects: new Map() };

export const emptyPicture: Picture = { tables: emptyTables, hello: undefined, incoming: undefined, complete: false, lastEventId: undefined };

/** An event of the stream, decoded. */
export type PictureEvent = {
  [Name in keyof StreamEvents]: { readonly name: Name; readonly data: StreamEvents[Name]; readonly id: string | undefined };
}[keyof StreamEvents];

/** What is known after an event. Tables in which nothing changed are the same objects as before. */
export function addToPicture(picture: Picture, event: PictureEvent): Picture {
  const next = event.id === undefined ? picture : { ...picture, lastEventId: event.id };
  switch (event.name) {
    case "hello":
      return { ...next, hello: event.data, incoming: undefined };
    case "snapshot": {
      const before = event.data.first ? [] : (picture.incoming?.records ?? []);
      const records = [...before, ...event.data.records];
      if (!event.data.last) return { ...next, incoming: { records, total: event.data.total } };
      return { ...next, incoming: undefined, complete: true, tables: replaced(picture.tables, records) };
    }
    case "changes":
      return { ...next, tables: changed(picture.tables, event.data.upserts, new Set(event.data.removals)) };
    case "tick":
    case "end":
    default:
      return next;
  }
}

/** The same events with changes that follow each other made into one, so that a page that is behind catches up at the price of one. */
export function joinChanges(events: readonly PictureEvent[]): readonly PictureEvent[] {
  const joined: PictureEvent[] = [];
  for (const event of events) {
    const last = joined.at(-1);
    if (event.name !== "changes" || last?.name !== "changes") joined.push(event);
    else joined[joined.length - 1] = { name: "changes", id: event.id ?? last.id, data: afterEachOther(last.data, event.data) };
  }
  return joined;
}

function afterEachOther(first: Changes, second: Changes): Changes {
  const removed = new Set(second.removals);
  const back = new Set(second.upserts.map(({ id }) => id));
  return {
    upserts: [...first.upserts.filter(({ id }) => !removed.has(id)), ...second.upserts],
    removals: [...first.removals.filter((id) => !back.has(id)), ...second.removals],
  };
}

function changed({ stages, objects }: Tables, upserts: readonly DashboardRecord[], removals: ReadonlySet<string>): Tables {
  const upsertsOf = Map.groupBy(
    upserts.filter((record) => record.type === "object"),
    ({ step, table }) => tableName(step, table),
  );
  const names = new Set([...objects.keys(), ...upsertsOf.keys()]);
  return {
    stages: applyToTable(
      stages,
      upserts.filter((record) => record.type === "step"),
      removals,
    ),
    objects: new Map(Array.from(names, (name) => [name, applyToTable(objects.get(name) ?? [], upsertsOf.get(name) ?? [], removals)])),
  };
}

function replaced(tables: Tables, records: readonly DashboardRecord[]): Tables {
  const kept = new Set(inOrder(records).map(({ id }) => id));
  const before = [tables.stages, ...tables.objects.values()].flat();
  return changed(tables, records, new Set(before.filter(({ id }) => !kept.has(id)).map(({ id }) => id)));
}
