// Plain-text tables, as kubectl prints them.
import { visibleLength } from "./paint.ts";

/** Lines up columns; the header in capitals. Wide characters are not accounted for: names in Kubernetes are ASCII. */
export function renderTable(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  return renderRows([columns.map((column) => column.toUpperCase()), ...rows]);
}

/** Lines up rows as they are. */
export function renderRows(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, index) => rows.reduce((widest, row) => Math.max(widest, visibleLength(row[index] ?? "")), 0));
  return rows
    .map((row) =>
      row
        .map((cell, index) => `${cell}${" ".repeat(Math.max(0, (widths[index] ?? 0) - visibleLength(cell)))}`)
        .join("   ")
        .trimEnd(),
    )
    .join("\n");
}

/** How long ago, as kubectl writes ages: `45s`, `3m`, `5h`, `12d`. */
export function renderAge(sinceMs: number, nowMs: number): string {
  const seconds = Math.max(0, Math.floor((nowMs - sinceMs) / 1000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}
