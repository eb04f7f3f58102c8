// Where records come from: each source watches something and makes records of it, one for each key.
import type { DashboardRecord, StepName } from "@keyturn/dashboard/contract";
import type { Cache, ControllerScope, Kind, WatchStatus } from "@keyturn/runtime";

/** What a source is made with. */
export interface SourceScope extends Pick<ControllerScope, "watch" | "clock" | "log"> {
  /** Something about that key may have changed. */
  touch(this: void, key: string): void;
}

/** The record of one key, and when time alone changes it. */
export interface Made {
  readonly record: DashboardRecord;
  readonly againAtMs: number | undefined;
}

/** A source of records. */
export interface RecordSource {
  readonly step: StepName;
  /** The kinds whose objects it shows: `plural.group`. */
  readonly resources: readonly string[];
  /** What it watches; how those fare is shown with the step. */
  readonly caches: () => readonly Cache<unknown>[];
  /** Called once for many keys, before `make`. */
  readonly prepare?: (nowMs: number) => void;
  /** The record of a key; undefined if there is none (any more). The record's id is the key. */
  readonly make: (key: string, nowMs: number) => Made | undefined;
  /** The record that an object is in, and the object's kind; undefined if it is in none of this source. */
  readonly find?: (
    resource: string,
    name: { readonly namespace: string; readonly name: string },
  ) => { readonly id: string; readonly kind: Kind } | undefined;
}

/** A way to set a source up. */
export type SourceSetup = (scope: SourceScope) => RecordSource;

/** How a cache fares, asked of whoever made it. */
export type StatusOf = (cache: Cache<unknown>) => WatchStatus;
