// What the keys do and what the marks mean.
import { Fragment, type JSX, type RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";
import { usePage, useStages, viewOf } from "../page-state.ts";
import { healthOrder } from "../../contract/index.ts";
import { home } from "../route.ts";
import { HealthMark } from "./health-mark.tsx";
import { focusWhenDrawn } from "./virtual-table.tsx";

const keys = [
  ["/", "search this list; elsewhere, everything"],
  ["1, 2 …", "go to a step; 0 goes to the overview, except in a timeline"],
  ["↑ ↓", "go through a list, or from lane to lane"],
  ["← →", "go from bar to bar in a timeline"],
  ["Enter", "keep the details of a bar open; Esc closes them"],
  ["+ − 0", "zoom a timeline in and out, and go back to now; Ctrl and the wheel do the same"],
  ["Shift ← →", "move a timeline"],
  ["t", "show times in full, or as seen from now"],
  ["?", "this help"],
] as const;

/** Open or not is up to the element alone: the browser closes it at Escape, and a second word on it would be late. */
export function HelpDialog({ dialog }: { readonly dialog: RefObject<HTMLDialogElement | null> }): JSX.Element {
  return (
    <dialog class="help" ref={dialog} aria-labelledby="help-title">
      <header>
        <h2 id="help-title">Keys and marks</h2>
        <button type="button" class="button" onClick={() => dialog.current?.close()}>
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

// The keys that work everywhere.

export function useShortcuts(onHelp: () => void): void {
  const { navigation, settings } = usePage();
  const stages = useStages();
  // With the drawing itself: a step that is drawn can be gone to.
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const stage = stages[Number(event.key) - 1];
      if (event.key === "?") onHelp();
      else if (event.key === "/") {
        if (document.getElementById("search") === null) navigation.go(home);
        focusWhenDrawn(() => document.getElementById("search"));
      } else if (event.key === "t") settings.timeStyle.value = settings.timeStyle.value === "relative" ? "absolute" : "relative";
      else if (event.key === "0") navigation.go(home);
      else if (stage !== undefined) navigation.go({ ...home, view: viewOf(stage) });
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, [navigation, settings, stages, onHelp]);
}

/** A dialog that was just closed keeps the focus until the next frame. */
function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest("input, textarea, select, dialog[open]") !== null;
}
