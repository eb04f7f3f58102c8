// How objects fare, from what is stored of them.
import type { Condition, Lease, Stored } from "@keyturn/runtime";
import { describe, expect, it } from "vitest";
import { compareSummaries, leaseSummary, readyHealth, type Summary, unlessOverdue } from "./summary.ts";

const nowMs = Date.parse("2026-01-02T03:04:05Z");

function ready(changes: Partial<Condition> = {}): Condition {
  return { type: "Ready", status: "True", reason: "Fine", message: "all is well", lastTransitionTime: "2026-01-02T03:00:00Z", ...changes };
}

function summary(changes: Partial<Summary> = {}): Summary {
  const place = { kind: "Widget", namespace: "shop", name: "a", names: ["a"] };
  return { ...place, health: "healthy", reason: "Fine", message: "", sinceMs: nowMs, detail: "", next: undefined, ...changes };
}

describe("readyVerdict", () => {
  const judge = (conditions: readonly Condition[] | undefined, metadata: object = {}) =>
    readyHealth({ metadata: { generation: 2, creationTimestamp: "2026-01-01T00:00:00Z", ...metadata }, status: { conditions } }, ({ status }) =>
      status === "True" ? "healthy" : "failed",
    );

  it("passes the condition's own words on", () => {
    expect(judge([ready()])).toEqual({ health: "healthy", reason: "Fine", message: "all is well", sinceMs: Date.parse("2026-01-02T03:00:00Z") });
    expect(judge([ready({ status: "False", reason: "Conflict" })])).toMatchObject({ health: "failed", reason: "Conflict" });
  });

  it("knows nothing before the operator has reported, and of a spec that it has not seen", () => {
    expect(judge(undefined)).toMatchObject({ health: "unknown", reason: "NotReported", sinceMs: Date.parse("2026-01-01T00:00:00Z") });
    expect(judge([ready({ observedGeneration: 1 })])).toMatchObject({ health: "unknown", reason: "NotObserved" });
    expect(judge([ready({ observedGeneration: 2 })])).toMatchObject({ health: "healthy" });
  });

  it("says what is paused and what is being deleted", () => {
    expect(judge([ready({ reason: "Paused" })])).toMatchObject({ health: "paused" });
    expect(judge([ready({ status: "False", reason: "Paused" })])).toMatchObject({ health: "paused" });
    expect(judge([ready()], { deletionTimestamp: "2026-01-02T03:04:00Z" })).toMatchObject({ health: "progressing", reason: "Deleting" });
  });
});

describe("unlessOverdue", () => {
  const next = { atMs: nowMs, what: "gets version 4" };
  it("lets a busy operator have a minute", () => {
    expect(unlessOverdue(summary({ next }), nowMs + 59_999).health).toBe("healthy");
    expect(unlessOverdue(summary({ next }), nowMs + 60_000)).toMatchObject({ health: "degraded", reason: "Overdue", sinceMs: nowMs });
  });
  it("leaves alone what somebody should look at anyway, and what is paused", () => {
    for (const health of ["failed", "degraded", "paused"] as const) {
      expect(unlessOverdue(summary({ next, health, reason: "Other" }), nowMs + 999_999).reason).toBe("Other");
    }
  });
});

it("puts what matters most first: by health, then by how long it lasts, then by name", () => {
  const names = (summaries: readonly Summary[]): readonly string[] => summaries.toSorted(compareSummaries).map(({ name }) => name);
  expect(
    names([
      summary({ name: "fine" }),
      summary({ name: "works", health: "degraded", sinceMs: 0 }),
      summary({ name: "b", health: "failed", sinceMs: nowMs }),
      summary({ name: "since-ever", health: "failed", sinceMs: nowMs - 1 }),
      summary({ name: "a", health: "failed", sinceMs: nowMs }),
      summary({ name: "undated", health: "failed", sinceMs: undefined }),
      summary({ name: "unknown", health: "unknown" }),
      summary({ name: "paused", health: "paused" }),
      summary({ name: "moving", health: "progressing" }),
    ]),
  ).toEqual(["since-ever", "a", "b", "undated", "works", "unknown", "moving", "paused", "fine"]);
});

function lease(name: string, spec: Lease["spec"]): Stored<Lease> {
  return { metadata: { namespace: "ops", name, uid: "u", resourceVersion: "1" }, ...(spec && { spec }) };
}

const identity = "keyturn-7d9f_0b5e3c2a-7a2f-4d6e-9b1c-3f8d2e4a6c10";

it("says who holds it, without what only tells processes apart", () => {
  const spec = { holderIdentity: identity, leaseDurationSeconds: 15, renewTime: "2026-01-02T03:04:00.000000Z" };
  expect(leaseSummary(lease("keyturn-jwks", spec), ["jwks"], nowMs)).toMatchObject({ controller: "jwks", holder: "keyturn-7d9f", state: "held" });
});

it("tells a silent holder and a Lease that was given back", () => {
  const spec = { holderIdentity: identity, leaseDurationSeconds: 15, renewTime: "2026-01-02T03:03:50.000000Z" };
  expect(leaseSummary(lease("keyturn-jwks", spec), ["jwks"], nowMs)?.state).toBe("expired");
  expect(leaseSummary(lease("keyturn-jwks", { leaseDurationSeconds: 1 }), ["jwks"], nowMs)?.state).toBe("free");
});

it("is nothing for Leases of others", () => {
  expect(leaseSummary(lease("keyturn-jwks-rieset", {}), ["jwks"], nowMs)).toBeUndefined();
  expect(leaseSummary(lease("kube-scheduler", {}), ["jwks"], nowMs)).toBeUndefined();
});
