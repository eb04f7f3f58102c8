// For tests: a runner with one controller, in virtual time.
import { silentLog } from "../manager/lease-simulation.fixture.ts";
import { createMetrics } from "../observe/metrics.ts";
import { seededRandom } from "../random.ts";
import { VirtualClock } from "../testing/virtual-clock.ts";
import type { ControllerDefinition, ControllerScope, Reconcile } from "./controller.ts";
import type { Report, ReportedOutcome } from "./failure.ts";
import { ControllerRunner, type RunnerOptions } from "./runner.ts";
import { SmallWorld, thingKind } from "./small-world.fixture.ts";

/** What is said of how a run ended. */
export type SaidOutcome = Pick<ReportedOutcome, "code" | "reason" | "message">;

/** One controller and all that it runs on. */
export interface RunnerRig {
  readonly clock: VirtualClock;
  readonly world: SmallWorld;
  readonly runner: ControllerRunner;
  readonly reports: { key: string; outcome: SaidOutcome | undefined }[];
  /** Begins a term. */
  readonly lead: () => { readonly ended: Promise<void>; readonly drain: () => void; readonly stop: () => void; readonly expire: () => void };
  /** What the controller was set up with. */
  readonly scope: ControllerScope | undefined;
}

/** A controller of things, in a small world. Terms begin when told to. */
export function runnerRig(reconcile: Reconcile, definition: Partial<ControllerDefinition> = {}, options: Partial<RunnerOptions> = {}): RunnerRig {
  const clock = new VirtualClock();
  const world = new SmallWorld();
  const reports: RunnerRig["reports"] = [];
  let scope: ControllerScope | undefined;
  const runner = new ControllerRunner(
    {
      name: "demo",
      access: [],
      ...definition,
      setup(given) {
        scope = given;
        given.trigger(given.watch(thingKind));
        return reconcile;
      },
    },
    {
      operator: { name: "rig", domain: "rig.dev" },
      client: world.client,
      caches: world.caches,
      clock,
      random: seededRandom(1),
      log: silentLog,
      metrics: createMetrics(),
      events: () => ({ record() {} }),
      report: async ({ key, outcome }: Report) => void reports.push({ key, outcome: outcome && said(outcome) }),
      ...options,
    },
  );
  const lead: RunnerRig["lead"] = () => {
    const drain = new AbortController();
    const stop = new AbortController();
    let valid = true;
    const ended = runner.work({ drain: drain.signal, signal: stop.signal, isValid: () => valid });
    return { ended, drain: () => drain.abort(), stop: () => stop.abort(), expire: () => void (valid = false) };
  };
  return { clock, world, runner, reports, lead, scope };
}

function said({ code, reason, message }: ReportedOutcome): SaidOutcome {
  return { code, reason, message };
}

/** Resolves never, and does not care about its signal. */
export const deaf = (): Promise<never> => new Promise(() => {});
