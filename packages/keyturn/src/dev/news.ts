// What the operator has told lately: its Events, the newest last.
import { type Cache, type createCaches, Event } from "@keyturn/runtime";
import { renderAge, renderTable } from "../text/table.ts";
import { keyturn } from "../operator-identity.ts";

interface Piece {
  readonly atMs: number;
  readonly about: string;
  readonly reason: string;
  readonly note: string;
}

/** As many as one takes in at a glance. */
const shown = 8;
const longestNote = 100;

/** Keeps of an Event what is shown, if it is one of the operator's. */
function keepPiece({ reportingController, eventTime, series, regarding, reason, note = "" }: Event): Piece | undefined {
  if (!reportingController.startsWith(`${keyturn.domain}/`)) return undefined;
  const at = series?.lastObservedTime ?? eventTime ?? "";
  return { atMs: Date.parse(at), about: `${regarding?.kind ?? ""} ${regarding?.name ?? ""}`, reason, note };
}

/** Watches the Events of the whole cluster. */
export function watchNews(caches: ReturnType<typeof createCaches>): { readonly cache: Cache<Piece | undefined>; render(nowMs: number): string } {
  const cache = caches.watch(Event, { keep: keepPiece });
  return {
    cache,
    render(nowMs) {
      const pieces = Array.from(cache.entries(), ([, piece]) => piece).filter((piece) => piece !== undefined);
      const newest = pieces.sort((left, right) => left.atMs - right.atMs).slice(-shown);
      const rows = newest.map(({ atMs, about, reason, note }) => [renderAge(atMs, nowMs), about, reason, cut(note)]);
      return rows.length === 0 ? "" : renderTable(["ago", "about", "reason", "what happened"], rows);
    },
  };
}

function cut(note: string): string {
  return note.length > longestNote ? `${note.slice(0, longestNote - 1)}…` : note;
}
