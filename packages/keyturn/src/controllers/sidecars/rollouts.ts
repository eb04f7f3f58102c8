// Carries the plan out: looks once more, restarts what is due, takes the label off what is finished, and records Events about all of it.
import {
  type Client,
  type ControllerScope,
  DaemonSet,
  type DeepReadonly,
  Deployment,
  fieldManagerOf,
  isApiError,
  Job,
  keyOf,
  type Kind,
  type KubeObject,
  type PlannedEvent,
  type ObjectKey,
  type Outcome,
  Pod,
  type Run,
  StatefulSet,
} from "@keyturn/runtime";
import { keyturn } from "../../feature/feature.ts";
import { restartedAtAnnotation, restartedForAnnotation, restartTime, rolloutLabel, rolloutLabelValue } from "./annotations.ts";
import type { FleetRecord } from "./fleet.ts";
import type { InspectionResult, Inspector } from "./inspect.ts";
import type { FleetMetrics } from "./metrics.ts";
import type { EventReason, SkipReason } from "./reasons.ts";
import { type Fleet, lastOf, type Limits, planRollouts, type RolloutPlan, type Row, type WorkloadId, workloadId } from "./rollout-plan.ts";
import type { SidecarsWatches } from "./watches.ts";
import { keepAny, Rollout, type Workload } from "./workload.ts";

/** Names the controller's Lease and field manager. */
export const controllerName = "sidecars";

/** What rollouts are planned and made with. */
interface RolloutsOptions {
  readonly scope: Pick<ControllerScope, "clock" | "events" | "namespaces" | "log" | "dryRun">;
  readonly watches: SidecarsWatches;
  readonly inspector: Inspector;
  readonly record: FleetRecord;
  readonly metrics: Pick<FleetMetrics, "restarted" | "restartFailed">;
  /** Shows the plan that a run has made. */
  readonly show: (key: ObjectKey, plan: RolloutPlan) => void;
  readonly limits: Limits;
  readonly dryRun: boolean;
}

/** So many restarts in one run; the next run goes on. Each takes two requests, and a run has a minute. */
const restartsPerRun = 100;

/** After a run in which not everything could be done; what failed has a date of its own. */
const lookAgainMs = 1000;

/** In place of an Event: nothing was written, because the plan no longer holds. */
const changed = "changed";

/** Plans and carries out, run by run. */
export class Rollouts {
  readonly #options: RolloutsOptions;
  readonly #events = new RolloutEvents();
  #logged = "";

  constructor(options: RolloutsOptions) {
    this.#options = options;
  }

