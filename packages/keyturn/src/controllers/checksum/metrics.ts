// What is covered and published, in numbers.
import { type KeyView, type Metrics, type MetricRow, metricsOf } from "@keyturn/runtime";
import type { Problem, SetState } from "./members.ts";
import { problemReasons } from "./reasons.ts";

const place = ["kind", "namespace"] as const;

export const checksumMetrics = {
  keyturn_checksum_objects: { type: "gauge", help: "Objects that the checksum of a namespace covers.", labels: place },
  keyturn_checksum_problem_objects: {
    type: "gauge",
    help: "Objects that are left out of the checksum, by reason; and those with the reason DuplicateId, which count.",
    labels: [...place, "reason"],
  },
  keyturn_checksum_published_timestamp_seconds: {
    type: "gauge",
    help: "When the newest checksum of a namespace was made, in seconds since the epoch.",
    labels: place,
  },
  keyturn_checksum_awaited: { type: "gauge", help: "1 while an announced state is awaited, so that nothing else is published.", labels: place },
  keyturn_checksum_held: {
    type: "gauge",
    help: "1 while what is there is not published because it is a large change, or was not announced, until somebody does something about it.",
    labels: place,
  },
  keyturn_checksum_published_total: { type: "counter", help: "Checksums that were published.", labels: ["kind"] },
  keyturn_checksum_objects_read_total: {
    type: "counter",
    help: "Objects of chosen namespaces that were read and hashed: each once at the start, and once for each of its changes.",
    labels: ["kind"],
  },
  keyturn_checksum_rechecks_total: {
    type: "counter",
    help: "Times that a checksum had to wait because the cache was behind the API server.",
    labels: ["kind"],
  },
} as const satisfies Readonly<Record<string, MetricRow>>;

const reasons = Object.keys(problemReasons);

/** What a run found out about a namespace. */
export interface NamespaceNumbers {
  readonly state: SetState;
  readonly problems: readonly Problem[];
  readonly publishedMs: number | undefined;
  readonly isAwaited: boolean;
  readonly isHeld: boolean;
}

/** The numbers of one kind of checksums, by namespace. */
export class ChecksumNumbers implements KeyView<NamespaceNumbers> {
  readonly #kind: string;
  readonly #of: ReturnType<typeof metricsOf<typeof checksumMetrics>>;

  constructor(metrics: Metrics, kind: string) {
    this.#kind = kind;
    this.#of = metricsOf(metrics, checksumMetrics);
  }

  countRead(): void {
    this.#of.keyturn_checksum_objects_read_total.inc({ kind: this.#kind });
  }

  countPublished(): void {
    this.#of.keyturn_checksum_published_total.inc({ kind: this.#kind });
  }

  countRecheck(): void {
    this.#of.keyturn_checksum_rechecks_total.inc({ kind: this.#kind });
  }

  show(namespace: string, { state, problems, publishedMs, isAwaited, isHeld }: NamespaceNumbers): void {
    const labels = { kind: this.#kind, namespace };
    this.#of.keyturn_checksum_objects.set(labels, state.ids.length);
    this.#of.keyturn_checksum_awaited.set(labels, isAwaited ? 1 : 0);
    this.#of.keyturn_checksum_held.set(labels, isHeld ? 1 : 0);
    if (publishedMs !== undefined) this.#of.keyturn_checksum_published_timestamp_seconds.set(labels, publishedMs / 1000);
    for (const reason of reasons) {
      const count = problems.filter((problem) => problem.reason === reason).length;
      if (count > 0) this.#of.keyturn_checksum_problem_objects.set({ ...labels, reason }, count);
      else this.#of.keyturn_checksum_problem_objects.remove({ ...labels, reason });
    }
  }

  hide(namespace: string): void {
    const labels = { kind: this.#kind, namespace };
    this.#of.keyturn_checksum_objects.remove(labels);
    this.#of.keyturn_checksum_awaited.remove(labels);
    this.#of.keyturn_checksum_held.remove(labels);
    this.#of.keyturn_checksum_published_timestamp_seconds.remove(labels);
    for (const reason of reasons) this.#of.keyturn_checksum_problem_objects.remove({ ...labels, reason });
  }
}
