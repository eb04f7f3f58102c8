// What is shown instead of what is not there: whether the page is live, what is not known, and why a list is empty.
import type { ComponentChildren, JSX } from "preact";
import { type Doubt, isShown } from "../../contract/index.ts";
import { doubtWords, limitText, namespacesText, shownNamespaces, useDoubts } from "../doubt.ts";
import { usePage } from "../page-state.ts";
import { HealthMark } from "./health-mark.tsx";
import { Moment } from "./inline.tsx";

/** Whether what is shown is live, in a few words. */
export function ConnectionState(): JSX.Element {
  const { live } = usePage();
  const connection = live.connection.value;
  const { state } = connection;
  const isCut = state === "cut" || (state === "connecting" && connection.cutAtMs !== undefined);
  const doubt = useDoubts().find(({ about }) => about !== "loading");
  const limit = shownNamespaces(live.stages.value);
  const asked = live.hello.value?.namespaces;
  const places = limit ?? asked;
  const where = places === undefined ? "live" : places.length === 1 ? `live in ${places[0]}` : `live in ${places.length} namespaces`;
  const [tone, word] =
    state === "live"
      ? doubt !== undefined
        ? (["degraded", doubtWords[doubt.about].short] as const)
        : ([limit === undefined ? "healthy" : "unknown", where] as const)
      : isCut
        ? (["degraded", doubtWords.page.short] as const)
        : state === "connecting"
          ? (["paused", "connecting"] as const)
          : (["unknown", "signed out"] as const);
  return (
    <span class={`connection tone-${tone}`} role="status" data-state={state}>
      <span class={state === "connecting" ? "connection-dot pulse" : "connection-dot"} aria-hidden="true" />
      <span>
        <span class="hidden-text">Connection: </span>
        {word}
      </span>
    </span>
  );
}

/** Below the bar of every view: what of it is not known, and how old it is. That the page is cut off is said by its own banner. */
export function DoubtStrip(): JSX.Element | null {
  const { live } = usePage();
  const shown = live.stages.value.filter(isShown).length;
  const doubts = useDoubts().filter(({ about }) => about !== "loading" && about !== "page");
  const limit = shownNamespaces(live.stages.value);
  const asked = live.hello.value?.namespaces;
  if (doubts.length === 0 && limit === undefined && asked === undefined) return null;
  return (
    <aside class="doubt-strip" aria-label="What is not known">
      <ul>
        {doubts.map(({ about, steps, asOfMs }) => (
          <li key={about}>
            <HealthMark health="unknown" quiet />
            <span class="sentence">
              {doubtWords[about].sentence}
              {steps.length === shown ? "" : ` (${steps.join(", ")})`}
              {asOfMs === undefined ? null : (
                <>
                  ; this is how it was <Moment at={asOfMs} />
                </>
              )}
            </span>
          </li>
        ))}
        {limit === undefined && asked === undefined ? null : (
          <li key="namespaces">
            <HealthMark health="unknown" quiet />
            <span class="sentence">
              {limit === undefined ? `shown: ${namespacesText(asked ?? [])}, as asked for; others are not looked at` : limitText(limit)}
            </span>
          </li>
        )}
      </ul>
    </aside>
  );
}

/** Says since when what is shown has not been live, and what is done about it. */
export function CutBanner(): JSX.Element | null {
  const { live } = usePage();
  const connection = live.connection.value;
  const cutAtMs = connection.state === "cut" || connection.state === "connecting" ? connection.cutAtMs : undefined;
  if (cutAtMs === undefined) return null;
  return (
    <div class="cut-banner">
      <span>
        This is how it was <Moment at={cutAtMs} />
        {connection.state === "cut" ? `: ${connection.why}.` : ": connecting again."}
      </span>
      {connection.state === "cut" ? (
        <>
          <span>
            Next try <Moment at={connection.retryAtMs} />.
          </span>
          <button type="button" class="button" onClick={() => live.retry()}>
            Try now
          </button>
        </>
      ) : null}
    </div>
  );
}

// What a list says when there is nothing in it: why, and what to do.

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

/** None is seen, and there may be some for all that is known. */
export function UnknownState({
  what,
  doubts,
  command,
}: {
  readonly what: string;
  readonly doubts: readonly Doubt[];
  readonly command: string;
}): JSX.Element {
  if (doubts.every(({ about }) => about === "loading")) return <p class="loading">Loading…</p>;
  return (
    <div class="panel empty">
      <h2>
        <HealthMark health="unknown" text={`Whether there ${what} is not known`} />
      </h2>
      {doubts.map(({ message }) => (
        <p key={message} class="soft">
          {message}
        </p>
      ))}
      <pre>{command}</pre>
    </div>
  );
}

/** Things exist, but none as searched for. */
export function NothingFound(): JSX.Element {
  const { navigation } = usePage();
  return (
    <div class="panel empty">
      <h2>No matches</h2>
      <button type="button" class="button" onClick={() => navigation.adjust({ search: "", health: "all", namespace: "" })}>
        Show all
      </button>
    </div>
  );
}
