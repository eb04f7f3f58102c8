// A table of any length: draws the rows in view, keeps one tab stop, and goes through its rows with the arrow keys.
import type { ComponentChildren, JSX } from "preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

// Whether a media query holds, now and later.

function useMedia(query: string): boolean {
  const [holds, setHolds] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const list = matchMedia(query);
    const follow = (): void => setHolds(list.matches);
    follow();
    list.addEventListener("change", follow);
    return () => list.removeEventListener("change", follow);
  }, [query]);
  return holds;
}

// Which rows of a long list are drawn: those in view, and a few around them.

/** The rows from `first` up to, and without, `end`. */
interface VirtualWindow {
  readonly first: number;
  readonly end: number;
}

/** All lengths in pixels; `viewTop` is how far the top of the view is below the top of the list, negative if above. */
interface Viewport {
  readonly count: number;
  readonly rowHeight: number;
  readonly viewTop: number;
  readonly viewHeight: number;
  /** How many rows are drawn beyond each edge, so that scrolling and Tab find them there. */
  readonly overscan: number;
}

/** The rows to draw. */
export function virtualWindow({ count, rowHeight, viewTop, viewHeight, overscan }: Viewport): VirtualWindow {
  const firstSeen = Math.floor(viewTop / rowHeight);
  const endSeen = Math.ceil((viewTop + viewHeight) / rowHeight);
  const end = Math.min(count, Math.max(0, endSeen + overscan));
  return { first: Math.min(end, Math.max(0, firstSeen - overscan)), end };
}

// Follows scrolling, so that a long list draws only the rows in view.

const overscan = 6;

/** The rows to draw of a list whose body is the element of `ref`. The page itself scrolls, not the list. */
export function useVirtualWindow(
  count: number,
  rowHeight: number,
): { readonly ref: { current: HTMLDivElement | null }; readonly rows: VirtualWindow } {
  const ref = useRef<HTMLDivElement>(null);
  const [rows, setRows] = useState<VirtualWindow>({ first: 0, end: Math.min(count, 40) });
  useLayoutEffect(() => {
    let frame = 0;
    const measure = (): void => {
      frame = 0;
      if (ref.current === null) return;
      const viewTop = -ref.current.getBoundingClientRect().top;
      const next = virtualWindow({ count, rowHeight, viewTop, viewHeight: innerHeight, overscan });
      setRows((before) => (before.first === next.first && before.end === next.end ? before : next));
    };
    const later = (): void => {
      frame ||= requestAnimationFrame(measure);
    };
    measure();
    addEventListener("scroll", later, { passive: true });
    addEventListener("resize", later, { passive: true });
    // What is above the list may grow or shrink, too.
    const observer = new ResizeObserver(later);
    observer.observe(document.body);
    return () => {
      cancelAnimationFrame(frame);
      removeEventListener("scroll", later);
      removeEventListener("resize", later);
      observer.disconnect();
    };
  }, [count, rowHeight]);
  return { ref, rows: { first: Math.min(rows.first, count), end: Math.min(rows.end, count) } };
}

/** A column. The first one should have a link in it that takes `tabIndex`. */
export interface Column<T> {
  /** Absent: rows cannot be sorted by it. */
  readonly id?: string;
  readonly title: string;
  /** A track of a CSS grid. */
  readonly width: string;
  readonly cell: (row: T, tabIndex: number) => ComponentChildren;
  /** Where it goes on narrow screens: beside the title, in a line of its own, or nowhere. */
  readonly phone?: "line" | "hidden";
}

interface VirtualTableProps<T> {
  /** The column that rows are sorted by, with a dash before it downwards. */
  readonly sort?: string;
  /** Called with the id of a column whose title was chosen; absent: rows come in one order. */
  readonly onSort?: (column: string) => void;
  readonly caption: string;
  /** Must stay the same object while the table is there. */
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly idOf: (row: T) => string;
  readonly phoneRowHeight?: number;
}

const wideRowHeight = 46;

