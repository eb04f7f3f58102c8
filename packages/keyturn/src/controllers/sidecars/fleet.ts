// The workloads that the plan has to deal with, kept up to date one by one, and what others than the controller see of them.
import { type Client, type Clock, type ControllerScope, type Logger, sleep } from "@keyturn/runtime";
import { Semaphore } from "../../semaphore.ts";
import type { SidecarsOptions } from "./controller.ts";
import { Expectations } from "./expectations.ts";
import { InjectorConfiguration } from "./injector-configuration.ts";
import { idsIn, type InspectionResult, Inspector, type InspectorOptions } from "./inspect.ts";
import { NamespaceStabilization } from "./namespace-labels.ts";
import { expectedByApiServer } from "./queries.ts";
import type { Candidate, Limits, WorkloadId } from "./rollout-plan.ts";
import { idOfWorkload, type SidecarsWatches, skippedFields, watchSidecars } from "./watches.ts";
import { lookForRolloutsMs, type RolloutWatch, servesRollouts, watchRollouts } from "./workload.ts";

/** After a write that failed: 5 s, 10 s … 5 min. */
const firstRetryMs = 5000;
const maxRetryMs = 300_000;

/** Candidates by id, and the writes of theirs that failed. */
export class FleetRecord {
  readonly #candidates = new Map<WorkloadId, Omit<Candidate, "retryAtMs">>();
  readonly #failures = new Map<WorkloadId, { readonly count: number; readonly retryAtMs: number }>();

  get candidates(): readonly Candidate[] {
    return Array.from(this.#candidates, ([id, candidate]) => ({ ...candidate, retryAtMs: this.#failures.get(id)?.retryAtMs }));
  }

  /** Takes an inspection in. True if the plan may change by it. */
  record(id: WorkloadId, { candidate }: InspectionResult): boolean {
    const before = this.#candidates.get(id);
    if (candidate) this.#candidates.set(id, candidate);
    else {
      this.#candidates.delete(id);
      this.#failures.delete(id);
    }
    return JSON.stringify(before) !== JSON.stringify(candidate);
  }

  /** A write to the workload failed at this time. */
  failed(id: WorkloadId, nowMs: number): void {
    const count = this.#failures.get(id)?.count ?? 0;
    this.#failures.set(id, { count: count + 1, retryAtMs: nowMs + Math.min(firstRetryMs * 2 ** count, maxRetryMs) });
  }

  /** A write to the workload was taken. */
  succeeded(id: WorkloadId): void {
    this.#failures.delete(id);
  }
}

/** The controller's caches, and the inspector that judges by them. */
export interface SidecarsView {
  readonly watches: SidecarsWatches;
  readonly inspector: Pick<Inspector, "inspect" | "workload">;
  readonly limits: Limits;
  /** Calls the listener when an inspection need no longer wait for its answer. */
  onAnswer(this: void, listener: (id: WorkloadId) => void): void;
}

// An inspector, and who waits for it.

/** What an inspector is made with. */
interface WiringOptions {
  readonly clock: Clock;
  readonly options: Pick<SidecarsOptions, "whole" | "compareHub" | "selects" | "stabilizeMs">;
  readonly expect: (configuration: InjectorConfiguration) => InspectorOptions["expect"];
}

/** An inspector over these watches, with all that it asks and remembers. */
export function inspectorOver(watches: SidecarsWatches, { clock, options, expect }: WiringOptions) {
  const { whole, compareHub, selects, stabilizeMs } = options;
  const configuration = new InjectorConfiguration(watches.configuration, { clock, stabilizeMs });
  const decidesInjection = (label: string): boolean => configuration.injectors.namespaceLabels.has(label);
  const stabilization = new NamespaceStabilization(watches.namespaces, { clock, stabilizeMs, matters: decidesInjection });
  const listeners = new Set<(id: WorkloadId) => void>();
  const notify = (id: WorkloadId): void => listeners.forEach((listener) => listener(id));
  const expectations = new Expectations({ clock, onAnswer: notify });
  configuration.onChange(() => expectations.clear());
  const inspector = new Inspector({
    clock,
    watches,
    configuration,
    expectations,
    expect: expect(configuration),
    compareHub,
    whole,
    selects,
    namespaceStabilizesInMs: (namespace) => stabilization.stabilizesInMs(namespace),
  });
  return { inspector, configuration, decidesInjection, notify, onAnswer: (listener: (id: WorkloadId) => void) => void listeners.add(listener) };
}

// The view of somebody who runs no controller: watches of their own, and what a new pod would get asked of the API server itself.

/** What it is made with. */
interface StandaloneViewOptions extends Pick<ControllerScope, "watch"> {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  readonly options: SidecarsOptions;
  readonly signal: AbortSignal;
}

/** As many questions at a time: the API server has others to serve, too. */
const questionsAtATime = 8;

/**
 * Declares the watches; Argo Rollouts join them, if they are asked for, once their CRD is there. Questions are creations of pods that are not
 * stored; who asks needs the right to create pods.
 */
export function standaloneSidecarsView({ watch, client, clock, log, options, signal }: StandaloneViewOptions): SidecarsView {
  const { whole, selects, limits } = options;
  const watches = watchSidecars({ watch }, { ...options, istioNamespaces: [] });
  const gate = new Semaphore(questionsAtATime);
  const expect: InspectorOptions["expect"] = (source) => gate.run(() => expectedByApiServer(client, source, { whole, signal }));
  const { inspector, notify, onAnswer } = inspectorOver(watches, { clock, options, expect: () => expect });
  if (options.argoRollouts) {
    void whenRolloutsAreServed({ client, clock, log, signal }, () => {
      const onChange: RolloutWatch["onChange"] = ({ kind }, key) => notify(idOfWorkload(kind, key));
      watchRollouts({ watch }, watches, { fields: skippedFields(options.skipNamespaces), selects, onChange });
      // What has been seen as a pod of nobody may be one of theirs.
      for (const id of idsIn(watches)) notify(id);
    });
  }
  return { watches, inspector, limits, onAnswer };
}

/** Looks until they are, or the signal aborts. Never rejects. */
async function whenRolloutsAreServed(
  { client, clock, log, signal }: Pick<StandaloneViewOptions, "client" | "clock" | "log" | "signal">,
  join: () => void,
): Promise<void> {
  while (!signal.aborted) {
    try {
      if (await servesRollouts(client, signal)) return join();
    } catch (error) {
      // How the API server fares is logged by every watch; this is only asked again.
      log.debug({ err: error }, "could not find out whether Argo Rollouts are served");
    }
    // Rejects only when the signal aborts, which the loop sees by itself.
    await sleep(clock, lookForRolloutsMs, signal).catch(() => {});
  }
}
