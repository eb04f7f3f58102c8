// What is published, in numbers: for alerts about keys that are missing, or whose certificate is about to expire.
import { type KeyView, type Kind, type Metrics, type MetricRow, metricsOf, nameOf, type ObjectKey } from "@keyturn/runtime";
import type { JwksStatus } from "./api.ts";

const object = ["kind", "namespace", "name"] as const;
const keyStates = ["Active", "Retiring"] as const;

export const jwksMetrics = {
  keyturn_jwks_keys: { type: "gauge", help: "Keys that are published, by state: Active or Retiring.", labels: [...object, "state"] },
  keyturn_jwks_certificate_expiry_timestamp_seconds: {
    type: "gauge",
    help: "When the first certificate among the active keys expires, in seconds since the epoch.",
    labels: object,
  },
} as const satisfies Readonly<Record<string, MetricRow>>;

/** The numbers of each object of a kind. */
export function keyMetrics(metrics: Metrics, kind: Kind): KeyView<JwksStatus> {
  const { keyturn_jwks_keys: keyCount, keyturn_jwks_certificate_expiry_timestamp_seconds: expiry } = metricsOf(metrics, jwksMetrics);
  const labelsOf = (key: ObjectKey): { readonly kind: string; readonly namespace: string; readonly name: string } => {
    const { namespace = "", name } = nameOf(key);
    return { kind: kind.kind, namespace, name };
  };
  return {
    show(key, { keys = [] }) {
      const labels = labelsOf(key);
      for (const state of keyStates) keyCount.set({ ...labels, state }, keys.filter((each) => each.state === state).length);
      const expiries = keys.filter(({ state }) => state === "Active").map(({ certificateExpires }) => Date.parse(certificateExpires));
      if (expiries.length > 0) expiry.set(labels, Math.min(...expiries) / 1000);
      else expiry.remove(labels);
    },
    hide(key) {
      const labels = labelsOf(key);
      for (const state of keyStates) keyCount.remove({ ...labels, state });
      expiry.remove(labels);
    },
  };
}