export function VirtualTable<T extends object>({
  caption,
  columns,
  rows,
  idOf,
  phoneRowHeight = 76,
  sort = "",
  onSort,
}: VirtualTableProps<T>): JSX.Element {
  const narrow = useMedia("(max-width: 760px)");
  const rowHeight = narrow ? phoneRowHeight : wideRowHeight;
  const { ref, rows: visible } = useVirtualWindow(rows.length, rowHeight);
  const [chosen, setChosen] = useState(0);
  const tabStop = chosen >= visible.first && chosen < visible.end ? chosen : visible.first;
  const focusRow = useCallback(
    (index: number) => {
      setChosen(index);
      scrollToRow(ref.current, index, rowHeight);
      focusWhenDrawn(() => ref.current?.querySelector<HTMLElement>(`[data-row="${index}"] a`));
    },
    [ref, rowHeight],
  );
  const onKeyDown = (event: KeyboardEvent): void => {
    const target = targetRow(event.key, tabStop, rows.length);
    if (target === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    focusRow(target);
  };
  const template = columns.map(({ width }) => width).join(" ");
  return (
    <div
      class="panel table"
      role="table"
      aria-label={caption}
      aria-rowcount={rows.length + 1}
      ref={(element) => element?.style.setProperty("--columns", template)}
    >
      <div role="rowgroup">
        <div class="table-head" role="row" aria-rowindex={1}>
          {columns.map(({ id, title }) => (
            <div role="columnheader" key={title} aria-sort={sort === id ? "ascending" : sort === `-${id}` ? "descending" : undefined}>
              {id === undefined || onSort === undefined ? (
                title
              ) : (
                <button type="button" class="sort" onClick={() => onSort(id)}>
                  {title}
                  <span aria-hidden="true">{sort === id ? " ↑" : sort === `-${id}` ? " ↓" : ""}</span>
                </button>
              )}
            </div>
          ))}
        </div>
      </div>
      <div class="table-body" role="rowgroup" ref={ref} style={{ height: `${rows.length * rowHeight}px` }} onKeyDown={onKeyDown} onClick={followRow}>
        {rows.slice(visible.first, visible.end).map((row, offset) => {
          const index = visible.first + offset;
          return (
            <TableRow
              key={idOf(row)}
              row={row}
              index={index}
              columns={columns}
              rowHeight={rowHeight}
              tabIndex={index === tabStop ? 0 : -1}
              onFocus={setChosen}
            />
          );
        })}
      </div>
    </div>
  );
}

/** A row leads where its first link does, unless somebody chose something in it or marks its text. */
function followRow({ target }: MouseEvent): void {
  if (!(target instanceof Element) || target.closest("a, button") !== null || String(getSelection() ?? "") !== "") return;
  target.closest("[data-row]")?.querySelector("a")?.click();
}

interface TableRowProps<T> {
  readonly row: T;
  readonly index: number;
  readonly columns: readonly Column<T>[];
  readonly rowHeight: number;
  readonly tabIndex: number;
  readonly onFocus: (index: number) => void;
}

function TableRow<T>({ row, index, columns, rowHeight, tabIndex, onFocus }: TableRowProps<T>): JSX.Element {
  // The same nodes again are not compared again, so an update costs only the rows that it is about.
  return useMemo(
    () => (
      <div
        class="table-row"
        role="row"
        aria-rowindex={index + 2}
        data-row={index}
        style={{ height: `${rowHeight}px`, transform: `translateY(${index * rowHeight}px)` }}
        onFocusCapture={() => onFocus(index)}
      >
        {columns.map(({ title, cell, phone }) => (
          <div role="cell" key={title} data-phone={phone} class="cell-lines">
            {cell(row, tabIndex)}
          </div>
        ))}
      </div>
    ),
    [row, index, columns, rowHeight, tabIndex, onFocus],
  );
}

function targetRow(key: string, current: number, count: number): number | undefined {
  const targets: Readonly<Record<string, number>> = {
    ArrowDown: current + 1,
    ArrowUp: current - 1,
    PageDown: Math.min(count - 1, current + 10),
    PageUp: Math.max(0, current - 10),
    Home: 0,
    End: count - 1,
  };
  const target = targets[key];
  return target !== undefined && target >= 0 && target < count ? target : undefined;
}

/** Brings a row into the middle of the view if it is not well within it. */
export function scrollToRow(body: HTMLElement | null, index: number, rowHeight: number): void {
  if (body === null) return;
  const top = body.getBoundingClientRect().top + index * rowHeight;
  const margin = 160;
  if (top < margin || top + rowHeight > innerHeight - 40) scrollTo({ top: scrollY + top - innerHeight / 2 });
}

/** Focuses an element as soon as it is drawn; gives up after a second. */
export function focusWhenDrawn(find: () => HTMLElement | null | undefined): void {
  let tries = 60;
  const attempt = (): void => {
    const element = find();
    if (element) element.focus({ preventScroll: true });
    else if (tries-- > 0) requestAnimationFrame(attempt);
  };
  attempt();
}
