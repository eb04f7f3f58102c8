// How a JWKSConfig or JWKS fares, for people.
import { type DeepReadonly, findCondition, type Kind, type KubeObject, type Stored } from "@keyturn/runtime";
import { type NextStep, readyHealth, type Summary, timeMs, unlessOverdue, type HealthReport, healthReportOf } from "../../feature/summary.ts";
import type { JwksStatus, KeyStatus } from "./api.ts";

/** An object of either kind, as far as it is shown. */
export interface ShownJwks extends KubeObject {
  readonly spec: { readonly certificateSecret: string; readonly certificateSecrets?: readonly string[] | undefined; readonly configMapName: string };
  readonly status?: JwksStatus;
}

type JwksObject = DeepReadonly<Stored<ShownJwks>>;

/** Pods that are not there after this long do not come by themselves. */
const podPatienceMs = 300_000;

/** Certificates that expire later are nobody's concern today. */
const expiryHorizonMs = 30 * 86_400_000;

/** For a watch: the object without the certificates in its status, which can be many. */
export function keepShownJwks({ metadata: whole, spec, status }: Stored<ShownJwks>): Stored<ShownJwks> {
  const { managedFields: _, ...metadata } = whole;
  if (!status?.keys) return { metadata, spec, ...(status && { status }) };
  return { metadata, spec, status: { ...status, keys: status.keys.map((key) => ({ ...key, certificates: [] })) } };
}

/** From the object as it is stored: when keys go is what the plan has written there. */
export function jwksSummary(kind: Pick<Kind, "kind">, object: JwksObject, nowMs: number): Summary {
  const { metadata, spec, status } = object;
  const removal = nextRemoval(object);
  const summary: Summary = {
    kind: kind.kind,
    namespace: metadata.namespace ?? "",
    name: metadata.name,
    ...jwksHealth(object, nowMs),
    detail:
      status?.keyCount === undefined ? "nothing published" : `${status.keyCount} ${status.keyCount === 1 ? "key" : "keys"} in ${spec.configMapName}`,
    next: removal,
    names: [...new Set([metadata.name, spec.certificateSecret, ...(spec.certificateSecrets ?? []), spec.configMapName])],
  };
  const { next, ...checked } = unlessOverdue(summary, nowMs);
  return { ...checked, next: earlier(next, nextExpiry(object, nowMs)) };
}

function jwksHealth(object: JwksObject, nowMs: number): HealthReport {
  const report = readyHealth(object, ({ status, reason, lastTransitionTime }) => {
    if (status === "True") return "healthy";
    return isPassing(reason, nowMs - (timeMs(lastTransitionTime) ?? 0)) ? "progressing" : "failed";
  });
  const truncated = findCondition(object.status?.conditions, "Truncated");
  return truncated?.status === "True" && report.health !== "failed" ? healthReportOf(truncated, "degraded") : report;
}

function isPassing(reason: string, lastedMs: number): boolean {
  return reason === "UpdateDeferred" || (reason === "PodsNotAvailable" && lastedMs < podPatienceMs);
}

function nextRemoval({ status }: JwksObject): NextStep | undefined {
  const atMs = timeMs(status?.nextRemoval);
  return atMs === undefined ? undefined : { atMs, what: "withdraws a key that was replaced" };
}

/** Of the certificates that are in use: the one that expires first, if it still holds and that is not far off. */
function nextExpiry({ status }: JwksObject, nowMs: number): NextStep | undefined {
  const active = (status?.keys ?? []).filter(({ state }) => state === "Active");
  const [first] = active
    .flatMap((key: DeepReadonly<KeyStatus>) => ({ atMs: timeMs(key.certificateExpires) ?? 0, source: key.source }))
    .filter(({ atMs }) => atMs > nowMs && atMs - nowMs < expiryHorizonMs)
    .sort((left, right) => left.atMs - right.atMs);
  return first && { atMs: first.atMs, what: `has an expired certificate unless Secret ${first.source} is renewed` };
}

function earlier(left: NextStep | undefined, right: NextStep | undefined): NextStep | undefined {
  return left && right ? (left.atMs <= right.atMs ? left : right) : (left ?? right);
}
