// What the page of one object shows beyond its record; asked for when somebody looks.
import type { ObjectRef } from "./record.ts";

/** An Event about the object. */
export interface EventView {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly note: string;
  readonly action: string;
  readonly firstMs: number;
  readonly lastMs: number;
  readonly count: number;
  /** Who told it. */
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
  /** Only of checksums; undefined if it could not be had, then `differencesHidden` says why. */
  readonly differences?: readonly DifferenceView[];
  readonly differencesHidden?: string;
}
