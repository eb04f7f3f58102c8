// Credential status for tests.
import type { ObjectReport } from "@keyturn/dashboard/contract";
import type { FeatureName } from "../feature/feature.ts";
import { type CredentialStatus, type ReadStage, stageStatus, type Unread } from "./credentials.ts";

/** The time of every status. */
export const nowMs = Date.parse("2026-01-02T03:04:05Z");

/** A healthy object, but for what is said. */
export function report({
  kind = "RotationTarget",
  namespace = "shop",
  name = "a",
  ...changes
}: Partial<ObjectReport> & { readonly kind?: string; readonly namespace?: string; readonly name?: string } = {}): ObjectReport {
  return {
    ref: { apiVersion: "a/v1", kind, resource: `${kind.toLowerCase()}s.a`, namespace, name },
    health: "healthy",
    reason: "UpToDate",
    message: "holds version 1",
    sinceMs: nowMs - 300_000,
    detail: "v1",
    about: [name],
    conditions: [],
    ...changes,
  };
}

const features = { issue: "eventing-auth", rotate: "rotation", publish: "jwks", verify: "checksum", "roll out": "sidecars" } as const;
type StageName = keyof typeof features;

/** A status with these objects in these stages. */
export function statusWith(
  objects: Partial<Record<StageName, readonly ObjectReport[]>>,
  changes: Partial<Record<StageName, Partial<ReadStage>>> = {},
  leasesUnread?: Unread,
): CredentialStatus {
  const readStage = (step: StageName, feature: FeatureName): ReadStage => ({
    step,
    feature,
    perNamespace: step === "verify",
    objects: objects[step] ?? [],
    unread: [],
    controllers: [{ name: feature, resources: [] }],
    leases: [{ controller: feature, namespace: "ops", holder: "keyturn-0", state: "held", renewedMs: nowMs, acquiredMs: nowMs }],
    absent: false,
    ...changes[step],
  });
  const stages: readonly StageName[] = ["issue", "rotate", "publish", "verify", "roll out"];
  return { atMs: nowMs, namespace: "shop", steps: stages.map((step) => stageStatus(readStage(step, features[step]), leasesUnread)), leasesUnread };
}
