// What a list says when there is nothing in it: why, and what to do.
import type { ComponentChildren, JSX } from "preact";
import { usePage } from "../state/page.ts";

/** Nothing exists yet. */
export function EmptyState({
  title,
  children,
  command,
}: {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly command?: string;
}): JSX.Element {
  const { live } = usePage();
  if (live.progress.value < 1) return <p class="loading">Loading…</p>;
  return (
    <div class="panel empty">
      <h2>{title}</h2>
      <p class="soft">{children}</p>
      {command === undefined ? null : <pre>{command}</pre>}
    </div>
  );
}

/** Things exist, but none as searched for. */
export function NothingFound(): JSX.Element {
  const { navigation } = usePage();
  return (
    <div class="panel empty">
      <h2>Nothing is like that</h2>
      <button type="button" class="button" onClick={() => navigation.adjust({ search: "", health: "all" })}>
        Show all
      </button>
    </div>
  );
}
