// The workloads that the plan has to deal with, kept up to date one by one.
import type { Candidate, WorkloadId } from "./candidate.ts";
import type { Inspection } from "./inspector.ts";

/** After a write that failed: 5 s, 10 s … 5 min. */
const firstRetryMs = 5000;
const longestRetryMs = 300_000;

/** Candidates by id, and the writes of theirs that failed. */
export class FleetRecord {
  readonly #candidates = new Map<WorkloadId, Omit<Candidate, "retryAtMs">>();
  readonly #failures = new Map<WorkloadId, { readonly count: number; readonly retryAtMs: number }>();

  get candidates(): readonly Candidate[] {
    return Array.from(this.#candidates, ([id, candidate]) => ({ ...candidate, retryAtMs: this.#failures.get(id)?.retryAtMs }));
  }

  /** Takes an inspection in. True if the plan may change by it. */
  record(id: WorkloadId, { candidate }: Inspection): boolean {
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
    this.#failures.set(id, { count: count + 1, retryAtMs: nowMs + Math.min(firstRetryMs * 2 ** count, longestRetryMs) });
  }

  /** A write to the workload was taken. */
  succeeded(id: WorkloadId): void {
    this.#failures.delete(id);
  }
}
