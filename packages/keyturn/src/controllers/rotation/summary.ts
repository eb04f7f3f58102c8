// How a RotationTarget fares, for people.
import type { Health } from "@keyturn/dashboard/contract";
import { type DeepReadonly, findCondition, type Stored } from "@keyturn/runtime";
import { type NextStep, readyHealth, type Summary, timeMs, unlessOverdue, type HealthReport, healthReportOf } from "../../feature/summary.ts";
import type { RotationTarget } from "./api.ts";

/** From the target as it is stored: when its next version comes is what the plan has written there. */
export function rotationSummary(target: DeepReadonly<Stored<RotationTarget>>, nowMs: number): Summary {
  const { metadata, spec, status } = target;
  const { rotationSet, rotationOrder, targetName = metadata.name } = spec;
  const version = status?.currentVersion ? `v${status.currentVersion.seq}` : "no version";
  const summary: Summary = {
    kind: "RotationTarget",
    namespace: metadata.namespace ?? "",
    name: metadata.name,
    ...targetHealth(target),
    detail: `set ${rotationSet}, order ${rotationOrder}, ${version}`,
    next: nextOf(target),
    names: [...new Set([metadata.name, targetName, rotationSet, ...(status?.sourceRef ? [status.sourceRef.name] : [])])],
  };
  return unlessOverdue(summary, nowMs);
}

function targetHealth(target: DeepReadonly<Stored<RotationTarget>>): HealthReport {
  const report = readyHealth(target, healthOf);
  const progressing = findCondition(target.status?.conditions, "Progressing");
  // Ready, and nothing moves all the same. Without a source that was somebody's wish.
  // A pause shows in Ready as well.
  const isHeldUp = progressing?.status === "False" && progressing.reason !== "NoSource";
  return isHeldUp && (report.health === "healthy" || report.health === "progressing") ? healthReportOf(progressing, "degraded") : report;
}

function healthOf({ status, reason }: { readonly status: string; readonly reason: string }): Health {
  if (status === "True") return reason === "Rotating" ? "progressing" : "healthy";
  // An object that went with its source is what cascade asks for; one that waits for its first version gets it by itself.
  if (reason === "Removed") return "healthy";
  if (reason === "NotSelected") return "paused";
  return reason === "InsufficientHistory" ? "progressing" : "failed";
}

function nextOf({ status }: DeepReadonly<Pick<RotationTarget, "status">>): NextStep | undefined {
  const atMs = timeMs(status?.pending?.notBefore);
  return atMs === undefined ? undefined : { atMs, what: `gets version ${status?.pending?.seq}` };
}