  async reconcile(run: Run): Promise<Outcome> {
    const { limits, show, dryRun } = this.#options;
    let plan = planRollouts(this.#fleet(new Map(), run.now), limits, run.now);
    // The caches may not show yet what the leader before us has started.
    if (plan.rows.some(({ decision }) => decision.type === "restart"))
      plan = planRollouts(this.#fleet(await this.#rolling(run), run.now), limits, run.now);
    show(run.key, plan);
    if (dryRun) this.#log(plan, run);
    else {
      for (const { row, ...event } of this.#events.next(plan)) this.#recordEvent(row, event);
      if (!(await this.#carryOut(plan, run))) return { requeueAfterMs: lookAgainMs };
    }
    return plan.nextAtMs === undefined ? {} : { requeueAfterMs: Math.max(0, plan.nextAtMs - run.now) };
  }

  #fleet(rolling: Fleet["rolling"], nowMs: number): Fleet {
    const { record, limits } = this.#options;
    return { candidates: record.candidates, rolling, lastRestartMs: limits.restartDelayMs > 0 ? this.#lastRestartMs(rolling, nowMs) : undefined };
  }

  #lastRestartMs(rolling: Fleet["rolling"], nowMs: number): number | undefined {
    const { watches, inspector } = this.#options;
    const cached = Array.from(watches.workloads.values()).flatMap((cache) =>
      Array.from(cache.entries(), ([, workload]) => inspector.restartedAtMs(workload)),
    );
    // What was first seen after this run began is of no later time for it.
    const times = [...cached, ...rolling.values()].map((time) => (time === undefined ? undefined : Math.min(time, nowMs)));
    return lastOf(times, nowMs);
  }

  /** Every restart that is under way, as the API server knows it. */
  async #rolling({ client, signal }: Pick<Run, "client" | "signal">): Promise<Map<WorkloadId, number | undefined>> {
    const { scope, watches, inspector } = this.#options;
    const namespaces = scope.namespaces.length > 0 ? scope.namespaces.map((namespace) => ({ namespace })) : [{}];
    const kinds = Array.from(watches.workloads.values(), (cache) => cache.kind);
    const lists = kinds.flatMap((kind) =>
      namespaces.map(async (where) => {
        const { items } = await client.list(kind, { labels: rolloutLabel, ...where }, signal);
        return items.map((item) => keepAny(kind, item));
      }),
    );
    const rolling = (await Promise.all(lists)).flat();
    return new Map(rolling.map((workload) => [workloadId(workload.ref), inspector.restartedAtMs(workload)]));
  }

  /** True if all was done; false if there is more to do. */
  async #carryOut({ rows }: RolloutPlan, run: Run): Promise<boolean> {
    let done = true;
    for (const row of rows) {
      const { decision } = row;
      if (decision.type !== "finish") continue;
      const finished = await this.#write(row, run, async (target) => {
        // It was planned from what was recorded a moment ago; what is written goes by what the cache shows now.
        if (this.#rowNow(this.#options.inspector.inspect(row.id), run.now)?.decision.type !== "finish") return changed;
        await finishRollout(target, decision);
        run.done("finished a rollout", { workload: row.id, helped: decision.helped });
        return finishEvent(row);
      });
      done &&= finished;
    }
    // The plan counts on the room that these make.
    if (!done) return false;
    let restarts = 0;
    for (const row of rows) {
      if (row.decision.type !== "restart") continue;
      if (++restarts > restartsPerRun) return false;
      let isAnswered = true;
      const restarted = await this.#write(row, run, async (target) => {
        const now = await this.#lastLook(row.id, target, run);
        if (now?.decision.type !== "restart") {
          isAnswered = now?.decision.type !== "unknown" || now.decision.reason !== "WebhookFailed";
          return undefined;
        }
        // As late as it is: what follows is delayed from this time, and istiod may have taken its time to answer.
        await restartWorkload(target, { nowMs: this.#options.scope.clock.now(), digest: now.decision.digest });
        run.done("restarted a workload", { workload: now.id, why: now.why }, () => this.#options.metrics.restarted(now.outdated ?? ""));
        return restartEvent(now);
      });
      // The others may depend on the same webhook, and each would wait for it; the next plan is made without what it said.
      if (!isAnswered) return false;
      done &&= restarted;
    }
    return done;
  }

  /**
   * What is decided about it by itself, with its pods read and its webhooks asked just now: the cache of pods may be behind that of workloads, and
   * nothing that is current, that somebody has begun to roll out meanwhile, or whose new pods nobody could inject is to be restarted.
   */
  async #lastLook(id: WorkloadId, { workload, client }: RestartTarget, { signal, log, now }: Run): Promise<Row | undefined> {
    const { namespace } = workload.source;
    const { items } = await client.list(Pod, { namespace, labels: workload.selector }, signal);
    const inspection = await this.#options.inspector.lookAgain(id, items, signal);
    const row = this.#rowNow(inspection, now);
    if (!row) log.info({ workload: id, why: inspection.whyNone }, "not restarted: on a last look there is no reason for it any more");
    else if (row.decision.type === "unknown" && row.decision.reason !== "Pending") {
      log.warn({ workload: id, reason: row.decision.reason, why: row.why }, "not restarted: it is no longer known what new pods would get");
    } else if (row.decision.type !== "restart") {
      log.info({ workload: id, decision: row.decision }, "not restarted: it is no longer due");
    }
    return row;
  }

  /** What would be decided about one workload if there were no other. */
  #rowNow({ candidate }: InspectionResult, nowMs: number): Row | undefined {
    const candidates = candidate ? [{ ...candidate, retryAtMs: undefined }] : [];
    return planRollouts({ candidates, rolling: new Map(), lastRestartMs: undefined }, this.#options.limits, nowMs).rows[0];
  }

  /** One workload's trouble is not another's: what fails is tried again later, and the rest goes on. */
  async #write(row: Row, run: Run, write: (target: RestartTarget) => Promise<PlannedEvent | typeof changed | undefined>): Promise<boolean> {
    const { scope, watches, inspector, record, metrics } = this.#options;
    const { id, ref } = row;
    const workload = inspector.workload(id);
    const resourceVersion = watches.workloads.get(ref.kind)?.identity(keyOf(ref))?.resourceVersion;
    if (!workload || resourceVersion === undefined) return true;
    try {
      const event = await write({ client: run.client, workload, resourceVersion });
      if (event === changed) return false;
      record.succeeded(id);
      if (event) this.#recordEvent(row, event);
      return true;
    } catch (error) {
      if (run.signal.aborted) throw error;
      // The object has changed since it was looked at; the change is on its way to us.
      if (isApiError(error, "Conflict")) return false;
      const message = error instanceof Error ? error.message : String(error);
      record.failed(id, run.now);
      if (scope.dryRun) run.log.warn({ workload: id, error: message }, "dry run: the API server would not take this write");
      else {
        metrics.restartFailed();
        run.log.warn({ workload: id, error: message }, "a workload could not be restarted; it will be tried again");
        this.#recordEvent(row, { type: "Warning", reason: "RestartFailed", message });
      }
      return false;
    }
  }

