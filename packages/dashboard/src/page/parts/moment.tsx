// A point in time that is told as seen from now and keeps up with it; in full on hover, or everywhere if somebody prefers that.
import type { JSX } from "preact";
import { absoluteText, relativeText } from "../time/span-text.ts";
import { usePage } from "../state/page.ts";

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
