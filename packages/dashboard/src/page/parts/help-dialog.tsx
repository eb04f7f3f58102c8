// What the keys do and what the marks mean.
import { Fragment, type JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { healthOrder } from "../list/record-filter.ts";
import { HealthMark } from "./health-mark.tsx";

const keys = [
  ["/", "search this list"],
  ["1 … 5", "go to a step; 0 goes to the overview, except in a timeline"],
  ["↑ ↓", "go through a list, or from lane to lane"],
  ["← →", "go from bar to bar in a timeline"],
  ["Enter", "keep the details of a bar open; Esc closes them"],
  ["+ − 0", "zoom a timeline in and out, and go back to now; Ctrl and the wheel do the same"],
  ["Shift ← →", "move a timeline"],
  ["t", "show times in full, or as seen from now"],
  ["?", "this help"],
] as const;

export function HelpDialog({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }): JSX.Element {
  const ref = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    if (open) ref.current?.showModal();
    else ref.current?.close();
  }, [open]);
  // Escape asks to close and does not close by itself: a key pressed before the page heard of that would be lost.
  const onCancel = (event: Event): void => {
    event.preventDefault();
    onClose();
  };
  // The browser may close it all the same.
  const onClosed = (): void => {
    if (open && ref.current?.open === false) onClose();
  };
  return (
    <dialog class="help" ref={ref} onCancel={onCancel} onClose={onClosed} aria-labelledby="help-title">
      <header>
        <h2 id="help-title">Keys and marks</h2>
        <button type="button" class="button" onClick={onClose}>
          Close
        </button>
      </header>
      <dl>
        {keys.map(([key, what]) => (
          <Fragment key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </Fragment>
        ))}
      </dl>
      <h3>Marks</h3>
      <div class="legend">
        {healthOrder.map((health) => (
          <HealthMark key={health} health={health} />
        ))}
      </div>
      <h3>Links</h3>
      <p class="soft">
        The address holds the view, the search, the zoom and what is chosen. Whoever opens it sees the same, if they have the rights.
      </p>
    </dialog>
  );
}