  #recordEvent({ ref }: Row, { type, reason, message }: PlannedEvent): void {
    const kind = eventKind(ref.kind);
    const { namespace, name } = ref;
    if (kind)
      this.#options.scope.events.record({ kind, object: { namespace, name, ...this.#uid(kind, ref) }, type, reason, action: "Restart", message });
  }

  #uid(kind: Kind, ref: Row["ref"]): { readonly uid?: string } {
    const { workloads, pods } = this.#options.watches;
    const uid = (workloads.get(kind.kind) ?? (kind === Pod ? pods : undefined))?.identity(keyOf(ref))?.uid;
    return uid === undefined ? {} : { uid };
  }

  /** In a dry run the log says what would happen and what Events would say, once for each change of it. */
  #log({ rows }: RolloutPlan, { log }: Run): void {
    const due = rows.filter(({ outdated, decision }) => outdated !== undefined || (decision.type === "unknown" && decision.reason !== "Pending"));
    const text = JSON.stringify(due.map(({ id, decision }) => [id, decision]));
    if (text === this.#logged) return;
    this.#logged = text;
    for (const { id, why, decision } of due)
      log.info(
        { workload: id, why, decision },
        decision.type === "unknown" ? "dry run: a workload that cannot be judged" : "dry run: an outdated workload",
      );
  }
}

function eventKind(kind: string): Kind | undefined {
  return restartableKinds.get(kind) ?? (kind === "Pod" ? Pod : kind === "Job" ? Job : undefined);
}

// The writes on workloads: a restart, and the end of one. By server-side apply, on exactly the object that was looked at.

/** The kinds that can be restarted, by name. */
const restartableKinds: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  [Deployment.kind, Deployment],
  [StatefulSet.kind, StatefulSet],
  [DaemonSet.kind, DaemonSet],
  [Rollout.kind, Rollout],
]);

/** A workload as it was looked at. */
interface RestartTarget {
  readonly client: Client;
  readonly workload: DeepReadonly<Workload>;
  /** The version that the decision was made from. If the object has changed since, nothing is written, and the write fails with `Conflict`. */
  readonly resourceVersion: string;
}

/** Restarts the workload for a sidecar, and labels it until its rollout is finished. */
function restartWorkload(target: RestartTarget, { nowMs, digest }: { readonly nowMs: number; readonly digest: string }): Promise<unknown> {
  const labels = { [rolloutLabel]: rolloutLabelValue };
  return applyRestart(target, { labels, annotations: { [restartedForAnnotation]: digest }, restartedAt: restartTime(nowMs) });
}

/** Takes the label off; what the restart was for stays written down unless it helped. */
function finishRollout(target: RestartTarget, { helped }: { readonly helped: boolean }): Promise<unknown> {
  const { restartedAt, restartedFor } = target.workload;
  const annotations = helped || restartedFor === undefined ? {} : { annotations: { [restartedForAnnotation]: restartedFor } };
  // The time is applied again as it is: a field that its manager no longer applies is removed, and that would roll the workload.
  return applyRestart(target, { ...annotations, restartedAt });
}

