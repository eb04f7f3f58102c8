// Who leads a controller, by its Lease.
import type { Lease, Stored } from "@keyturn/runtime";
import { expect, it } from "vitest";
import { leaseSummary } from "./record.ts";

const nowMs = Date.parse("2026-01-02T03:04:05Z");

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
