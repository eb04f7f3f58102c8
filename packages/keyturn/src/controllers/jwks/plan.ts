// What is to be done for one object, a pure function of what was observed and the time: its JWKS document, nginx, and its status.
import {
  type Blocker,
  type ConditionReport,
  ConfigMap,
  Deployment,
  earliest,
  formatDuration,
  isBeingDeleted,
  type Kind,
  type KubeObject,
  type Moment,
  ownerReferenceTo,
  type Plan,
  type PlannedEvent,
  Service,
  type StatusReport,
  type Write,
} from "@keyturn/runtime";
import { keyturn } from "../../feature/feature.ts";
import { type JwksStatus, revokeAnnotation } from "./api.ts";
import { readSourceKey } from "./certificates.ts";
import {
  documentConfigMap,
  fitsConfigMap,
  type History,
  isDocumentConfigMap,
  keyStatusOf,
  publishesSame,
  recoverHistory,
  timestamp,
} from "./config-map.ts";
import { problemWithJwks, renderJwks } from "./jwk.ts";
import { advanceHistory, type KeyChange, nextRemovalOf } from "./key-history.ts";
import { type Claim, claimKey, conflictsOf } from "./name-claims.ts";
import { nginxConfigFile, nginxConfigMap, nginxDeployment, type NginxOptions, nginxService, renderNginxConfig } from "./nginx.ts";
import { claimsOf, knownLive, nameOfObject, type Observation, ownerOfObservation } from "./observe.ts";
import type { ConditionReason, KeyReason } from "./reasons.ts";
import { type JwksSettings, revokedKids } from "./settings.ts";

/** A plan for one object: what it writes, and what its status says then; nothing for an object that is going. */
export interface JwksPlan extends Plan {
  readonly steps: readonly Write[];
  readonly status: readonly StatusReport<JwksFields>[];
}

/** nginx's part of a plan: what is wrong with it must keep nobody from removing keys in time. */
const nginxPart = "nginx";

/**
 * Plans for an object: first the JWKS document, then nginx, then what is no longer wanted.
 * A name that is taken holds up what should have it, and no more: keys are rotated and revoked whoever has nginx's names.
 */
export function planJwks(observation: Observation, { nowMs, refused }: Pick<Moment, "nowMs" | "refused">): JwksPlan {
  const { settings } = observation;
  if (isBeingDeleted(observation.object)) return deletionPlan(observation);
  if (!settings.ok) return blocked(observation, { status: "False", reason: "InvalidSpec", message: settings.message }, nowMs);
  const claims = claimsOf(nameOfObject(observation), settings.settings, observation.live);
  const [documentClaim, ...nginxClaims] = claims;
  const conflict = conflictOver(claims, observation);
  if (conflict && conflictOver([documentClaim], observation)) return blocked(observation, conflict, nowMs);

  const publication = publicationOf(observation, settings.settings, nowMs);
  const hasDocument = publication.configMap !== undefined || observation.live.configMap !== undefined;
  const nginxBlocker = conflictOver(nginxClaims, observation) ?? refusalReport(refused.get(nginxPart));
  const serving = servingOf(observation, settings.settings, { hasDocument, blocker: nginxBlocker, nowMs });
  const apply = applyFor(observation, claims);
  return {
    steps: [
      ...(publication.configMap ? [apply(ConfigMap, publication.configMap, { events: publication.changes.map(eventOfChange) })] : []),
      ...serving.objects.map(([kind, object]) => apply(kind, object, { part: nginxPart })),
      // The old document goes only when there is a new one.
      ...removalsOf(observation, { ...settings.settings, cleanupOnDelete: settings.settings.cleanupOnDelete && hasDocument }),
    ],
    status: [
      reportOf(observation, {
        history: publication.history,
        published: publication.report,
        served: serving.report,
        truncated: publication.truncated,
        nginxConfigUpdated: serving.nginxConfigUpdated,
      }),
    ],
    nextAtMs: publication.nextAtMs,
    urgent: publication.changes.some(({ type }) => type === "Revoked"),
  };
}

