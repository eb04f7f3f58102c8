// What goes over the wire. Every answer is JSON; the stream is server-sent events whose data is JSON.
import type { ObjectRecord, ObjectRef, RecordId, StageLayout, StageRecord } from "./records.ts";

/** Everything that the page draws. Complete in itself: a record that is sent again replaces the one before. */
export type DashboardRecord = StageRecord | ObjectRecord;

/** The answer to `GET api/session`, which needs no token: how to get in. */
export interface Session {
  /** `secret`: the page was opened with `#secret=…` in its address, by `keyturn dashboard` or `keyturn dev`. `token`: the page asks for a bearer token of the cluster. */
  readonly access: "secret" | "token";
  readonly version: string;
  /** Names this run of the server. */
  readonly bootId: string;
  /** What is looked at: the API server's address without a password, or the name of the context. Absent until the viewer is in. */
  readonly cluster?: string;
}

/** The answer when something is refused; the status is 400, 401, 403, 404, 405, 413, 421, 429 or 503. With 429 and 503 the header `retry-after` says when to try again. */
export interface Refusal {
  readonly error: string;
}

/** First in every stream, event `hello`. */
export interface Hello {
  readonly bootId: string;
  /** The server's clock, so that the page can draw its now-line by it. */
  readonly nowMs: number;
  /** `snapshot`: everything follows in `snapshot` events. `resume`: what changed since `Last-Event-ID` follows in `changes` events. */
  readonly mode: "snapshot" | "resume";
  /** How the viewer is called, as the API server knows them. Absent if only a secret was asked for. */
  readonly user?: string;
  readonly cluster: string;
  /** All there are, in the order in which a credential passes through them. */
  readonly stages: readonly StageLayout[];
  /** Limits what is shown; absent for the whole cluster. */
  readonly namespaces?: readonly string[];
}

/**
 * Event `snapshot`: a part of everything. The page puts the parts together aside, and on the last one they take the place of what it has: ids that are in none go.
 * Another snapshot may come at any time, with `first` again, when the viewer's rights have changed or the page was too slow to follow.
 */
export interface SnapshotPart {
  readonly first: boolean;
  readonly last: boolean;
  /** All there are, for a progress bar. */
  readonly total: number;
  readonly records: readonly DashboardRecord[];
}

/** Event `changes`: what has changed since the one before. */
export interface Changes {
  readonly upserts: readonly DashboardRecord[];
  readonly removals: readonly RecordId[];
}

/** Event `tick`, every 15 s: the stream is alive. None for 45 s: it is not, and the page connects again. */
export interface Tick {
  readonly nowMs: number;
}

/** Event `end`, last in a stream. `access`: the token is no longer good, ask for another. `restart`: the server stops, connect again. */
export interface End {
  readonly reason: "access" | "restart";
  readonly message: string;
}

/** The events of the stream by their names. */
export interface StreamEvents {
  readonly hello: Hello;
  readonly snapshot: SnapshotPart;
  readonly changes: Changes;
  readonly tick: Tick;
  readonly end: End;
}

// What the page of one object shows beyond its record; asked for when somebody looks.

/** An Event about the object. */
export interface EventView {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly note: string;
  readonly action: string;
  readonly firstMs: number;
  readonly lastMs: number;
  readonly count: number;
  /** Who sent it. */
  readonly controller: string;
}

/** Something that has happened to it, as far as the cluster remembers. */
export interface HistoryEntry {
  readonly atMs: number;
  readonly what: string;
}

/** A command that a person could type. */
export interface CommandView {
  readonly what: string;
  readonly command: string;
}

/** How the live objects differ from the newest checksum. */
export interface DifferenceView {
  readonly direction: "missing" | "unexpected" | "changed";
  /** The object. */
  readonly name: string;
  /** In words. */
  readonly message: string;
}

/** The answer to `GET api/object`. */
export interface ObjectDetail {
  readonly ref: ObjectRef;
  /** Newest first. Undefined if this viewer may not list Events, or they could not be had; then `eventsHidden` says why. */
  readonly events?: readonly EventView[];
  readonly eventsHidden?: string;
  /** Newest first. */
  readonly history: readonly HistoryEntry[];
  readonly commands: readonly CommandView[];
  /** Undefined if nothing can differ, or if it could not be had, then `differencesHidden` says why. */
  readonly differences?: readonly DifferenceView[];
  readonly differencesHidden?: string;
}

// The addresses of the server, below the page's own. All are GET.

/** `Session`. */
export const sessionPath = "api/session";

/**
 * Server-sent events, see `StreamEvents`. Wants `Authorization: Bearer …` (the token, or the secret from the page's address), which an EventSource cannot send:
 * the page reads the stream with `fetch`. With `Last-Event-ID` it goes on after that event; only `changes`, `tick` and the last `snapshot` have an id.
 */
export const eventStreamPath = "api/stream";

/** `ObjectDetail` of one object; wants the same header. */
export function objectPath({ resource, namespace, name }: Pick<ObjectRef, "resource" | "namespace" | "name">): string {
  return `api/object?${new URLSearchParams({ resource, namespace, name }).toString()}`;
}

// Commands that are shown for copying. What stands in them was written by others: a shell must take each value as the word that it is.

/** A value in a command: one word or a part of one, or words of their own. */
type ShellValue = string | readonly string[];

/** Characters that mean nothing to any shell. */
const harmless = /^[\w@%+=:,./-]+$/;

/**
 * A command for a shell, each value quoted where it has to be. A list stands for as many words as it has, and without any the space before it goes too.
 */
export function shellCommand(texts: readonly string[], ...values: readonly ShellValue[]): string {
  let command = texts[0] ?? "";
  for (const [index, value] of values.entries()) {
    // A name that begins with a dash would be taken for an option, such as another server; no name in Kubernetes does.
    if (typeof value === "string") command += shellWord(command.endsWith(" ") ? value.replace(/^-/, "?") : value);
    else if (value.length === 0) command = command.trimEnd();
    else command += value.map(shellWord).join(" ");
    command += texts[index + 1] ?? "";
  }
  return command;
}

/** Nothing that Kubernetes stores by that name has control characters in it, or others that nobody sees, so that what is shown instead of them finds nothing. */
function shellWord(value: string): string {
  // oxlint-disable-next-line no-control-regex -- they are what it is about
  const visible = value.replaceAll(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, "?");
  return harmless.test(visible) ? visible : `'${visible.replaceAll("'", String.raw`'\''`)}'`;
}
