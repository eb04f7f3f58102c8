// What is published, in numbers: for alerts about keys that are missing, or whose certificate is about to expire.
import { type Kind, type Metrics, type MetricRow, metricsOf, nameOf, type ObjectKey } from "@keyturn/runtime";
import type { JwksStatus } from "./api.ts";

const object = ["kind", "namespace", "name"] as const;

export const jwksMetrics = {
  keyturn_jwks_keys: { type: "gauge", help: "Keys that are published, by state: Active or Retiring.", labels: [...object, "state"] },
  keyturn_jwks_certificate_expiry_timestamp_seconds: {
    type: "gauge",
    help: "When the first certificate among the active keys expires, in seconds since the epoch.",
    labels: object,
  },
} as const satisfies Readonly<Record<string, MetricRow>>;

/** Keeps the numbers of each object of a kind; an object without status has none. */
export function keyMetrics(metrics: Metrics, kind: Kind): (key: ObjectKey, status: JwksStatus | undefined) => void {
  const { keyturn_jwks_keys: keyCount, keyturn_jwks_certificate_expiry_timestamp_seconds: expiry } = metricsOf(metrics, jwksMetrics);
  return (key, status) => {
    const { namespace = "", name } = nameOf(key);
    const labels = { kind: kind.kind, namespace, name };
    const keys = status?.keys ?? [];
    for (const state of ["Active", "Retiring"] as const) {
      if (status) keyCount.set({ ...labels, state }, keys.filter((each) => each.state === state).length);
      else keyCount.remove({ ...labels, state });
    }
    const expiries = keys.filter(({ state }) => state === "Active").map(({ certificateExpires }) => Date.parse(certificateExpires));
    if (expiries.length > 0) expiry.set(labels, Math.min(...expiries) / 1000);
    else expiry.remove(labels);
  };
}