/** Makes the steps that apply something on the object's behalf. */
function applyFor(
  observation: Observation,
  claims: readonly Claim[],
): (kind: Kind, object: KubeObject, options: Pick<Write, "part" | "events">) => Write {
  const owner = ownerOfObservation(observation);
  const live = knownLive(observation, claims);
  return (kind, object, options) => ({ verb: "apply", kind, object, owner, live: live(kind, object), ...options });
}

/** Plans for an object that is being deleted. What was published stays unless the spec says otherwise, so that tokens stay verifiable. */
function deletionPlan(observation: Observation): JwksPlan {
  const { settings, owned } = observation;
  return { steps: deletionsOf(observation, owned, settings.ok && settings.settings.cleanupOnDelete), status: [], release: true };
}

function deletionsOf(observation: Observation, owned: Observation["owned"], cleanupOnDelete: boolean): readonly Write[] {
  const owner = ownerOfObservation(observation);
  return owned
    .filter(({ object }) => cleanupOnDelete || !isDocumentConfigMap(object))
    .map(({ kind, object }) => ({ verb: "delete", kind, name: nameOfObject({ object }), owner }));
}

/** Something must be put right by a person first: nothing is written but the status, and documents out of which keys are revoked, which waits for nobody. */
function blocked(observation: Observation, published: JwksCondition, nowMs: number): JwksPlan {
  const { object, settings, live } = observation;
  const withdrawals = withdrawalsOf(observation, nowMs);
  const [newest] = withdrawals.toSorted((left, right) => right.history.revision - left.history.revision);
  const apply = applyFor(observation, settings.ok ? claimsOf(nameOfObject(observation), settings.settings, live) : []);
  return {
    steps: withdrawals.map(({ configMap, changes }) => apply(ConfigMap, configMap, { events: changes.map(eventOfChange) })),
    status: [
      reportOf(observation, {
        history: newest?.history ?? recoverHistory(undefined, object.status),
        published,
        served: undefined,
        truncated: undefined,
        nginxConfigUpdated: object.status?.nginxConfigUpdated,
      }),
    ],
    urgent: withdrawals.length > 0,
  };
}

/** The object's documents without the keys that are revoked, as far as there are any in them. All else in them stays as it is. */
function withdrawalsOf(
  { kind, object, owned }: Observation,
  nowMs: number,
): readonly { readonly history: History; readonly configMap: ConfigMap; readonly changes: readonly KeyChange[] }[] {
  const revoked = revokedKids(object.metadata.annotations?.[revokeAnnotation]);
  if (revoked.size === 0) return [];
  return owned.flatMap(({ object: live }) => {
    if (!isDocumentConfigMap(live)) return [];
    const before = recoverHistory(live, object.status);
    const keys = before.keys.filter(({ jwk }) => !revoked.has(jwk.kid));
    if (keys.length === before.keys.length) return [];
    const history: History = { revision: before.revision + 1, updatedAtMs: nowMs, keys };
    const isOwned = live.metadata.ownerReferences?.some(({ uid }) => uid === object.metadata.uid) === true;
    const owner = isOwned ? ownerReferenceTo(kind, object) : undefined;
    const withdrawn = before.keys.filter((key) => !keys.includes(key));
    return {
      history,
      configMap: documentConfigMap(history, { name: nameOfObject({ object: live }), live, owner }),
      changes: withdrawn.map(({ jwk: { kid }, source }) => ({ type: "Revoked", kid, source })),
    };
  });
}

/** What is said if any of the names is somebody else's. */
function conflictOver(claims: readonly Claim[], observation: Observation): JwksCondition | undefined {
  const owner = ownerOfObservation(observation);
  const createdAt = observation.object.metadata.creationTimestamp ?? "";
  const conflicts = conflictsOf(claims, { operator: keyturn, owner, createdAt, rivals: observation.rivals });
  if (conflicts.length === 0) return undefined;
  return { status: "False", reason: "Conflict", message: `${conflicts.join("; ")}; nothing was touched: remove it, or choose another name` };
}

