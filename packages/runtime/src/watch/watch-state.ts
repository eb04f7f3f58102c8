// The vocabulary of the watch's state machine: its states, what can happen to it, and what it asks for.
import type { Identity, Observed, WatchEvent } from "./watch-event.ts";

/** Why the last attempt failed; kept until an attempt is answered well. */
export type Problem =
  | { readonly type: "failing"; readonly error: string }
  /** The server does not serve this kind. */
  | { readonly type: "missing" }
  /** The server refuses this verb. */
  | { readonly type: "forbidden"; readonly verb: "list" | "watch" };

/** What to do after a wait. */
export type Resume =
  | { readonly type: "stream" }
  | { readonly type: "page"; readonly token: string | undefined }
  | { readonly type: "watch"; readonly resourceVersion: string };

/** What every state carries. */
interface Standing {
  /** Attempts in a row that came to nothing. */
  readonly failures: number;
  readonly problem: Problem | undefined;
  /** The server has shown that it does not know WatchList; lists come in pages from now on. */
  readonly streamRefused: boolean;
}

/** Where a watch stands. */
export type WatchState = Standing &
  (
    | { readonly type: "idle" }
    /** A WatchList is open and shows what exists. */
    | { readonly type: "streaming"; readonly openedMs: number; readonly progressMs: number }
    /** A page of a list has been asked for. */
    | { readonly type: "paging"; readonly token: string | undefined }
    /** A watch is open, or being opened, from `resourceVersion`. `answered`: the server has taken it. `moved`: it has delivered something. */
    | {
        readonly type: "watching";
        readonly resourceVersion: string;
        readonly openedMs: number;
        readonly answered: boolean;
        readonly moved: boolean;
      }
    | { readonly type: "waiting"; readonly resume: Resume }
  );

/** What can happen to a watch. */
export type WatchInput<V> =
  /** Begin; or the wait is over. */
  | { readonly type: "go" }
  /** The request was answered with success. */
  | { readonly type: "answered" }
  /** Part of the current page. */
  | { readonly type: "pageObjects"; readonly objects: readonly Observed<V>[] }
  /** The current page is complete. */
  | { readonly type: "pageEnd"; readonly resourceVersion: string; readonly token: string | undefined }
  | { readonly type: "applied"; readonly added: boolean; readonly object: Observed<V> }
  | { readonly type: "deleted"; readonly object: Identity }
  | { readonly type: "bookmark"; readonly resourceVersion: string; readonly endOfInitialEvents: boolean }
  /** An HTTP status that is no success, or an ERROR event. */
  | { readonly type: "refused"; readonly status: number; readonly message: string; readonly retryAfterMs: number | undefined }
  /** The server closed the stream in good order. */
  | { readonly type: "ended" }
  /** No connection, a broken one, or bytes that make no sense. */
  | { readonly type: "broken"; readonly message: string }
  /** The deadline that `deadlineOf` gave has passed. */
  | { readonly type: "overdue" };

/** What the machine wants done. It replaces whatever was under way. */
export type WatchEffect =
  /** Open a WatchList. */
  | { readonly type: "openStream" }
  | { readonly type: "fetchPage"; readonly token: string | undefined }
  | { readonly type: "openWatch"; readonly resourceVersion: string }
  /** Wait `atLeastMs` and a random part of `spreadMs`, then `go`. */
  | { readonly type: "wait"; readonly atLeastMs: number; readonly spreadMs: number };

/** The outcome of one step. Without an effect, what is under way goes on. */
export interface WatchStep<V> {
  readonly state: WatchState;
  readonly events: readonly WatchEvent<V>[];
  readonly effect: WatchEffect | undefined;
}

export const idleWatch: WatchState = { type: "idle", failures: 0, problem: undefined, streamRefused: false };
