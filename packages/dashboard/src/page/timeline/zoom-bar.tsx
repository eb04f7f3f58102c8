// How much time is shown, and which.
import type { JSX } from "preact";
import { usePage } from "../state/page.ts";
import { zoomSteps } from "../time/time-range.ts";
import type { RangeControl } from "./use-range.ts";

/** `alone`: there is no table to choose instead. */
export function ZoomBar({ control, alone = false }: { readonly control: RangeControl; readonly alone?: boolean }): JSX.Element {
  const { navigation } = usePage();
  const table = navigation.route.value.table && !alone;
  const span = control.range.toMs - control.range.fromMs;
  return (
    <div class="zoom-bar">
      {table ? null : (
        <>
          <div class="button-row" role="group" aria-label="How much time is shown">
            {zoomSteps.map(({ name, label, spanMs }) => (
              <button
                type="button"
                class="button"
                key={name}
                aria-label={`${name}, ${label}`}
                title={label}
                aria-pressed={control.following && Math.abs(span - spanMs) < 1000}
                onClick={() => control.follow(spanMs)}
              >
                {name}
              </button>
            ))}
          </div>
          <div class="button-row" role="group" aria-label="Move and zoom">
            <button type="button" class="button" aria-label="Earlier" title="Earlier (Shift ←)" onClick={() => control.move(-0.4)}>
              ←
            </button>
            <button type="button" class="button" aria-label="Zoom out" title="Zoom out (−)" onClick={() => control.zoom(2)}>
              −
            </button>
            <button
              type="button"
              class="button"
              aria-label="Now"
              title="Back to now (0)"
              aria-pressed={control.following}
              onClick={() => control.follow(span)}
            >
              now
            </button>
            <button type="button" class="button" aria-label="Zoom in" title="Zoom in (+)" onClick={() => control.zoom(0.5)}>
              +
            </button>
            <button type="button" class="button" aria-label="Later" title="Later (Shift →)" onClick={() => control.move(0.4)}>
              →
            </button>
          </div>
        </>
      )}
      {alone ? null : (
        <button type="button" class="button" aria-pressed={table} onClick={() => navigation.adjust({ table: !table, selected: undefined })}>
          Table
        </button>
      )}
    </div>
  );
}
