// Whether what is shown is live: in a few words in the bar, and in a banner if it is not.
import type { JSX } from "preact";
import { usePage } from "../state/page.ts";
import { Moment } from "./moment.tsx";

export function ConnectionState(): JSX.Element {
  const { live } = usePage();
  const { state } = live.connection.value;
  const [tone, word] =
    state === "live"
      ? (["ok", "live"] as const)
      : state === "connecting"
        ? (["waiting", "connecting"] as const)
        : state === "cut"
          ? (["warning", "cut off"] as const)
          : (["unknown", "not in"] as const);
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
