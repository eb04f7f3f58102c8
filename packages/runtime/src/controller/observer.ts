// What the runtime tells about its work while it works; metrics are one listener.

/** How a run ended, as controller-runtime labels it where it has the case. */
export type RunResult =
  | "success"
  /** Success, and the next run has a date. */
  | "requeue_after"
  /** Something is not there yet. */
  | "waiting"
  | "error"
  /** Cut because the lease was lost or the process ends. */
  | "aborted";

/** What a controller is doing right now. */
export interface Activity {
  /** Keys ready to be run. */
  readonly ready: number;
  /** Keys that wait for their time. */
  readonly delayed: number;
  /** Runs that hold a worker. */
  readonly running: number;
  /** Keys that may not run yet: an abandoned run of theirs still goes on, or a cache has not shown their last write. */
  readonly held: number;
  /** The sum of the ages of all running runs. */
  readonly unfinishedMs: number;
  /** The age of the oldest running run. */
  readonly longestRunningMs: number;
}

/** Listens to controllers. Must not throw. */
export interface ControllerObserver {
  /** Once per controller, before anything else. */
  registered(controller: string, info: { readonly concurrency: number; activity(): Activity }): void;
  /** A key became ready. */
  added(controller: string): void;
  /** A failed key was given another try. */
  retried(controller: string): void;
  started(controller: string, info: { readonly queuedMs: number }): void;
  finished(controller: string, info: { readonly result: RunResult; readonly terminal: boolean; readonly durationMs: number }): void;
  /** A run ignored its signal; its key is held until it ends. */
  abandoned(controller: string): void;
  /** This process took or lost a lease. */
  leaseChanged(info: { readonly controller: string; readonly lease: string; readonly held: boolean }): void;
}

/** Listens to nothing. */
export const silentObserver: ControllerObserver = {
  registered() {},
  added() {},
  retried() {},
  started() {},
  finished() {},
  abandoned() {},
  leaseChanged() {},
};
