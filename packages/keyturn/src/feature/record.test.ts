// How objects fare, from what is stored of them.
import type { ObjectReport } from "@keyturn/dashboard/contract";
import type { Condition } from "@keyturn/runtime";
import { describe, expect, it } from "vitest";
import { compareReports, placeOf, readyHealth, unlessOverdue } from "./record.ts";

const nowMs = Date.parse("2026-01-02T03:04:05Z");

function ready(changes: Partial<Condition> = {}): Condition {
  return { type: "Ready", status: "True", reason: "Fine", message: "all is well", lastTransitionTime: "2026-01-02T03:00:00Z", ...changes };
}

function report({ name = "a", ...changes }: Partial<ObjectReport> & { readonly name?: string } = {}): ObjectReport {
  const ref = { apiVersion: "a/v1", kind: "Widget", resource: "widgets.a", namespace: "shop", name };
  return { ref, about: [name], health: "healthy", reason: "Fine", message: "", sinceMs: nowMs, detail: "", conditions: [], ...changes };
}

describe("readyHealth", () => {
  const judge = (conditions: readonly Condition[] | undefined, metadata: object = {}) =>
    readyHealth(
      { metadata: { name: "a", generation: 2, creationTimestamp: "2026-01-01T00:00:00Z", ...metadata }, status: { conditions } },
      ({ status }) => (status === "True" ? "healthy" : "failed"),
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
    expect(unlessOverdue(report({ next }), nowMs + 59_999).health).toBe("healthy");
    expect(unlessOverdue(report({ next }), nowMs + 60_000)).toMatchObject({ health: "degraded", reason: "Overdue", sinceMs: nowMs });
  });
  it("leaves alone what somebody should look at anyway, and what is paused", () => {
    for (const health of ["failed", "degraded", "paused"] as const) {
      expect(unlessOverdue(report({ next, health, reason: "Other" }), nowMs + 999_999).reason).toBe("Other");
    }
  });
});

it("puts what matters most first: by health, then by how long it lasts, then by name", () => {
  const names = (reports: readonly ObjectReport[]): readonly string[] => reports.toSorted(compareReports).map(({ ref }) => ref.name);
  const { sinceMs: _, ...undated } = report({ name: "undated", health: "failed" });
  expect(
    names([
      report({ name: "fine" }),
      report({ name: "works", health: "degraded", sinceMs: 0 }),
      report({ name: "b", health: "failed", sinceMs: nowMs }),
      report({ name: "since-ever", health: "failed", sinceMs: nowMs - 1 }),
      report({ name: "a", health: "failed", sinceMs: nowMs }),
      undated,
      report({ name: "unknown", health: "unknown" }),
      report({ name: "paused", health: "paused" }),
      report({ name: "moving", health: "progressing" }),
    ]),
  ).toEqual(["since-ever", "a", "b", "undated", "works", "unknown", "moving", "paused", "fine"]);
});

it("is called by its object's kind and name, unless people call it otherwise", () => {
  expect(placeOf(report())).toBe("widget/shop/a");
  expect(placeOf(report({ called: { kind: "Agent", name: "edge" } }))).toBe("agent/shop/edge");
});
