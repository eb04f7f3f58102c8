// What somebody should look at first, and what happens next by itself.
import type { Health, RecordBase } from "../../contract/index.ts";

/** Errors before warnings before what is not known, the newest of each first, at most `most` of them; and how many there are. */
export function attentionList<T extends RecordBase>(records: readonly T[], most: number): { readonly first: readonly T[]; readonly count: number } {
  const concerned = records.filter(({ health }) => severities.includes(health));
  const first = concerned
    .toSorted((left, right) => severity(left) - severity(right) || (right.sinceMs ?? 0) - (left.sinceMs ?? 0) || (left.id < right.id ? -1 : 1))
    .slice(0, most);
  return { first, count: concerned.length };
}

const severities: readonly Health[] = ["error", "warning", "unknown"];

function severity({ health }: RecordBase): number {
  return severities.indexOf(health);
}

/** The next things that happen by themselves, soonest first. */
export function comingUp<T extends RecordBase>(records: readonly T[], nowMs: number, most: number): readonly T[] {
  return records
    .filter(({ nextMs }) => nextMs !== undefined && nextMs > nowMs)
    .toSorted((left, right) => (left.nextMs ?? 0) - (right.nextMs ?? 0) || (left.id < right.id ? -1 : 1))
    .slice(0, most);
}
