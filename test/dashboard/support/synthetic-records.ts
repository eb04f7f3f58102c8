// Records as the server would send them, of any number, with something of everything: for the page alone, without a cluster.
import { createHash } from "node:crypto";
import type { DashboardRecord, ObjectRecord, ObjectRef, ObjectReport, StageRecord } from "@keyturn/dashboard/contract";
import { agentRecord } from "../../../packages/keyturn/src/controllers/checksum/agent-lease.ts";
import { checksumRecord } from "../../../packages/keyturn/src/controllers/checksum/records.ts";
import { issuedRecord } from "../../../packages/keyturn/src/controllers/eventing-auth/records.ts";
import { keySetRecord, type KeyView } from "../../../packages/keyturn/src/controllers/jwks/records.ts";
import { rotationSetRecord } from "../../../packages/keyturn/src/controllers/rotation/records.ts";
import type { HeldStretch, RotationLane } from "../../../packages/keyturn/src/controllers/rotation/rotation-set.ts";
import { workloadRow } from "../../../packages/keyturn/src/workloads/workload-record.ts";

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

const digestOf = (text: string): string => createHash("sha256").update(text).digest("hex");
const namespaceOf = (index: number): string => `team-${String(index % 40).padStart(2, "0")}`;
const numbered = (name: string, index: number): string => `${name}-${String(index).padStart(5, "0")}`;

function refOf(kind: string, resource: string, { index, name }: { readonly index: number; readonly name: string }): ObjectRef {
  return { apiVersion: "v1", kind, resource, namespace: namespaceOf(index), name };
}

/** Most are well; every 11th waits, every 17th warns, every 29th fails. */
function healthOf(index: number): Pick<ObjectReport, "health" | "reason" | "message" | "detail" | "about"> {
  return { ...faring(index), detail: "", about: [] };
}

function faring(index: number): Pick<ObjectReport, "health" | "reason" | "message"> {
  if (index % 29 === 28)
    return { health: "failed", reason: "NameConflict", message: "an object of that name exists and is not ours; rename or delete it" };
  if (index % 17 === 16) return { health: "degraded", reason: "CertificateExpired", message: "the certificate's validity is over; renew it" };
  if (index % 11 === 10) return { health: "progressing", reason: "Rotating", message: "the next version is on its way" };
  return { health: "healthy", reason: "Ready", message: "all is as the spec asks" };
}

/** All steps, each of them on. */
export function stageRecords(): readonly StageRecord[] {
  const summaries = {
    "eventing-auth": "Gives every runtime an application at the identity provider.",
    rotation: "Keeps next, current and previous versions of a credential.",
    jwks: "Publishes public keys as a JWKS.",
    checksum: "Publishes checksums of certificates and Ingresses.",
    sidecars: "Restarts workloads whose sidecar is outdated.",
    consumers: "Restarts workloads when what they use has changed.",
  };
  return Object.entries(summaries).map(([step, summary]) => ({
    type: "step",
    id: `step/${step}`,
    step,
    summary,
    state: "on",
    resources: [],
    hidden: [],
    troubles: [],
    leader: { state: "led", message: "" },
  }));
}

export function syntheticIssued(index: number, nowMs: number): ObjectRecord {
  const name = numbered("runtime", index);
  const ref = refOf("EventingAuth", "eventingauths.operator.kyma-project.io", { index, name });
  const state = healthOf(index);
  return issuedRecord({
    id: `issued/${ref.namespace}/${name}`,
    step: "eventing-auth",
    ref,
    ...state,
    sinceMs: nowMs - (index % 50) * minute,
    createdMs: nowMs - 20 * day,
    conditions: [
      { type: "Ready", status: state.health === "failed" ? "False" : "True", reason: state.reason, message: state.message, sinceMs: nowMs - hour },
    ],
    application: { name, id: digestOf(name).slice(0, 12) },
    target: { clusterId: name, secret: "kyma-system/eventing-webhook-auth" },
    issuedMs: nowMs - (index % 60) * day,
    nextRotationMs: nowMs + (60 - (index % 60)) * day,
    next: { atMs: nowMs + (60 - (index % 60)) * day, what: "gets new credentials" },
  });
}

