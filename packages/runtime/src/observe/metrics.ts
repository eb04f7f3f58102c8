// The runtime's metrics, under controller-runtime's names where it has one, so that existing dashboards work.
import type { Registry } from "prom-client";

/** A registry of this manager's own; never prom-client's global one. */
export interface Metrics {
  readonly registry: Registry;
}