function refusalReport(refusal: Blocker | undefined): JwksCondition | undefined {
  return refusal && { status: "False", reason: "NginxRefused", message: refusal.message };
}

/** What was kept for the object and is no longer wanted, such as nginx's objects under an earlier name. */
function removalsOf(observation: Observation, settings: JwksSettings): readonly Write[] {
  const wanted = new Set(claimsOf(nameOfObject(observation), settings).map(claimKey));
  const unwanted = observation.owned.filter(({ kind, object }) => !wanted.has(claimKey({ kind, name: nameOfObject({ object }) })));
  return deletionsOf(observation, unwanted, settings.cleanupOnDelete);
}

const changeWords: Readonly<Record<KeyChange["type"], { readonly type: PlannedEvent["type"]; readonly reason: KeyReason; readonly words: string }>> =
  {
    Added: { type: "Normal", reason: "KeyAdded", words: "is published" },
    Renewed: { type: "Normal", reason: "KeyRenewed", words: "is published with a renewed certificate" },
    Retired: { type: "Normal", reason: "KeyRetired", words: "was replaced and is kept for a while" },
    Revived: { type: "Normal", reason: "KeyRevived", words: "is in use again" },
    Removed: { type: "Normal", reason: "KeyRemoved", words: "is no longer published" },
    Revoked: { type: "Warning", reason: "KeyRevoked", words: "was revoked and is no longer published" },
    Dropped: { type: "Warning", reason: "KeyDropped", words: "was removed early to make room" },
  };

function eventOfChange({ type, kid, source }: KeyChange): PlannedEvent {
  const { words, ...event } = changeWords[type];
  return { type: event.type, reason: event.reason, message: `key ${kid}${source ? ` of Secret ${source}` : ""} ${words}` };
}

// The published half of a plan: which keys the ConfigMap is to hold, and whether it may be changed now.

/** What becomes of the JWKS document. */
interface Publication {
  /** What is published once the ConfigMap is written. */
  readonly history: History;
  /** The ConfigMap to apply; undefined to leave what is there, or nothing, as it is. */
  readonly configMap: ConfigMap | undefined;
  readonly report: JwksCondition;
  /** Whether retired keys had to go early, null if not; undefined if the JWKS document does not change. */
  readonly truncated: JwksCondition | null | undefined;
  /** What happens to keys by this write. */
  readonly changes: readonly KeyChange[];
  /** When time alone makes it different. */
  readonly nextAtMs: number | undefined;
}