/** Versions come every `stepMs`; each target holds the one that is `rank` older, and the first gets the newest soon. */
export function syntheticRotationSet(index: number, nowMs: number): ObjectRecord {
  const set = numbered("signing-key", index);
  const stepMs = 20 * minute;
  const newest = 7 + (index % 5);
  const base = nowMs - (index % 9) * minute - 4 * minute;
  const seenMs = (seq: number): number => base - (newest - seq) * stepMs;
  const digest = (seq: number): string => digestOf(`${set}/${seq}`);
  const state = healthOf(index);
  const gapMs = index % 7 === 3 ? 4 * minute : 0;
  const laneOf = (role: string, place: number): RotationLane => {
    const delayMs = (place + 1) * 15 * minute;
    const versions = [newest - 3, newest - 2, newest - 1].map((seq) => seq - place + 1);
    const begin = (seq: number): number => seenMs(seq) + delayMs + (gapMs > 0 && place === 1 ? gapMs : 0);
    const past = versions.filter((seq) => begin(seq) <= nowMs);
    const next = versions.concat(newest + 1 - place).find((seq) => begin(seq) > nowMs && seq <= newest);
    const heldOf = (seq: number, position: number): HeldStretch => ({
      seq,
      digest: digest(seq),
      fromMs: begin(seq),
      ...(position === past.length - 1 ? {} : { toMs: begin(seq + 1) - gapMs }),
      backfilled: seq === newest - 4,
    });
    return {
      ref: refOf("RotationTarget", "rotationtargets.rotator.k8s.telekom.com", { index, name: `${set}-${role}` }),
      object: refOf("Secret", "secrets", { index, name: `${set}-${role}` }),
      rank: place + 1,
      delayMs,
      held: past.map(heldOf),
      planned: next === undefined ? [] : [{ atMs: begin(next), seq: next, digest: digest(next) }],
      gapMs,
      ...state,
      conditions: [],
    };
  };
  const lanes = ["next", "live", "previous"].map(laneOf);
  const [next] = lanes
    .flatMap(({ ref, planned }) => planned.map(({ atMs, seq }) => ({ atMs, what: `${ref.name} gets version ${seq}` })))
    .toSorted((left, right) => left.atMs - right.atMs);
  return rotationSetRecord({
    id: `rotation/${namespaceOf(index)}/${set}`,
    step: "rotation",
    ref: refOf("RotationTarget", "rotationtargets.rotator.k8s.telekom.com", { index, name: `${set}-next` }),
    ...state,
    sinceMs: nowMs - (index % 70) * minute,
    conditions: [],
    set,
    source: refOf("Secret", "secrets", { index, name: set }),
    sourceSinceMs: seenMs(newest),
    policy: index % 4 === 1 ? "Queue" : "Settled",
    lanes,
    versions: [0, 1, 2, 3, 4].map((back) => ({
      seq: newest - back,
      digest: digest(newest - back),
      seenMs: seenMs(newest - back),
    })),
    frozen: index % 6 === 2 ? [{ fromMs: nowMs - 33 * minute, toMs: nowMs - 27 * minute }] : [],
    ...(next && { next }),
  });
}

