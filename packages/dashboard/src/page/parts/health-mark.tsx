// How something fares, as a shape, a colour and a word: none of the three is needed to understand the others.
import type { ComponentChildren, JSX } from "preact";
import type { Health } from "../../contract/index.ts";

/** A mark with its word; `text` takes the word's place, and `quiet` shows the mark alone. */
export function HealthMark({
  health,
  text,
  quiet = false,
}: {
  readonly health: Health;
  readonly text?: string;
  readonly quiet?: boolean;
}): JSX.Element {
  return (
    <span class={`health tone-${health}`}>
      <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
        {shapes[health]}
      </svg>
      <span class={quiet ? "hidden-text" : undefined}>{text ?? health}</span>
    </span>
  );
}

const line = { fill: "none", stroke: "currentColor", "stroke-width": 1.8, "stroke-linecap": "round", "stroke-linejoin": "round" } as const;

const shapes: Readonly<Record<Health, ComponentChildren>> = {
  healthy: (
    <g {...line}>
      <circle cx="8" cy="8" r="6.6" stroke-width="1.4" />
      <path d="m5.2 8.2 2 2 3.7-4.2" />
    </g>
  ),
  progressing: (
    <g {...line} class="turns">
      <path d="M13.9 6.2A6.2 6.2 0 0 0 2.5 5.2M2.1 9.8a6.2 6.2 0 0 0 11.4 1" />
      <path d="M2.3 2.4v3h3M13.7 13.6v-3h-3" />
    </g>
  ),
  paused: (
    <g {...line}>
      <circle cx="8" cy="8" r="6.6" stroke-width="1.4" />
      <path d="M6.4 5.8v4.4M9.6 5.8v4.4" />
    </g>
  ),
  degraded: (
    <g {...line}>
      <path d="M8 1.9 1.5 13.6h13z" stroke-width="1.5" />
      <path d="M8 6.4v3.2M8 11.6v.1" />
    </g>
  ),
  failed: (
    <g {...line}>
      <path d="M5.2 1.4h5.6l3.8 3.8v5.6l-3.8 3.8H5.2l-3.8-3.8V5.2z" stroke-width="1.4" />
      <path d="m5.8 5.8 4.4 4.4m0-4.4-4.4 4.4" />
    </g>
  ),
  unknown: (
    <g {...line}>
      <circle cx="8" cy="8" r="6.6" stroke-width="1.4" stroke-dasharray="2.4 2.8" />
      <path d="M6.3 6.3a1.8 1.8 0 1 1 2.5 1.7c-.6.3-.8.6-.8 1.2M8 11.4v.1" stroke-width="1.5" />
    </g>
  ),
};
