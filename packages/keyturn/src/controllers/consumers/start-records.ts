// What pods of workloads were started with, as far as it is known: what is written there counts, unless somebody has put something older back or took a restart back.
import { type DeepReadonly, LruMap } from "@keyturn/runtime";
import { restartTimeMs } from "../../workloads/annotations.ts";
import type { WorkloadId } from "../../workloads/rollout-plan.ts";
import type { Workload } from "../../workloads/workload.ts";
import { startedWithAnnotation } from "./annotations.ts";
import { readStartedWith, type StartRecord } from "./content.ts";

/** What there was before a restart that is not finished. */
interface Before {
  readonly uid: string;
  readonly record: StartRecord;
  /** The time of the restart, once that was seen. */
  readonly restartedAt: string | undefined;
}

const maxKept = 20_000;

type Looked = Pick<DeepReadonly<Workload>, "records" | "source" | "restarting" | "restartedAt" | "progress">;

/** Of all workloads. */
export class StartRecords {
  /** Whoever writes a whole workload back takes off what is written there, or writes what was there before. */
  readonly #latest = new LruMap<WorkloadId, { readonly uid: string; readonly text: string }>(maxKept);
  readonly #before = new LruMap<WorkloadId, Before>(maxKept);

  /** Undefined at first sight. */
  of(id: WorkloadId, workload: Looked, { owner, names }: { readonly owner: string; readonly names: readonly string[] }): StartRecord | undefined {
    const { uid } = workload.source;
    const written = readStartedWith(workload.records[startedWithAnnotation], owner, names);
    const kept = this.#latest.get(id);
    const seen = kept?.uid === uid ? readStartedWith(kept.text, owner, names) : undefined;
    const latest = written && written.count >= (seen?.count ?? 0) ? written : seen;
    const undone = this.#takenBack(id, workload);
    return undone ? { ...undone, count: (latest?.count ?? 0) + 1 } : latest;
  }

  /** What is to be written, until it is. */
  keep(id: WorkloadId, { source: { uid } }: Looked, text: string): void {
    this.#latest.set(id, { uid, text });
  }

  /** It is behind: when it is restarted, and that is taken back, its pods may still have what they have now. */
  behind(id: WorkloadId, { source: { uid }, restarting }: Looked, record: StartRecord): void {
    if (restarting && this.#before.get(id)?.uid === uid) return;
    this.#before.set(id, { uid, record, restartedAt: undefined });
  }

  /** What there was before a restart that somebody has taken back before all of its pods were there. */
  #takenBack(id: WorkloadId, { source: { uid }, restarting, restartedAt, progress }: Looked): StartRecord | undefined {
    const before = this.#before.get(id);
    if (before?.uid !== uid) return undefined;
    const [wasMs, isMs] = [restartTimeMs(before.restartedAt), restartTimeMs(restartedAt)];
    if (wasMs !== undefined && (isMs === undefined || isMs < wasMs)) {
      this.#before.delete(id);
      return before.record;
    }
    if (wasMs !== undefined && (progress === "finished" || !restarting)) this.#before.delete(id);
    else if (restarting && restartedAt !== before.restartedAt) this.#before.set(id, { ...before, restartedAt });
    return undefined;
  }
}
