// Small parts of a line: links, a button that copies, points in time.
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import type { ObjectRef } from "../../contract/index.ts";
import { usePage } from "../page-state.ts";
import { formatRoute, objectRoute } from "../route.ts";
import { absoluteText, relativeText } from "../time.ts";

// Links within the page.

/** A link to the page of an object. */
export function ObjectLink({
  to,
  children,
  tabIndex,
  label,
}: {
  readonly to: ObjectRef;
  /** What it is called, where what is drawn is in parts. */
  readonly label?: string;
  readonly children?: ComponentChildren;
  readonly tabIndex?: number;
}): JSX.Element {
  return (
    <a href={formatRoute(objectRoute(to))} tabIndex={tabIndex} aria-label={label} title={label}>
      {children ?? to.name}
    </a>
  );
}

/** So much of a name is kept at its end: names of one kind often begin alike. */
const keptAtEnd = 8;

/** A name that is cut in the middle where there is no room for it. */
export function MiddleText({ text }: { readonly text: string }): JSX.Element {
  const cut = Math.max(0, text.length - keptAtEnd);
  return (
    <span class="middle-text">
      <span>{text.slice(0, cut)}</span>
      <span>{text.slice(cut)}</span>
    </span>
  );
}

// Puts a text into the clipboard, and says so.

export function CopyButton({ text, what }: { readonly text: string; readonly what: string }): JSX.Element {
  const [state, setState] = useState<"ready" | "copied" | "refused">("ready");
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(
      () => setState("copied"),
      // A page that is not served over TLS or from this machine has no clipboard.
      () => setState("refused"),
    );
  };
  return (
    <button type="button" class="button" onClick={copy} aria-label={`Copy: ${what}`}>
      <span aria-live="polite">{state === "ready" ? "Copy" : state === "copied" ? "Copied" : "Select it by hand"}</span>
    </button>
  );
}

// A point in time as seen from now, which keeps up with it; in full on hover, or everywhere if somebody prefers that.

/** A time in full, on the clock of the one who looks. */
export function localText(atMs: number): string {
  return absoluteText(atMs, -new Date(atMs).getTimezoneOffset());
}

export function Moment({ at }: { readonly at: number }): JSX.Element {
  const { clock, settings } = usePage();
  const full = localText(at);
  const text = settings.timeStyle.value === "absolute" ? full : relativeText(at, clock.now.value);
  return (
    <time dateTime={isoText(at)} title={full}>
      {text}
    </time>
  );
}

function isoText(atMs: number): string {
  const date = new Date(atMs);
  return Number.isNaN(date.getTime()) ? "" : date.toISOString();
}
