// Wheel with Ctrl zooms around the pointer, a sideways wheel moves, and so does dragging the axis or the space between bars.
import { useEffect, useRef } from "preact/hooks";
import type { RangeControl } from "./use-range.ts";

export function useTimelinePointer(frame: { readonly current: HTMLElement | null }, control: RangeControl): void {
  const latest = useRef(control);
  latest.current = control;
  useEffect(() => {
    const element = frame.current;
    const track = element?.querySelector(".axis-ticks");
    if (!element || !track) return undefined;
    let draggedFrom: number | undefined;
    const onWheel = (event: WheelEvent): void => {
      const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
      if (!event.ctrlKey && !sideways) return;
      event.preventDefault();
      const box = track.getBoundingClientRect();
      const { current } = latest;
      const { range } = current;
      const share = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
      if (event.ctrlKey) current.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) / 120), range.fromMs + share * (range.toMs - range.fromMs));
      else current.move(event.deltaX / box.width);
    };
    const onDown = (event: PointerEvent): void => {
      const onBar = event.target instanceof Element && event.target.closest("button, a, .bar-card, .lane-label") !== null;
      if (event.button === 0 && !onBar) draggedFrom = event.clientX;
    };
    const onMove = (event: PointerEvent): void => {
      if (draggedFrom === undefined || Math.abs(event.clientX - draggedFrom) < 2) return;
      latest.current.move((draggedFrom - event.clientX) / track.clientWidth);
      draggedFrom = event.clientX;
    };
    const onUp = (): void => {
      draggedFrom = undefined;
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    element.addEventListener("pointerdown", onDown);
    addEventListener("pointermove", onMove);
    addEventListener("pointerup", onUp);
    addEventListener("pointercancel", onUp);
    return () => {
      element.removeEventListener("wheel", onWheel);
      element.removeEventListener("pointerdown", onDown);
      removeEventListener("pointermove", onMove);
      removeEventListener("pointerup", onUp);
      removeEventListener("pointercancel", onUp);
    };
  }, [frame]);
}
