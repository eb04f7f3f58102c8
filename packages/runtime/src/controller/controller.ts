// How a controller is written: what it is called, what it may do, what it watches, and one function that reconciles one key.
import type { Cache, Change, Watch } from "../cache/cache.ts";
import type { Client } from "../client/client.ts";
import type { Kind, KubeObject, ObjectKey } from "../client/kind.ts";
import type { SendPermit } from "../client/transport.ts";
import type { Clock } from "../clock.ts";
import type { EventRecorder } from "../observe/events.ts";
import type { Logger } from "../observe/logger.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { BackoffOptions } from "../queue/backoff.ts";
import type { Random } from "../random.ts";
import type { FailedRun } from "./failure.ts";
import type { Operator } from "./owned-objects.ts";
import type { KeyView } from "./runner.ts";

// What a controller may do, declared once: RBAC, chart, docs and the start-up check all come from this list.

/** The verbs of the Kubernetes API that a rule can grant. */
export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete" | "deletecollection";

/** A right that a controller needs, and why. */
export interface AccessRule {
  readonly kind: Pick<Kind, "group" | "plural" | "namespaced">;
  readonly verbs: readonly Verb[];
  readonly subresource?: string;
  /** Limits the rule to objects of these names (not possible for list, watch and create). */
  readonly resourceNames?: readonly string[];
  /** Limits the rule to this namespace, wherever else the operator works. Default everywhere that it works. */
  readonly namespace?: string;
  /** Limits the rule to the namespace that the operator itself is in. */
  readonly inOwnNamespace?: true;
  /** One sentence for the reference: what the right is used for. */
  readonly why: string;
}

/** A controller, before it runs. Plain data plus `setup`. */
export interface ControllerDefinition {
  /** Lower-case kebab; names the Lease, the field manager and the metrics label. */
  readonly name: string;
  readonly access: readonly AccessRule[];
  /**
   * The kind whose condition `Ready` and Events tell how a key fares if the reconcile does not do so itself: False after a failure that lasts, True again
   * after the next success. Absent for controllers whose keys are no objects.
   */
  readonly primary?: Kind;
  /** Reconciles at the same time, each of another key. Default 16. This and the numbers below are refused at the start, with a `RangeError`, where they make no sense. */
  readonly concurrency?: number;
  /** After this a reconcile is cut (its signal aborts, its key is retried). Default 60,000. */
  readonly deadlineMs?: number;
  /** Backoff of a failing key: first delay, doubled each time up to the longest. Default 20 ms … 5 min. */
  readonly backoff?: BackoffOptions;
  /** Every key runs again this often, spread over a tenth of it, whatever was or was not noticed; a second at least. Default: the operator's, which is 10 h unless it says otherwise. */
  readonly resyncMs?: number;
  /** Declares watches and triggers, and returns the reconcile function. Called once, before anything runs. */
  setup(scope: ControllerScope): Reconcile;
}

/** What `setup` gets to build the controller from. */
export interface ControllerScope {
  /** The controller's name. */
  readonly controller: string;
  /** Whose controller it is. */
  readonly operator: Operator;
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly events: EventRecorder;
  /** Namespaces the operator is limited to; empty for all. */
  readonly namespaces: readonly string[];
  /** The operator's own namespace, where its Leases are. */
  readonly operatorNamespace: string;
  /** True if nothing may be changed: the clients withhold writes, and so must a controller that writes anywhere else. */
  readonly dryRun: boolean;
  /** Aborts when the controller is over in this process, after its last run: time to close what it opened. */
  readonly closed: AbortSignal;
  /** By how far the API server's clock is ahead of ours; see `ServerClock`. */
  serverAheadMs(this: void): number | undefined;
  /** Calls `listener` when the schema of a watched kind has changed; all keys run again then, too. Absent: nobody looks. */
  readonly onSchemaChange?: (this: void, listener: () => void) => void;
  /** The key that the installation keeps in a Secret of the operator's namespace, which is made if there is none; undefined while the right to it is missing. */
  installationKey(this: void, signal: AbortSignal): Promise<Uint8Array | undefined>;
  /** A shared cache of a kind; see `WatchOptions`. */
  readonly watch: Watch;
  /** False if the API server does not serve the kind of an `optional` watch: its cache is empty, and that says nothing about what there is. */
  isServed(this: void, cache: Cache<unknown>): boolean;
  /** Reconciles the keys that `keysOf` names whenever the cache changes in a way that `when` lets through. Default: the object's own key, and all changes. */
  trigger<V>(
    this: void,
    cache: Cache<V>,
    keysOf?: (change: Change<V>) => readonly ObjectKey[],
    options?: { readonly when?: (change: Change<V>) => boolean },
  ): void;
  /**
   * Reconciles the owner whenever an object that is kept on its behalf changes: one with the mark that `OwnedWriter` leaves, or with an owner reference that
   * makes it the controller. Default: the controller's `primary`.
   */
  owns(this: void, cache: Cache<KubeObject>, owner?: Kind): void;
  /** Reconciles a key that no watched object stands for, such as a period or an outside signal: at once, or after `afterMs`, of which at least 10 count. */
  enqueue(this: void, key: ObjectKey, options?: { readonly afterMs?: number }): void;
  /**
   * Shows something of keys, such as metrics, while this process works on them. What the returned function is given is shown, and undefined hides it;
   * when a term ends, everything that was shown of its keys is hidden, because another process shows it from then on.
   */
  show<V>(this: void, view: KeyView<V>): (key: ObjectKey, value: V | undefined) => void;
}

/** What one reconcile gets. */
export interface Run {
  readonly key: ObjectKey;
  /** Aborts at the deadline, on loss of the lease and on shutdown. Pass it to everything that waits. */
  readonly signal: AbortSignal;
  /** The API client; writes made with it are seen by the caches before this key runs again. */
  readonly client: Client;
  /** What a request to any other server needs: it is sent only while this run may act, as the client's own writes are. */
  readonly permit: SendPermit;
  readonly log: Logger;
  /** The wall clock at the start of the run: every decision of one run uses this one time. */
  readonly now: number;
  /** How often this key has failed in a row before this run. */
  readonly failures: number;
  /**
   * Says what a write has done, such as `published a checksum`: logs it and calls `count`, if there is something to count. In a dry run nothing was
   * done, so it is logged as withheld and not counted.
   */
  done(this: void, message: string, fields?: Readonly<Record<string, unknown>>, count?: () => void): void;
}

/** What a reconcile asks for when it is done. */
export interface Outcome {
  /** Run this key again then, unless something changes earlier: after 10 ms at least. Zero, less, and what is no number count as a second and are logged. */
  readonly requeueAfterMs?: number;
  /**
   * The run was neither a success nor a failure: held back by a limit, planned from a cache that was behind, or without a part that was refused (which is
   * counted as an error). Failures in a row and their backoff are not forgotten.
   */
  readonly unfinished?: "deferred" | "conflict" | "refused";
}

/** Brings one key from what is observed to what is wanted. Throws `TransientError`, `TerminalError` or `WaitingError`; anything else counts as transient with the reason `InternalError`. */
export interface Reconcile {
  (run: Run): Promise<Outcome | void>;
  /**
   * Tells those concerned that a run failed. Called when the run is over, for one that was cut at its deadline can no longer write, with a client and a deadline
   * of its own, one at a time per key. What it throws is logged. Default: the operator's reporter tells; see `outcomeCondition`.
   */
  readonly failed?: (failure: FailedRun, run: Run) => Promise<void>;
}

// What the runtime reports of its work while it works; metrics are one listener.

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
  readonly maxRunningMs: number;
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
