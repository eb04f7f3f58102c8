// What workloads came through healthy, by what they use: so that it takes one look, and no scan, to tell whether somebody has tried a change.
import type { WorkloadId } from "../../workloads/rollout-plan.ts";
import type { StartRecord } from "./content.ts";

type Place = string;

/** Of all workloads, as they were last looked at. */
export class TriedEntries {
  readonly #healthy = new Map<Place, Set<WorkloadId>>();
  readonly #places = new Map<WorkloadId, ReadonlySet<Place>>();

  /** With what the workload's pods are healthy; undefined if they are not, or if that is not known. Returns names of entries that nobody, or one other, was healthy with. */
  tell(id: WorkloadId, namespace: string, record: StartRecord | undefined): readonly string[] {
    const names = new Map<Place, string>();
    const marked = new Set([...(record?.onlySeen ?? []), ...(record?.behind ?? [])]);
    for (const [name, digest] of record?.entries ?? []) if (!marked.has(name)) names.set(placeOf(namespace, name, digest), name);
    const before = this.#places.get(id) ?? new Set();
    for (const place of before) if (!names.has(place)) this.#leave(id, place);
    if (names.size > 0) this.#places.set(id, new Set(names.keys()));
    else this.#places.delete(id);
    const isNew = ([place]: readonly [Place, string]): boolean => !before.has(place) && this.#enter(id, place) <= 2;
    return Array.from(names)
      .filter(isNew)
      .map(([, name]) => name);
  }

  /** Whether another workload is healthy with it. Those of which `stillSo` says that this is over are forgotten. */
  isTried(id: WorkloadId, [namespace, name, digest]: readonly [string, string, string], stillSo: (other: WorkloadId) => boolean): boolean {
    const place = placeOf(namespace, name, digest);
    for (const other of this.#healthy.get(place) ?? []) {
      if (other === id) continue;
      if (stillSo(other)) return true;
      this.#leave(other, place);
    }
    return false;
  }

  #enter(id: WorkloadId, place: Place): number {
    const ids = this.#healthy.get(place) ?? new Set();
    this.#healthy.set(place, ids.add(id));
    return ids.size;
  }

  #leave(id: WorkloadId, place: Place): void {
    const ids = this.#healthy.get(place);
    ids?.delete(id);
    if (ids?.size === 0) this.#healthy.delete(place);
  }
}

function placeOf(namespace: string, name: string, digest: string): Place {
  return `${namespace} ${name}=${digest}`;
}
