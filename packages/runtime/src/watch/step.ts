// The watch as a pure function: a state, something that happened, and the time give the next state, what the store gets, and what to do.
import type { WatchLimits } from "./watch-limits.ts";

/** Which object, and which state of it. */
interface Identity {
  /** `namespace/name`, or `name` for cluster-scoped kinds. */
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

/** An object as a watch delivers it: its identity, and what `keep` made of it. Identity is all that the store itself needs. */
export interface Observed<V> extends Identity {
  readonly value: V;
}

/**
 * The algebra between watch and store.
 *
 * A (re)list is `init`, any number of `initApply`, `initDone`; objects that were not named in between are gone. Between lists come `apply` and `delete`.
 * Within a list a later `initApply` of a key stands for the earlier one, and a `delete` takes it back: a WatchList shows what happens while it runs.
 * A list that breaks off is followed by another `init`, which starts afresh; until an `initDone` the store keeps what it had.
 * `progress` says that everything up to a resourceVersion has been delivered (bookmarks).
 */
export type WatchEvent<V> =
  | { readonly type: "init" }
  | { readonly type: "initApply"; readonly object: Observed<V> }
  | { readonly type: "initDone"; readonly resourceVersion: string }
  | { readonly type: "apply"; readonly object: Observed<V> }
  | { readonly type: "delete"; readonly object: Identity }
  | { readonly type: "progress"; readonly resourceVersion: string };

// The vocabulary of the watch's state machine: its states, what can happen to it, and what it asks for.

/** Why the last attempt failed; kept until an attempt is answered well. */
type Problem =
  | { readonly type: "failing"; readonly error: string }
  /** The server does not serve this kind. */
  | { readonly type: "missing" }
  /** The server refuses this verb. */
  | { readonly type: "forbidden"; readonly verb: "list" | "watch" };

/** Where in a list of pages to go on. */
interface ListPosition {
  readonly token: string;
  /** Of the first page: all of them are of one moment. */
  readonly resourceVersion: string;
}

/** What to do after a wait. */
type Resume =
  | { readonly type: "stream" }
  /** `at`: undefined for the first page. `repeated`: this page was asked for before. */
  | { readonly type: "page"; readonly at: ListPosition | undefined; readonly repeated?: boolean }
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
    | { readonly type: "paging"; readonly at: ListPosition | undefined; readonly repeated: boolean }
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
interface WatchStep<V> {
  readonly state: WatchState;
  readonly events: readonly WatchEvent<V>[];
  readonly effect: WatchEffect | undefined;
}

export const idleWatch: WatchState = { type: "idle", failures: 0, problem: undefined, streamRefused: false };

/** What a step may know besides state and input. */
interface StepContext {
  /** On the monotonic scale. */
  readonly nowMs: number;
  readonly limits: WatchLimits;
  /** A kind that is not served counts as one of which there is nothing. Default false. */
  readonly optional?: boolean;
}

type StateOf<Type extends WatchState["type"]> = Extract<WatchState, { readonly type: Type }>;

/** After so many failures in a row a list is tried in pages, in case it is the long stream that something in between does not bear. */
const failuresBeforePages = 3;

const none: readonly never[] = [];
const firstPage: Resume = { type: "page", at: undefined };

/** A list of nothing, older than everything. */
const emptyList: readonly WatchEvent<never>[] = [{ type: "init" }, { type: "initDone", resourceVersion: "0" }];

/**
 * One step of a watch.
 *
 * Guarantees: every input in every state leaves the watch with something under way, so it never ends; the position to resume from moves only with
 * what was delivered; a list is either delivered whole, to its `initDone`, or begun again. While an optional kind is not served, an empty list is
 * delivered with every answer that says so but the first.
 */
export function step<V>(state: WatchState, input: WatchInput<V>, context: StepContext): WatchStep<V> {
  switch (state.type) {
    case "idle":
      return input.type === "go" ? begin(state, listing(state), context) : stay(state);
    case "waiting":
      return input.type === "go" ? begin(state, state.resume, context) : stay(state);
    case "streaming":
      return stepStreaming(state, input, context);
    case "paging":
      return stepPaging(state, input, context);
    case "watching":
    default:
      return stepWatching(state, input, context);
  }
}

/** When what is under way counts as stuck, given when the last byte came; undefined while nothing can be. */
export function deadlineOf(state: WatchState, lastByteMs: number, limits: WatchLimits): number | undefined {
  switch (state.type) {
    case "idle":
    case "waiting":
      return undefined;
    case "streaming":
      return state.progressMs + limits.listStallMs;
    case "paging":
      return lastByteMs + limits.listStallMs;
    case "watching":
    default:
      return lastByteMs + limits.quietMs;
  }
}

function stepStreaming<V>(state: StateOf<"streaming">, input: WatchInput<V>, context: StepContext): WatchStep<V> {
  switch (input.type) {
    case "answered":
      return { state: { ...state, problem: undefined, progressMs: context.nowMs }, events: [{ type: "init" }], effect: undefined };
    case "applied":
      // Only what appears counts as progress: on a server that ignores WatchList, changes could go on for ever.
      return emit(input.added ? { ...state, progressMs: context.nowMs } : state, { type: "initApply", object: input.object });
    case "deleted":
      return emit(state, { type: "delete", object: input.object });
    case "bookmark": {
      const { resourceVersion } = input;
      // A server that knows WatchList sends no bookmark before the one that ends the initial events.
      if (!input.endOfInitialEvents) return begin({ ...state, streamRefused: true }, firstPage, context);
      const { openedMs, failures, problem, streamRefused } = state;
      const watching: WatchState = { type: "watching", resourceVersion, openedMs, answered: true, moved: true, failures, problem, streamRefused };
      return emit(watching, { type: "initDone", resourceVersion });
    }
    case "refused":
      if (input.status === 400 || input.status === 422) return begin({ ...state, streamRefused: true }, firstPage, context);
      return fail(state, { ...refusal(input, "watch"), resume: { type: "stream" } }, context);
    case "overdue":
      return begin({ ...state, failures: state.failures + 1 }, firstPage, context);
    case "ended":
      return fail(
        state,
        { problem: failing("the server closed the stream before the end of the initial events"), resume: { type: "stream" } },
        context,
      );
    case "broken":
      return fail(state, { problem: failing(input.message), resume: { type: "stream" } }, context);
    case "go":
    case "pageObjects":
    case "pageEnd":
    default:
      return stay(state);
  }
}

function stepPaging<V>(state: StateOf<"paging">, input: WatchInput<V>, context: StepContext): WatchStep<V> {
  const { at } = state;
  switch (input.type) {
    case "answered": {
      const answered = { ...state, problem: undefined };
      return at === undefined ? emit(answered, { type: "init" }) : stay(answered);
    }
    case "pageObjects":
      return { state, events: input.objects.map((object) => ({ type: "initApply", object })), effect: undefined };
    case "pageEnd": {
      // A page that is older than the first is of another history: what is stored was restored from a backup in the middle of the list.
      if (at && (compareResourceVersions(input.resourceVersion, at.resourceVersion) ?? 0) < 0)
        return fail(state, { problem: failing("the pages of the list are not of one history"), resume: firstPage }, context);
      if (at && input.token === at.token)
        return fail(state, { problem: failing("a page of the list is followed by itself"), resume: firstPage }, context);
      const resourceVersion = at?.resourceVersion ?? input.resourceVersion;
      if (input.token !== undefined) return begin(state, { type: "page", at: { token: input.token, resourceVersion } }, context);
      const next = begin<V>(state, { type: "watch", resourceVersion }, context);
      return { ...next, events: [{ type: "initDone", resourceVersion }] };
    }
    case "refused":
      // Too busy, which is no reason to ask for more than before, unless it has just come back. Any other refusal may be about the token: it expires with the
      // server's history, a server that was restored from a backup does not know it, and who is asked for it again would refuse it again.
      return fail(state, { ...refusal(input, "list"), resume: input.status === 429 && !state.repeated ? { type: "page", at } : firstPage }, context);
    case "broken":
      // Where only the connection broke, the page is asked for again at once. A server that is out of reach may be another one later: see `fail`.
      if (at && !state.repeated) return begin(state, { type: "page", at, repeated: true }, context);
      return fail(state, { problem: failing(input.message), resume: firstPage }, context);
    case "overdue":
      return fail(state, { problem: failing("a page of the list did not arrive"), resume: firstPage }, context);
    case "ended":
    case "go":
    case "applied":
    case "deleted":
    case "bookmark":
    default:
      return stay(state);
  }
}

function stepWatching<V>(state: StateOf<"watching">, input: WatchInput<V>, context: StepContext): WatchStep<V> {
  switch (input.type) {
    case "answered":
      return stay({ ...state, answered: true, problem: undefined });
    case "applied":
      return emit(moved(state, input.object.resourceVersion), { type: "apply", object: input.object });
    case "deleted":
      return emit(moved(state, input.object.resourceVersion), { type: "delete", object: input.object });
    case "bookmark":
      return emit(moved(state, input.resourceVersion), { type: "progress", resourceVersion: input.resourceVersion });
    case "refused":
      return refuseWatching(state, input, context);
    case "ended":
      // The usual end, unless it comes too soon; then it is a problem worth showing.
      return reopen(state, lived(state, context) ? undefined : failing("the server closed the watch early"), context);
    case "broken":
      // Out of reach: see `fail`.
      if (!state.answered) return fail(state, { problem: failing(input.message), resume: listing(state) }, context);
      return reopen(state, failing(input.message), context);
    case "overdue": {
      const rested = { ...state, failures: 0 };
      // One that delivered something has lost its connection. One that never did may stand at a position in the server's future, where after a restore
      // from a backup it is answered and hears nothing, not even bookmarks (measured on 1.36): only a list helps.
      return begin(rested, state.moved ? resuming(state) : listing(rested), context);
    }
    case "go":
    case "pageObjects":
    case "pageEnd":
    default:
      return stay(state);
  }
}

function refuseWatching<V>(state: StateOf<"watching">, input: Extract<WatchInput<V>, { type: "refused" }>, context: StepContext): WatchStep<V> {
  switch (input.status) {
    case 410: {
      // The first time this is the plain consequence of having been away; repeated, it must not become a storm of lists.
      const settled = lived(state, context) ? { ...state, failures: 0 } : state;
      if (settled.failures === 0) return begin({ ...settled, failures: 1 }, listing(settled), context);
      return fail(settled, { problem: failing(input.message), resume: listing(settled) }, context);
    }
    case 429: {
      // Too busy, which is no reason to ask for more than before.
      const settled = lived(state, context) || state.moved ? { ...state, failures: 0 } : state;
      return fail(settled, { ...refusal(input, "watch"), resume: resuming(state) }, context);
    }
    default:
      return fail(state, { ...refusal(input, "watch"), resume: listing(state) }, context);
  }
}

/** From where the watch stands. */
function resuming({ resourceVersion }: StateOf<"watching">): Resume {
  return { type: "watch", resourceVersion };
}

/** How a list is made: as a stream where the server can. */
function listing(state: WatchState): Resume {
  return state.streamRefused || state.failures >= failuresBeforePages ? firstPage : { type: "stream" };
}

function begin<V>(state: WatchState, resume: Resume, { nowMs }: StepContext): WatchStep<V> {
  const { failures, problem, streamRefused } = state;
  const record = { failures, problem, streamRefused };
  switch (resume.type) {
    case "stream":
      return act({ ...record, type: "streaming", openedMs: nowMs, progressMs: nowMs }, { type: "openStream" });
    case "page": {
      const { at, repeated = false } = resume;
      return act({ ...record, type: "paging", at, repeated }, { type: "fetchPage", token: at?.token });
    }
    case "watch":
    default: {
      const { resourceVersion } = resume;
      return act(
        { ...record, type: "watching", resourceVersion, openedMs: nowMs, answered: false, moved: false },
        { type: "openWatch", resourceVersion },
      );
    }
  }
}

/** What a failure leads to. */
interface Failure {
  readonly problem: Problem | undefined;
  readonly resume: Resume;
  readonly retryAfterMs?: number | undefined;
}

/** A watch is over: if it was a good one, at once another from where it stood; else, after a wait that grows only while nothing is delivered, a list. */
function reopen<V>(state: StateOf<"watching">, problem: Problem | undefined, context: StepContext): WatchStep<V> {
  if (lived(state, context)) return begin({ ...state, failures: 0, problem }, resuming(state), context);
  return fail(state.moved ? { ...state, failures: 0 } : state, { problem, resume: listing(state) }, context);
}

function lived(state: StateOf<"watching">, { nowMs, limits }: StepContext): boolean {
  return nowMs - state.openedMs >= limits.stableMs;
}

function fail<V>(state: WatchState, { problem, resume, retryAfterMs }: Failure, { limits, optional }: StepContext): WatchStep<V> {
  const failures = state.failures + 1;
  const maxMs = problem?.type === "missing" ? limits.maxMissingMs : limits.maxBackoffMs;
  const delayMs = Math.min(maxMs, limits.firstBackoffMs * 2 ** Math.min(failures - 1, 30));
  const askedMs = Math.min(retryAfterMs ?? 0, limits.maxRetryAfterMs);
  const waitMs = Math.max(delayMs, askedMs);
  // A server that was out of reach, or that we have not looked at for a while, may be another one when we meet it again: restored from a backup, with a
  // history of its own that soon passes the place where we stood. Nothing would show it; so a watch or a list is resumed only at once, or soon after a server
  // was too busy for it, and else begins with a list.
  const isFresh = resume === firstPage || (resume.type !== "stream" && waitMs <= limits.resumeWithinMs);
  const next = isFresh ? resume : listing({ ...state, failures });
  const waiting: WatchState = { type: "waiting", resume: next, failures, problem: problem ?? state.problem, streamRefused: state.streamRefused };
  // Only what is said twice: of several API servers, one may be behind with a kind that has just been installed.
  const isGone = optional && problem?.type === "missing" && state.problem?.type === "missing";
  const effect: WatchEffect = { type: "wait", atLeastMs: Math.max(delayMs / 2, askedMs), spreadMs: delayMs / 2 };
  return { state: waiting, events: isGone ? emptyList : none, effect };
}

function refusal(
  input: { readonly status: number; readonly message: string; readonly retryAfterMs: number | undefined },
  verb: "list" | "watch",
): { readonly problem: Problem; readonly retryAfterMs: number | undefined } {
  const { status, message, retryAfterMs } = input;
  if (status === 403) return { problem: { type: "forbidden", verb }, retryAfterMs };
  if (status === 404) return { problem: { type: "missing" }, retryAfterMs };
  return { problem: failing(message), retryAfterMs };
}

function failing(error: string): Problem {
  return { type: "failing", error };
}

function moved(state: StateOf<"watching">, resourceVersion: string): WatchState {
  return { ...state, resourceVersion, moved: true };
}

function stay<V>(state: WatchState): WatchStep<V> {
  return { state, events: none, effect: undefined };
}

function emit<V>(state: WatchState, event: WatchEvent<V>): WatchStep<V> {
  return { state, events: [event], effect: undefined };
}

function act<V>(state: WatchState, effect: WatchEffect): WatchStep<V> {
  return { state, events: none, effect };
}

// resourceVersions are opaque, but for one question: has this watch come as far as that write?

const decimal = /^[0-9]+$/;

/**
 * Below zero if `left` is older, above if newer, zero if the same; undefined if the two cannot be compared.
 * Kubernetes 1.35 and later promise that resourceVersions of one resource compare as whole numbers of any length; earlier ones did in fact.
 */
export function compareResourceVersions(left: string, right: string): number | undefined {
  if (left === right) return 0;
  if (!decimal.test(left) || !decimal.test(right)) return undefined;
  const [a, b] = [withoutZeros(left), withoutZeros(right)];
  // Whole numbers without leading zeros: the longer one is larger, and of two equally long ones the first digit that differs decides.
  if (a.length !== b.length) return a.length < b.length ? -1 : 1;
  return a < b ? -1 : a > b ? 1 : 0;
}

function withoutZeros(digits: string): string {
  return digits.startsWith("0") ? digits.replace(/^0+(?=.)/, "") : digits;
}