/** Decides about the JWKS document. Nothing that is published is lost on the way: on any doubt the ConfigMap stays as it is. */
function publicationOf(observation: Observation, settings: JwksSettings, nowMs: number): Publication {
  const { object, live } = observation;
  const before = recoverHistory(live.configMap, object.status);
  const sources = settings.sources.map((name) => ({ name, result: readSourceKey(observation.secrets.get(name), settings, nowMs) }));
  const step = advanceHistory(before.keys, {
    sources: sources.map(({ name, result }) => ({ name, key: result.type === "key" ? result.key : undefined })),
    rules: {
      oldKeys: settings.oldKeys,
      revoked: settings.revoked,
      fits: (keys) => keys.length <= (settings.maxKeys ?? Number.POSITIVE_INFINITY) && fitsConfigMap(keys),
    },
    nowMs,
  });

  const problems = sources.flatMap(({ name, result }) => (result.type === "refused" ? [{ name, ...result }] : []));
  const expiries = sources.flatMap(({ result }) => (result.type === "key" ? [result.key.notAfterMs] : []));
  const sourcesReport = (history: History): JwksCondition => {
    const [first] = problems;
    if (first) {
      const stays = history.keys.length > 0 ? "; what was published stays published" : "";
      return { status: "False", reason: first.reason, message: problems.map(({ name, message }) => `Secret ${name}: ${message}`).join("; ") + stays };
    }
    if (history.keys.length === 0)
      return { status: "False", reason: "AllKeysRevoked", message: "every key is revoked; put a new certificate into the Secret" };
    return { status: "True", reason: "Published", message: `${countOf(history)} in ConfigMap ${settings.configMapName}` };
  };
  const left = (report: JwksCondition, nextAtMs: number | undefined): Publication => ({
    history: before,
    configMap: undefined,
    report,
    truncated: undefined,
    changes: [],
    nextAtMs,
  });

  const build = (history: History): ConfigMap =>
    documentConfigMap(history, {
      name: { ...nameOfObject(observation), name: settings.configMapName },
      live: live.configMap,
      owner: settings.cleanupOnDelete ? ownerReferenceTo(observation.kind, object) : undefined,
    });
  const nextAtMs = earliest([step.nextAtMs, ...expiries]);

  // Nothing was ever published, and there is nothing to publish.
  if (before.revision === 0 && step.keys.length === 0) return left(sourcesReport(before), nextAtMs);

  const same: History = { ...before, keys: step.keys };
  if (live.configMap && publishesSame(live.configMap, build(same))) {
    return { history: same, configMap: build(same), report: sourcesReport(same), truncated: undefined, changes: [], nextAtMs };
  }

  const problem = problemWithJwks(renderJwks(step.keys.map(({ jwk }) => jwk)));
  if (problem !== undefined)
    return left({ status: "False", reason: "DocumentRefused", message: `${problem}; what was published stays published` }, nextAtMs);

  // A change of what we published has to wait its turn. What somebody deleted or edited is put right at once, and a revocation never waits.
  const revoking = step.changes.some(({ type }) => type === "Revoked");
  const untouched = live.configMap !== undefined && publishesSame(live.configMap, build(before));
  const allowedAtMs = untouched && !revoking ? nextUpdateAt(before.updatedAtMs, observation.configMapIntervalMs, nowMs) : nowMs;
  if (allowedAtMs > nowMs) {
    const message = `a change waits until ${timestamp(allowedAtMs)}: the ConfigMap is changed at most once in ${formatDuration(observation.configMapIntervalMs)}`;
    const report = problems.length > 0 ? sourcesReport(before) : { status: "False" as const, reason: "UpdateDeferred" as const, message };
    return left(report, earliest([allowedAtMs, ...expiries]));
  }

  const history: History = { revision: before.revision + 1, updatedAtMs: nowMs, keys: step.keys };
  const dropped = step.changes.filter(({ type }) => type === "Dropped").length;
  const isTruncated = dropped > 0 && history.keys.length < (settings.maxKeys ?? Number.POSITIVE_INFINITY);
  const truncated: JwksCondition | null = isTruncated
    ? {
        status: "True",
        reason: "DocumentTooLarge",
        message: `${dropped} retired keys were removed early because all keys together do not fit into a ConfigMap`,
      }
    : null;
  return { history, configMap: build(history), report: sourcesReport(history), truncated, changes: step.changes, nextAtMs };
}

/**
 * When the ConfigMap may change next, by the wall clock, because the last change is remembered across restarts.
 * A last change that lies in the future was dated by a clock that has been set back since: it holds up nothing.
 */
export function nextUpdateAt(lastUpdateMs: number | undefined, intervalMs: number, nowMs: number): number {
  return lastUpdateMs === undefined || lastUpdateMs > nowMs ? nowMs : lastUpdateMs + intervalMs;
}

function countOf({ keys }: History): string {
  return keys.length === 1 ? "1 key" : `${keys.length} keys`;
}

// The served half of a plan: nginx's objects, and whether pods answer.

/** What becomes of nginx. */
interface Serving {
  readonly objects: readonly (readonly [Kind, KubeObject])[];
  /** Undefined if nobody asked for nginx. */
  readonly report: JwksCondition | undefined;
  readonly nginxConfigUpdated: string | undefined;
}

