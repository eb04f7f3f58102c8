// What is to be done for one object, a pure function of what was observed and the time: its JWKS document, nginx, and its status.
import {
  apply,
  type Condition,
  ConfigMap,
  Deployment,
  earliest,
  formatDuration,
  type PlannedEvent,
  ownerReferenceTo,
  type OwnedWrite,
  type StatusPlan,
  remove,
  removeCondition,
  Service,
  setCondition,
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
import { claimsOf, nameOfObject, type Observation, ownerOfObservation } from "./observe.ts";
import type { ConditionReason, KeyReason } from "./reasons.ts";
import { type JwksSettings, revokedKids } from "./settings.ts";

/** A plan, and whether it may wait. */
interface JwksPlan extends StatusPlan<JwksStatus> {
  /** True if a key is to be withdrawn, for which no limit counts. */
  readonly urgent: boolean;
}

/**
 * Plans for an object that is there to stay: first the JWKS document, then nginx, then what is no longer wanted.
 * A name that is taken holds up what should have it, and no more: keys are rotated and revoked whoever has nginx's names.
 */
export function planJwks(observation: Observation, nowMs: number): JwksPlan {
  const { settings } = observation;
  if (!settings.ok) return blocked(observation, { holds: false, reason: "InvalidSpec", message: settings.message }, nowMs);
  const claims = claimsOf(nameOfObject(observation), settings.settings, observation.live);
  const [documentClaim, ...nginxClaims] = claims;
  const conflict = conflictOver(claims, observation);
  if (conflict && conflictOver([documentClaim], observation)) return blocked(observation, conflict, nowMs);

  const publication = publicationOf(observation, settings.settings, nowMs);
  const hasDocument = publication.configMap !== undefined || observation.live.configMap !== undefined;
  const serving = servingOf(observation, settings.settings, { hasDocument, conflict: conflictOver(nginxClaims, observation), nowMs });
  return {
    writes: [
      ...(publication.configMap ? [apply(ConfigMap, publication.configMap)] : []),
      ...serving.writes,
      // The old document goes only when there is a new one.
      ...removalsOf(observation, { ...settings.settings, cleanupOnDelete: settings.settings.cleanupOnDelete && hasDocument }),
    ],
    status: statusOf({
      previous: observation.object.status,
      generation: observation.object.metadata.generation,
      nowMs,
      history: publication.history,
      published: publication.report,
      served: serving.report,
      truncated: publication.truncated,
      nginxConfigUpdated: serving.nginxConfigUpdated,
    }),
    notices: [
      ...publication.changes.map(eventOfChange),
      ...eventsOfReport(observation, "Published", publication.report),
      ...(serving.report ? eventsOfReport(observation, "Served", serving.report) : []),
    ],
    nextAtMs: publication.nextAtMs,
    urgent: publication.changes.some(({ type }) => type === "Revoked"),
  };
}

/** Plans for an object that is being deleted. What was published stays unless the spec says otherwise, so that tokens stay verifiable. */
export function planJwksDeletion(
  { owned }: Pick<Observation, "owned">,
  { cleanupOnDelete }: Pick<JwksSettings, "cleanupOnDelete">,
): readonly OwnedWrite[] {
  return owned
    .filter(({ object }) => cleanupOnDelete || !isDocumentConfigMap(object))
    .map(({ kind, object }) => remove(kind, nameOfObject({ object })));
}

/** Something must be put right by a person first: nothing is written but the status, and documents out of which keys are revoked, which waits for nobody. */
function blocked(observation: Observation, published: ConditionReport, nowMs: number): JwksPlan {
  const { object } = observation;
  const withdrawals = withdrawalsOf(observation, nowMs);
  const [newest] = withdrawals.toSorted((left, right) => right.history.revision - left.history.revision);
  return {
    writes: withdrawals.map(({ configMap }) => apply(ConfigMap, configMap)),
    status: statusOf({
      previous: object.status,
      generation: object.metadata.generation,
      nowMs,
      history: newest?.history ?? recoverHistory(undefined, object.status),
      published,
      served: undefined,
      truncated: undefined,
      nginxConfigUpdated: object.status?.nginxConfigUpdated,
    }),
    notices: [...withdrawals.flatMap(({ changes }) => changes.map(eventOfChange)), ...eventsOfReport(observation, "Published", published)],
    nextAtMs: undefined,
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
function conflictOver(claims: readonly Claim[], observation: Observation): ConditionReport | undefined {
  const owner = ownerOfObservation(observation);
  const createdAt = observation.object.metadata.creationTimestamp ?? "";
  const conflicts = conflictsOf(claims, { operator: keyturn, owner, createdAt, rivals: observation.rivals });
  if (conflicts.length === 0) return undefined;
  return { holds: false, reason: "Conflict", message: `${conflicts.join("; ")}; nothing was touched: remove it, or choose another name` };
}

/** What was kept for the object and is no longer wanted, such as nginx's objects under an earlier name. */
function removalsOf(observation: Observation, settings: JwksSettings): readonly OwnedWrite[] {
  const wanted = new Set(claimsOf(nameOfObject(observation), settings).map(claimKey));
  const unwanted = observation.owned.filter(({ kind, object }) => !wanted.has(claimKey({ kind, name: nameOfObject({ object }) })));
  return planJwksDeletion({ owned: unwanted }, settings);
}

/** What ends by itself is not worth an Event. */
const passing: ReadonlySet<ConditionReason> = new Set(["UpdateDeferred", "PodsNotAvailable"]);

/** Recorded once: for as long as the condition says the same, nothing is new. */
function eventsOfReport({ object }: Observation, condition: string, { holds, reason, message }: ConditionReport): readonly PlannedEvent[] {
  const before = object.status?.conditions?.find(({ type }) => type === condition);
  if (holds || passing.has(reason) || (before?.reason === reason && before.message === message)) return [];
  return [{ type: "Warning", reason, message }];
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
  readonly report: ConditionReport;
  /** Whether retired keys had to go early; undefined if the JWKS document does not change. */
  readonly truncated: ConditionReport | undefined;
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
  const sourcesReport = (history: History): ConditionReport => {
    const [first] = problems;
    if (first) {
      const stays = history.keys.length > 0 ? "; what was published stays published" : "";
      return { holds: false, reason: first.reason, message: problems.map(({ name, message }) => `Secret ${name}: ${message}`).join("; ") + stays };
    }
    if (history.keys.length === 0)
      return { holds: false, reason: "AllKeysRevoked", message: "every key is revoked; put a new certificate into the Secret" };
    return { holds: true, reason: "Published", message: `${countOf(history)} in ConfigMap ${settings.configMapName}` };
  };
  const left = (report: ConditionReport, nextAtMs: number | undefined): Publication => ({
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
    return left({ holds: false, reason: "DocumentRefused", message: `${problem}; what was published stays published` }, nextAtMs);

  // A change of what we published has to wait its turn. What somebody deleted or edited is put right at once, and a revocation never waits.
  const revoking = step.changes.some(({ type }) => type === "Revoked");
  const untouched = live.configMap !== undefined && publishesSame(live.configMap, build(before));
  const allowedAtMs = untouched && !revoking ? nextUpdateAt(before.updatedAtMs, observation.configMapIntervalMs, nowMs) : nowMs;
  if (allowedAtMs > nowMs) {
    const message = `a change waits until ${timestamp(allowedAtMs)}: the ConfigMap is changed at most once in ${formatDuration(observation.configMapIntervalMs)}`;
    const report = problems.length > 0 ? sourcesReport(before) : { holds: false, reason: "UpdateDeferred" as const, message };
    return left(report, earliest([allowedAtMs, ...expiries]));
  }

  const history: History = { revision: before.revision + 1, updatedAtMs: nowMs, keys: step.keys };
  const dropped = step.changes.filter(({ type }) => type === "Dropped").length;
  const truncated: ConditionReport = {
    holds: dropped > 0 && history.keys.length < (settings.maxKeys ?? Number.POSITIVE_INFINITY),
    reason: "DocumentTooLarge",
    message: `${dropped} retired keys were removed early because all keys together do not fit into a ConfigMap`,
  };
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
export interface Serving {
  readonly writes: readonly OwnedWrite[];
  /** Undefined if nobody asked for nginx. */
  readonly report: ConditionReport | undefined;
  readonly nginxConfigUpdated: string | undefined;
}

/** Decides about nginx. Without a document there is nothing to serve, and pods would only wait for it; with a name that is somebody else's, nothing is touched. */
function servingOf(
  observation: Observation,
  settings: JwksSettings,
  { hasDocument, conflict, nowMs }: { readonly hasDocument: boolean; readonly conflict: ConditionReport | undefined; readonly nowMs: number },
): Serving {
  const { object, kind, live } = observation;
  const { nginx } = settings;
  if (!nginx) return { writes: [], report: undefined, nginxConfigUpdated: undefined };
  const { nginxConfigUpdated } = object.status ?? {};
  const refusal: ConditionReport | undefined =
    observation.nginxRefusal === undefined ? undefined : { holds: false, reason: "NginxRefused", message: observation.nginxRefusal };
  const blocker = conflict ?? refusal;
  if (blocker) return { writes: [], report: blocker, nginxConfigUpdated };
  if (!hasDocument) return { writes: [], report: unavailable("nothing is published yet"), nginxConfigUpdated };

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
    writes: [apply(ConfigMap, nginxConfigMap(options)), apply(Deployment, nginxDeployment(options)), apply(Service, nginxService(options))],
    report:
      available > 0
        ? { holds: true, reason: "Serving", message: `${available} of ${nginx.pods.replicas} pods serve the document` }
        : unavailable(`no pod of Deployment ${options.name.name} is available`),
    nginxConfigUpdated: changed || nginxConfigUpdated === undefined ? timestamp(nowMs) : nginxConfigUpdated,
  };
}

function unavailable(message: string): ConditionReport {
  return { holds: false, reason: "PodsNotAvailable", message };
}

// What an object's status says, made from what is published and what stands in the way.

/** What is reported in one condition. */
export interface ConditionReport {
  readonly holds: boolean;
  readonly reason: ConditionReason;
  readonly message: string;
}

/** What the status is made from. */
interface StatusInput {
  readonly previous: JwksStatus | undefined;
  readonly generation: number | undefined;
  readonly nowMs: number;
  readonly history: History;
  /** The ConfigMap says what the sources say. */
  readonly published: ConditionReport;
  /** Pods answer with it; absent if none are asked for. */
  readonly served: ConditionReport | undefined;
  /** Retired keys had to go early; absent to leave what is said about it. */
  readonly truncated: ConditionReport | undefined;
  /** When nginx's configuration was last changed; absent if there is none. */
  readonly nginxConfigUpdated: string | undefined;
}

/** The whole status. Equal input gives an equal status, so that nothing is written when nothing happened. */
export function statusOf(input: StatusInput): JwksStatus {
  const { generation, history, nginxConfigUpdated } = input;
  const { jwksVerified } = input.previous ?? {};
  const nextRemovalMs = nextRemovalOf(history.keys);
  const [first] = history.keys;
  return {
    ...(generation !== undefined && { observedGeneration: generation }),
    conditions: [...conditionsOf(input)],
    keyCount: history.keys.length,
    keys: history.keys.map(keyStatusOf),
    ...(history.revision > 0 && { revision: history.revision }),
    ...(history.updatedAtMs !== undefined && { lastUpdateTime: timestamp(history.updatedAtMs) }),
    ...(first?.standing.state === "Active" && { lastKeyID: first.jwk.kid }),
    ...(nextRemovalMs !== undefined && { nextRemoval: timestamp(nextRemovalMs) }),
    ...(nginxConfigUpdated !== undefined && { nginxConfigUpdated }),
    ...(jwksVerified !== undefined && { jwksVerified }),
  };
}

function conditionsOf({ previous, generation, nowMs, published, served, truncated }: StatusInput): readonly Condition[] {
  const blocking = [published, served].find((report) => report?.holds === false);
  const ready: ConditionReport = blocking ?? { holds: true, reason: "Ready", message: published.message };
  const set = (conditions: readonly Condition[], type: string, report: ConditionReport): readonly Condition[] => {
    const { holds, reason, message } = report;
    return setCondition(conditions, { type, status: holds ? "True" : "False", reason, message, observedGeneration: generation }, nowMs);
  };
  let conditions = set(previous?.conditions ?? [], "Ready", ready);
  conditions = set(conditions, "Published", published);
  conditions = served ? set(conditions, "Served", served) : removeCondition(conditions, "Served");
  if (!truncated) return conditions;
  return truncated.holds ? set(conditions, "Truncated", truncated) : removeCondition(conditions, "Truncated");
}
