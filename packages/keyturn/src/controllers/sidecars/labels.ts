// What labels of workloads and namespaces say about restarts for sidecars, and when they have just changed.
import type { Cache, Change, Clock, ObjectKey } from "@keyturn/runtime";
import { keyturn } from "../../feature/feature.ts";
import type { SkipReason } from "../../workloads/reasons.ts";

type Labels = Readonly<Record<string, string>>;

/** On a namespace or a workload: `enabled` or `disabled`. The workload's own label decides over its namespace's. Never changes. */
export const consentLabel = `${keyturn.domain}/sidecar-restarts`;

/** Why it is not restarted; undefined if it may be. With `optIn`, only what says `enabled` is. */
export function withoutConsent(own: Labels, namespace: Labels | undefined, { optIn }: { readonly optIn: boolean }): SkipReason | undefined {
  const said = own[consentLabel] ?? namespace?.[consentLabel];
  if (said === "disabled") return "OptedOut";
  return optIn && said !== "enabled" ? "NotOptedIn" : undefined;
}

// Labels of namespaces that have just changed: whoever moves a namespace to another revision changes several, one after the other.

/** Follows the namespaces, whether or not this process leads. */
export class NamespaceStabilization {
  readonly #changedMs = new Map<ObjectKey, number>();
  readonly #clock: Clock;
  readonly #stabilizeMs: number;

  /** `matters` says which labels decide about injection. */
  constructor(
    namespaces: Cache<Labels>,
    { clock, stabilizeMs, matters }: { readonly clock: Clock; readonly stabilizeMs: number; readonly matters: (label: string) => boolean },
  ) {
    this.#clock = clock;
    this.#stabilizeMs = stabilizeMs;
    namespaces.subscribe((change) => {
      if (change.type === "deleted") this.#changedMs.delete(change.key);
      else if (changedLabels(change).some(matters)) this.#changedMs.set(change.key, clock.monotonic());
    });
  }

  /** How much longer a namespace is given; 0 if its labels are stable. */
  stabilizesInMs(namespace: string): number {
    const changedMs = this.#changedMs.get(namespace);
    if (changedMs === undefined) return 0;
    const leftMs = changedMs + this.#stabilizeMs - this.#clock.monotonic();
    if (leftMs > 0) return leftMs;
    this.#changedMs.delete(namespace);
    return 0;
  }
}

/** The labels that a change has added, removed or given another value; none for a namespace that is new. */
export function changedLabels(change: Change<Labels>): readonly string[] {
  if (change.type !== "updated" && change.type !== "replaced") return [];
  const { previous, value } = change;
  return Array.from(new Set([...Object.keys(previous), ...Object.keys(value)])).filter((label) => previous[label] !== value[label]);
}
