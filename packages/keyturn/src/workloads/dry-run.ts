// What a dry run has to remember, because nothing that it plans ever shows in the cluster: what it has logged, and which restarts it has made sure of.
import { type Logger, LruMap } from "@keyturn/runtime";
import type { WorkloadId } from "./rollout-plan.ts";

/** The longest that it is believed that a workload would be restarted; then it is looked at once more. */
const believedForMs = 300_000;
const maxKept = 10_000;

/** Of one controller. */
export class DryRun {
  readonly #log: Pick<Logger, "info">;
  readonly #told = new LruMap<string, true>(maxKept);
  readonly #looked = new LruMap<WorkloadId, { readonly input: string; readonly atMs: number }>(maxKept);

  constructor(log: Pick<Logger, "info">) {
    this.#log = log;
  }

  /** Logs what would be done, unless that is logged already: the same is planned again and again. */
  tell(done: string, fields: Readonly<Record<string, unknown>> = {}): void {
    const text = `${done} ${JSON.stringify(fields)}`;
    if (!this.#told.get(text)) this.#log.info(fields, `would have ${done}; withheld by dry run`);
    this.#told.set(text, true);
  }

  /** On a last look it was found that the workload would be restarted for this. */
  looked(id: WorkloadId, input: string, atMs: number): void {
    this.#looked.set(id, { input, atMs });
  }

  /** It is known that the workload would be restarted for this. */
  isSure(id: WorkloadId, input: string, nowMs: number): boolean {
    const looked = this.#looked.get(id);
    return looked?.input === input && nowMs < looked.atMs + believedForMs;
  }
}