interface RestartFields {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly restartedAt: string | undefined;
}

async function applyRestart({ client, workload, resourceVersion }: RestartTarget, { restartedAt, ...metadata }: RestartFields): Promise<unknown> {
  const { kind, namespace, name, uid } = workload.source;
  const restartable = restartableKinds.get(kind);
  if (!restartable) throw new Error(`restarting ${kind} ${namespace}/${name}: there is no way to restart a ${kind}`);
  const object: KubeObject & { readonly spec?: object } = {
    metadata: { namespace, name, uid, resourceVersion, ...metadata },
    ...(restartedAt !== undefined && {
      spec: kind === "Rollout" ? { restartAt: restartedAt } : { template: { metadata: { annotations: { [restartedAtAnnotation]: restartedAt } } } },
    }),
  };
  // By force: the annotation may be Fortsa's, or that of somebody who tried it by hand.
  const options = { fieldManager: fieldManagerOf(keyturn, controllerName), force: true, answer: "metadata" } as const;
  return client.apply<KubeObject, "metadata">(restartable, object, options);
}

// The Events about a workload, one for each change of what is decided about it.

/** An Event and whom it is about. */
interface RowEvent extends PlannedEvent {
  readonly row: Row;
}

/** Remembers what was said last. */
class RolloutEvents {
  readonly #said = new Map<WorkloadId, string>();

  /** What is new in this plan. Restarts and their ends are recorded when they are done. */
  next({ rows }: RolloutPlan): readonly RowEvent[] {
    const present = new Set(rows.map(({ id }) => id));
    for (const id of this.#said.keys()) if (!present.has(id)) this.#said.delete(id);
    return rows.flatMap((row) => {
      const event = eventOf(row);
      const saying = event ? `${event.reason} ${event.message}` : "";
      const before = this.#said.get(row.id) ?? "";
      this.#said.set(row.id, saying);
      return event && saying !== before ? [{ ...event, row }] : [];
    });
  }
}

function eventOf({ decision, why }: Row): PlannedEvent | undefined {
  switch (decision.type) {
    case "skip":
      return {
        type: decision.reason === "RestartWithoutEffect" ? "Warning" : "Normal",
        reason: decision.reason,
        message: `${why}; not restarted: ${skipWords[decision.reason]}`,
      };
    case "unknown":
      return decision.reason === "Pending" ? undefined : { type: "Warning", reason: decision.reason, message: why };
    case "rolling":
      return decision.stuck
        ? { type: "Warning", reason: "RolloutStuck", message: "was restarted for its sidecar and is not healthy in time; see its pods" }
        : undefined;
    case "restart":
    case "finish":
    case "wait":
    default:
      return undefined;
  }
}

/** After a restart. */
function restartEvent({ why }: Row): PlannedEvent {
  const reason: EventReason = "SidecarRestart";
  return { type: "Normal", reason, message: `restarted: ${why}` };
}

/** After a rollout that has come to its end. */
function finishEvent({ decision }: Row): PlannedEvent | undefined {
  // One without effect is reported as what is skipped from now on.
  if (decision.type !== "finish" || !decision.helped) return undefined;
  const reason: EventReason = "SidecarRolloutFinished";
  return { type: "Normal", reason, message: "the rollout is finished and every pod has the expected sidecar" };
}

const skipWords: Readonly<Record<SkipReason, string>> = {
  OptedOut: "restarts are disabled by label",
  NotOptedIn: "restarts are not enabled by label",
  Paused: "it is paused, by its spec or by the annotation keyturn.io/paused; resume it, and it will be restarted",
  OnDelete: "its update strategy is OnDelete; delete its pods one by one",
  Partitioned: "its update strategy has a partition, below which no pod would be replaced",
  BarePod: "nothing would make the pod again; delete it and create it anew",
  Job: "pods of a Job run to their end",
  UnsupportedOwner: "its pods belong to something that cannot be restarted here",
  RestartWithoutEffect: "it has been restarted, and its new pods are no different; something else changes them",
};

/** Why a workload is not restarted, in words. */
export function skipInWords(reason: SkipReason): string {
  return skipWords[reason];
}
