// Records for tests.
import type { DashboardRecord, StageRecord } from "@keyturn/dashboard/contract";

/** A record of an EventingAuth, which is the plainest there is. */
export function issuedFixture(namespace: string, name: string, message = ""): DashboardRecord {
  return {
    type: "object",
    table: "issued",
    id: `issued/${namespace}/${name}`,
    step: "eventing-auth",
    ref: { apiVersion: "a/v1", kind: "EventingAuth", resource: "eventingauths.a", namespace, name },
    health: "healthy",
    reason: "Ready",
    message,
    detail: "",
    about: [name],
    conditions: [],
    facts: [],
    cells: {},
    texts: [],
  };
}

/** The record of a step that shows these kinds. */
export function stageFixture(...resources: readonly string[]): StageRecord {
  return { type: "step", id: "step/eventing-auth", step: "eventing-auth", summary: "", state: "on", resources, hidden: [], troubles: [] };
}