function syntheticKeySet(index: number, nowMs: number): ObjectRecord {
  const name = numbered("tokens", index);
  const ref = refOf("JWKSConfig", "jwksconfigs.keyturn.io", { index, name });
  const state = healthOf(index);
  const key = (number: number, view: Omit<KeyView, "kid" | "source" | "algorithm">): KeyView => ({
    kid: Buffer.from(digestOf(`${name}/${number}`), "hex").toString("base64url"),
    source: `${name}-signer`,
    algorithm: "RS256",
    ...view,
  });
  const keys = [
    key(0, { state: "Active", signs: true, sinceMs: nowMs - 9 * day, certificateExpiresMs: nowMs + 40 * day }),
    key(1, { state: "Active", signs: false, sinceMs: nowMs - 2 * day, certificateExpiresMs: nowMs + 80 * day }),
    key(2, {
      state: "Retiring",
      signs: false,
      sinceMs: nowMs - 38 * day,
      replacedMs: nowMs - 8 * day,
      removeMs: nowMs + 5 * day,
      certificateExpiresMs: nowMs + 2 * day,
    }),
    key(3, { state: "Removed", signs: false, sinceMs: nowMs - 60 * day, replacedMs: nowMs - 38 * day, removeMs: nowMs - 6 * day }),
  ];
  return keySetRecord({
    id: `jwks/JWKSConfig/${ref.namespace}/${name}`,
    step: "jwks",
    ref,
    ...state,
    sinceMs: nowMs - (index % 30) * hour,
    conditions: [{ type: "Ready", status: "True", reason: state.reason, message: state.message, sinceMs: nowMs - hour }],
    configMap: `${name}-jwks`,
    endpoint: "/jwks.json",
    keys,
    revision: 4,
    updatedMs: nowMs - 2 * day,
    nextRemovalMs: nowMs + 5 * day,
    nextExpiryMs: nowMs + 40 * day,
    next: { atMs: nowMs + 5 * day, what: "withdraws a key that was replaced" },
    ...(index % 3 === 0 ? { served: { holds: index % 6 === 0, reason: index % 6 === 0 ? "Serving" : "PodsNotAvailable", message: "" } } : {}),
  });
}

export function syntheticChecksum(index: number, nowMs: number): ObjectRecord {
  const namespace = numbered("shop", index);
  const name = `secret-${digestOf(namespace).slice(0, 8)}`;
  const standing = index % 29 === 28 ? "differs" : index % 17 === 16 ? "awaited" : "current";
  const health = standing === "differs" ? "failed" : standing === "awaited" ? "progressing" : "healthy";
  const reason = standing === "differs" ? "ChecksumDamaged" : standing === "awaited" ? "Awaited" : "Published";
  return checksumRecord({
    id: `checksum/SecretCheckSum/${namespace}`,
    step: "checksum",
    ref: { apiVersion: "tengine.taobao.org/v1", kind: "SecretCheckSum", resource: "secretchecksums.tengine.taobao.org", namespace, name },
    health,
    reason,
    message: standing === "current" ? "the checksum is that of the objects as they are" : "the objects are not as the checksum says",
    detail: "",
    about: [],
    sinceMs: nowMs - (index % 100) * minute,
    conditions: [],
    standing,
    checksums: [
      {
        checksum: digestOf(name).slice(0, 32),
        count: 3 + (index % 9),
        timestampMs: nowMs - (index % 100) * minute,
        ...(standing === "awaited" ? { announcedUntilMs: nowMs + 9 * minute } : { sinceMs: nowMs - (index % 100) * minute }),
      },
    ],
    problemCount: index % 5 === 4 ? 1 : 0,
    problems: index % 5 === 4 ? [{ name: "legacy-cert", reason: "NumberMissing" }] : [],
    agents: { current: 2, behind: index % 29 === 28 ? 1 : 0, silent: 0 },
  });
}

function syntheticAgent(index: number, nowMs: number): ObjectRecord {
  const namespace = numbered("shop", index);
  const identity = numbered("gateway", index);
  const behind = index % 13 === 12;
  return agentRecord({
    id: `agent/${namespace}/${identity}`,
    step: "checksum",
    ref: { apiVersion: "coordination.k8s.io/v1", kind: "Lease", resource: "leases.coordination.k8s.io", namespace, name: identity },
    health: behind ? "degraded" : "healthy",
    reason: behind ? "Behind" : "Serving",
    message: behind ? "its set is not the one that counts" : "its set is the one that counts",
    detail: "",
    about: [],
    sinceMs: nowMs - 3 * hour,
    conditions: [],
    identity,
    state: behind ? "holding" : "serving",
    checksum: digestOf(namespace).slice(0, 32),
    generation: "12",
    matches: !behind,
    secrets: 4,
    promotedMs: nowMs - (behind ? 7 * hour : 40 * minute),
    verifiedMs: nowMs - 2 * minute,
    renewedMs: nowMs - 8000,
    differences: behind ? { missing: 1, unexpected: 0, changed: 1 } : { missing: 0, unexpected: 0, changed: 0 },
    alarms: behind ? ["StaleSet"] : [],
  });
}

