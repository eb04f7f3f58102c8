// What there is to know about a bar: beside it while it has the pointer or the focus, and for as long as it is chosen.
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { ObjectRef } from "../../contract/index.ts";
import { ObjectLink } from "../parts/link.tsx";
import { localText, Moment } from "../parts/moment.tsx";
import { spanText } from "../time/span-text.ts";
import type { Bar, Fact } from "./track.ts";

export interface BarCardProps {
  readonly bar: Bar;
  readonly owner: ObjectRef | undefined;
  readonly pinned: boolean;
  readonly onClose: () => void;
}

/** Must be within the timeline's element, by which it is placed. */
export function BarCard({ bar, owner, pinned, onClose }: BarCardProps): JSX.Element {
  const ref = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const card = ref.current;
    const frame = card?.parentElement;
    const button = frame?.querySelector(`[data-bar="${CSS.escape(bar.id)}"]`);
    if (!card || !frame || !button) return;
    const around = frame.getBoundingClientRect();
    const at = button.getBoundingClientRect();
    const left = Math.min(Math.max(8, at.left - around.left), Math.max(8, around.width - card.offsetWidth - 8));
    const below = at.bottom - around.top + 6;
    const above = at.top - around.top - card.offsetHeight - 6;
    const belowFits = at.bottom + card.offsetHeight + 12 < innerHeight;
    const aboveFits = at.top - card.offsetHeight > 100;
    card.style.left = `${left}px`;
    card.style.top = `${belowFits || !aboveFits ? below : above}px`;
  });
  return (
    <aside class={pinned ? "bar-card" : "bar-card loose"} ref={ref} aria-hidden={!pinned} aria-label={`Details: ${bar.title}`}>
      <h2>
        {bar.title} <span class="faint">{bar.look}</span>
      </h2>
      <dl class="facts">
        {bar.facts.map((fact) => (
          <FactRow key={fact.name} fact={fact} />
        ))}
      </dl>
      {pinned ? (
        <div class="actions">
          {owner === undefined ? null : <ObjectLink to={owner}>Open {owner.name}</ObjectLink>}
          <button type="button" class="button plain" onClick={onClose}>
            Close
          </button>
        </div>
      ) : null}
    </aside>
  );
}

export function FactRow({ fact }: { readonly fact: Fact }): JSX.Element {
  return (
    <>
      <dt>{fact.name}</dt>
      <dd class={"mono" in fact && fact.mono ? "mono" : undefined}>
        <FactValue fact={fact} />
      </dd>
    </>
  );
}

function FactValue({ fact }: { readonly fact: Fact }): JSX.Element {
  if ("text" in fact) return <>{fact.text}</>;
  if ("spanMs" in fact) return <>{spanText(fact.spanMs)}</>;
  return (
    <>
      <Moment at={fact.atMs} /> <span class="faint">{localText(fact.atMs)}</span>
    </>
  );
}
