// What is issued, in numbers: for alerts about old credentials, unreachable clusters and an identity provider that fails.
import { type KeyView, type MetricRow, type Metrics, metricsOf, nameOf, type ObjectKey } from "@keyturn/runtime";

const object = ["namespace", "name"] as const;

export const eventingAuthMetrics = {
  keyturn_eventing_auth_secret_issued_timestamp_seconds: {
    type: "gauge",
    help: "When the client secret in a runtime's cluster was issued, in seconds since the epoch.",
    labels: object,
  },
  keyturn_eventing_auth_ready: { type: "gauge", help: "1 if the object's state is Ready, else 0.", labels: object },
  keyturn_eventing_auth_target_reachable: { type: "gauge", help: "1 if a runtime's cluster answers, else 0.", labels: object },
  keyturn_eventing_auth_targets: { type: "gauge", help: "Clusters of runtimes to which this process holds connections.", labels: [] },
  keyturn_eventing_auth_issued_total: {
    type: "counter",
    help: "Client secrets that were written to a runtime's cluster, by why: first, repair or rotation.",
    labels: ["why"],
  },
  keyturn_eventing_auth_abandoned_total: {
    type: "counter",
    help: "Deletions that left something behind, in a cluster that did not answer or at the identity provider.",
    labels: [],
  },
  keyturn_eventing_auth_orphans: {
    type: "gauge",
    help: "Applications that Keyturn has made at the identity provider and that no EventingAuth claims; see keyturn orphans.",
    labels: [],
  },
  keyturn_eventing_auth_identity_requests_total: {
    type: "counter",
    help: "Requests to the identity provider by step and status; the code is <error> if there was no answer.",
    labels: ["step", "code"],
  },
  keyturn_eventing_auth_identity_request_duration_seconds: {
    type: "histogram",
    help: "How long requests to the identity provider took, the wait for a turn not included.",
    labels: ["step"],
    buckets: [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  },
} as const satisfies Readonly<Record<string, MetricRow>>;

/** What is counted per object. */
export interface ObjectNumbers {
  readonly ready: boolean;
  readonly reachable: boolean;
  readonly issuedAtMs: number | undefined;
}

/** The numbers of this feature. */
export type EventingAuthMetrics = ReturnType<typeof eventingAuthNumbers>;

/** Makes the metrics. */
export function eventingAuthNumbers(metrics: Metrics) {
  const of = metricsOf(metrics, eventingAuthMetrics);
  const issued = of.keyturn_eventing_auth_secret_issued_timestamp_seconds;
  const ready = of.keyturn_eventing_auth_ready;
  const reachable = of.keyturn_eventing_auth_target_reachable;
  const objects: KeyView<ObjectNumbers> = {
    show(key, numbers) {
      const labels = labelsOf(key);
      ready.set(labels, Number(numbers.ready));
      reachable.set(labels, Number(numbers.reachable));
      if (numbers.issuedAtMs !== undefined) issued.set(labels, numbers.issuedAtMs / 1000);
    },
    hide(key) {
      for (const gauge of [issued, ready, reachable]) gauge.remove(labelsOf(key));
    },
  };
  const orphaned = of.keyturn_eventing_auth_orphans;
  const orphans: KeyView<number> = { show: (_key, count) => orphaned.set(count), hide: () => orphaned.remove() };
  return {
    orphans,
    issued: of.keyturn_eventing_auth_issued_total,
    abandoned: of.keyturn_eventing_auth_abandoned_total,
    targets: of.keyturn_eventing_auth_targets,
    requests: of.keyturn_eventing_auth_identity_requests_total,
    durations: of.keyturn_eventing_auth_identity_request_duration_seconds,
    objects,
  };
}

function labelsOf(key: ObjectKey): { readonly namespace: string; readonly name: string } {
  const { namespace = "", name } = nameOf(key);
  return { namespace, name };
}
