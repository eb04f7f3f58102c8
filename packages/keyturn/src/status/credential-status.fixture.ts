// Credential status for tests.
import type { Summary } from "../feature/summary.ts";
import { type CredentialStatus, type ReadStage, stageStatus, type Unread } from "./credentials.ts";
import { type StageName, steps } from "./status-watches.ts";

/** The time of every status. */
export const nowMs = Date.parse("2026-01-02T03:04:05Z");

/** A healthy object, but for what is said. */
export function summary(changes: Partial<Summary> = {}): Summary {
  const { namespace = "shop", name = "a", kind = "RotationTarget" } = changes;
  const said = { health: "healthy", reason: "UpToDate", message: "holds version 1", sinceMs: nowMs - 300_000 } as const;
  return { kind, namespace, name, ...said, detail: "v1", next: undefined, names: [name], ...changes };
}

/** A status with these objects in these stages. */
export function statusWith(
  objects: Partial<Record<StageName, readonly Summary[]>>,
  changes: Partial<Record<StageName, Partial<ReadStage>>> = {},
  leasesUnread?: Unread,
): CredentialStatus {
  const readStage = ({ step, feature }: (typeof steps)[number]): ReadStage => ({
    step,
    feature,
    objects: objects[step] ?? [],
    unread: [],
    controllers: [feature],
    leases: [{ controller: feature, namespace: "ops", holder: "keyturn-0", state: "held", renewedMs: nowMs, acquiredMs: nowMs }],
    absent: false,
    ...changes[step],
  });
  return { atMs: nowMs, namespace: "shop", steps: steps.map((stage) => stageStatus(readStage(stage), leasesUnread)), leasesUnread };
}