/** Decides about nginx. Without a document there is nothing to serve, and pods would only wait for it; with a name that is somebody else's, nothing is touched. */
function servingOf(
  observation: Observation,
  settings: JwksSettings,
  { hasDocument, blocker, nowMs }: { readonly hasDocument: boolean; readonly blocker: JwksCondition | undefined; readonly nowMs: number },
): Serving {
  const { object, kind, live } = observation;
  const { nginx } = settings;
  if (!nginx) return { objects: [], report: undefined, nginxConfigUpdated: undefined };
  const { nginxConfigUpdated } = object.status ?? {};
  if (blocker) return { objects: [], report: blocker, nginxConfigUpdated };
  if (!hasDocument) return { objects: [], report: unavailable("nothing is published yet"), nginxConfigUpdated };

  const config = renderNginxConfig(nginx);
  const options: NginxOptions = {
    name: nameOfObject(observation),
    configMapName: nginx.configMapName,
    documentConfigMapName: settings.configMapName,
    config,
    pods: nginx.pods,
    owner: ownerReferenceTo(kind, object),
  };
  const changed = live.nginxConfigMap?.data?.[nginxConfigFile] !== config;
  const available = live.deployment?.status?.availableReplicas ?? 0;
  return {
    objects: [
      [ConfigMap, nginxConfigMap(options)],
      [Deployment, nginxDeployment(options)],
      [Service, nginxService(options)],
    ],
    report:
      available > 0
        ? { status: "True", reason: "Serving", message: `${available} of ${nginx.pods.replicas} pods serve the document` }
        : unavailable(`no pod of Deployment ${options.name.name} is available`),
    nginxConfigUpdated: changed || nginxConfigUpdated === undefined ? timestamp(nowMs) : nginxConfigUpdated,
  };
}

function unavailable(message: string): JwksCondition {
  return { status: "False", reason: "PodsNotAvailable", message };
}

// What an object's status says, made from what is published and what stands in the way.

/** What one condition says. */
type JwksCondition = ConditionReport<ConditionReason>;

/** A status but for its conditions. */
export type JwksFields = Omit<JwksStatus, "conditions">;

/** What the status is made from. */
interface StatusInput {
  readonly history: History;
  /** The ConfigMap says what the sources say. */
  readonly published: JwksCondition;
  /** Pods answer with it; absent if none are asked for. */
  readonly served: JwksCondition | undefined;
  /** Retired keys had to go early, null if not; absent to leave what is said about it. */
  readonly truncated: JwksCondition | null | undefined;
  /** When nginx's configuration was last changed; absent if there is none. */
  readonly nginxConfigUpdated: string | undefined;
}

/** The whole status. Equal input gives an equal report, so that nothing is written when nothing happened. */
function reportOf({ kind, object }: Observation, input: StatusInput): StatusReport<JwksFields> {
  const { history, published, served, truncated, nginxConfigUpdated } = input;
  const { generation } = object.metadata;
  const { jwksVerified } = object.status ?? {};
  const nextRemovalMs = nextRemovalOf(history.keys);
  const [first] = history.keys;
  const blocking = [published, served].find((condition) => condition?.status === "False");
  return {
    regarding: { kind, object },
    conditions: {
      Ready: blocking ?? { status: "True", reason: "Ready", message: published.message },
      Published: published,
      Served: served ?? null,
      ...(truncated !== undefined && { Truncated: truncated }),
    },
    fields: {
      ...(generation !== undefined && { observedGeneration: generation }),
      keyCount: history.keys.length,
      keys: history.keys.map(keyStatusOf),
      ...(history.revision > 0 && { revision: history.revision }),
      ...(history.updatedAtMs !== undefined && { lastUpdateTime: timestamp(history.updatedAtMs) }),
      ...(first?.standing.state === "Active" && { lastKeyID: first.jwk.kid }),
      ...(nextRemovalMs !== undefined && { nextRemoval: timestamp(nextRemovalMs) }),
      ...(nginxConfigUpdated !== undefined && { nginxConfigUpdated }),
      ...(jwksVerified !== undefined && { jwksVerified }),
    },
  };
}
