// Follows scrolling, so that a long list draws only the rows in sight.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { type VirtualWindow, virtualWindow } from "../list/virtual-window.ts";

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