function syntheticWorkload(index: number, nowMs: number): ObjectRecord {
  const kinds = ["Deployment", "StatefulSet", "DaemonSet"] as const;
  const kind = kinds[index % 3] ?? "Deployment";
  const name = numbered("service", index);
  const ref: ObjectRef = { apiVersion: "apps/v1", kind, resource: `${kind.toLowerCase()}s.apps`, namespace: namespaceOf(index), name };
  const phases = ["done", "waiting", "done", "rolling", "outdated", "heldBack", "done", "waiting", "done", "unknown"] as const;
  const phase = phases[index % phases.length] ?? "done";
  const healths = {
    done: "healthy",
    waiting: "paused",
    rolling: "progressing",
    outdated: "progressing",
    heldBack: "degraded",
    unknown: "unknown",
  } as const;
  const decisions = {
    done: undefined,
    waiting: { type: "wait", reason: "RolloutLimit", untilMs: nowMs + 6 * minute },
    rolling: { type: "rolling" },
    outdated: { type: "restart" },
    heldBack: { type: "skip", reason: "OptedOut" },
    unknown: { type: "unknown", reason: "WebhookFailed" },
  } as const;
  const decision = decisions[phase];
  return workloadRow({
    id: `workload/${kind}/${ref.namespace}/${name}`,
    step: "sidecars",
    ref,
    health: healths[phase],
    reason: phase === "done" ? "SidecarRolloutFinished" : decision !== undefined && "reason" in decision ? decision.reason : "Outdated",
    message: phase === "done" ? "its pods are current" : "its pods have istio-proxy 1.27.0, new ones would get 1.27.1",
    detail: "",
    about: [],
    sinceMs: nowMs - (index % 45) * minute,
    conditions: [],
    phase,
    ...(phase === "done" ? {} : { outdated: "ImageDiffers" }),
    why: phase === "done" ? "its pods are current" : "istio-proxy 1.27.0 is now 1.27.1",
    ...(decision === undefined ? {} : { decision }),
    stuck: false,
    ...(phase === "done" || phase === "rolling" ? { restartedMs: nowMs - (index % 40) * minute } : {}),
    ...(phase === "waiting" ? { next: { atMs: nowMs + 6 * minute, what: "may be restarted" } } : {}),
  });
}

/** The same, faring otherwise. */
export function faringAs(record: ObjectRecord, health: ObjectRecord["health"], reason: string): ObjectRecord {
  return { ...record, health, reason, cells: { ...record.cells, state: { main: reason, look: "health" } } };
}

/** The same, and each of them well. */
export function wellRecords(records: readonly DashboardRecord[]): readonly DashboardRecord[] {
  return records.map((record) => {
    if (record.type === "step") return record;
    const lanes = record.lanes?.map((lane) => ({ ...lane, health: "healthy" as const }));
    return { ...record, health: "healthy", ...(lanes && { lanes }) };
  });
}

/** How many records of each. */
interface Counts {
  readonly issued?: number;
  readonly rotationSet?: number;
  readonly keySet?: number;
  readonly checksum?: number;
  readonly agent?: number;
  readonly workload?: number;
}

/** So many records of every table, and the stages. */
export function syntheticRecords(counts: Counts, nowMs: number): readonly DashboardRecord[] {
  const many = (count = 0, make: (index: number, nowMs: number) => ObjectRecord): readonly ObjectRecord[] =>
    Array.from({ length: count }, (_, index) => make(index, nowMs));
  return [
    ...stageRecords(),
    ...many(counts.issued, syntheticIssued),
    ...many(counts.rotationSet, syntheticRotationSet),
    ...many(counts.keySet, syntheticKeySet),
    ...many(counts.checksum, syntheticChecksum),
    ...many(counts.agent, syntheticAgent),
    ...many(counts.workload, syntheticWorkload),
  ];
}
