// What is to be done for one object, a pure function of what was observed and the time: its JWKS document, nginx, and its status.
import { hash } from "node:crypto";
import {
  type Blocker,
  ConfigMap,
  Deployment,
  earliest,
  findCondition,
  isBeingDeleted,
  keyOf,
  keyOfObject,
  type Kind,
  type KubeObject,
  type Moment,
  nameOf,
  ownerReferenceTo,
  type Plan,
  resourceOf,
  Service,
  type StatusReport,
  type Write,
} from "@keyturn/runtime";
import type { JwksStatus } from "./api.ts";
import { documentOf, type History, isDocumentConfigMap, keyStatusesOf, recoverHistory, revisionOf, timestamp } from "./config-map.ts";
import { discoveryFile, entryId } from "./jwk.ts";
import { nextRemovalOf, type PublishedKey } from "./key-history.ts";
import { documentFile, nginxConfigFile, nginxConfigMap, nginxDeployment, type NginxOptions, nginxService, renderNginxConfig } from "./nginx.ts";
import { found, isOurs, knownLive, nameOfObject, type Observation, ownDocument, ownerOfObservation } from "./observe.ts";
import {
  documentPart,
  eventOfChange,
  type Publication,
  publicationOf,
  revocationsOf,
  type Withdrawal,
  withdrawalReport,
  withdrawalsOf,
} from "./publication.ts";
import type { JwksCondition } from "./reasons.ts";
import { rolloutOf, unavailable } from "./rollout.ts";
import { problemWithServer } from "./server-certificate.ts";
import type { JwksSettings, NginxSettings } from "./settings.ts";
import { missedEvents } from "./sources.ts";

// The served half of a plan: nginx's objects, and whether every pod serves what is published.

/** nginx's part of a plan: what is wrong with it must keep nobody from removing keys in time. */
const nginxPart = "nginx";

/** What becomes of nginx. */
interface Serving {
  readonly objects: readonly (readonly [Kind, KubeObject])[];
  /** Undefined if nobody asked for nginx. */
  readonly report: JwksCondition | undefined;
  readonly nginxConfigUpdated: string | undefined;
  /** When to look at the pods again, of which there is no watch. */
  readonly nextAtMs: number | undefined;
}

/** Decides about nginx. Without a document there is nothing to serve, and pods would only wait for it; what was refused is left alone for now. */
function servingOf(
  observation: Observation,
  nginx: NginxSettings | undefined,
  {
    document,
    documentName,
    refusal,
    nowMs,
  }: {
    readonly document: ConfigMap | undefined;
    readonly documentName: string;
    readonly refusal: Blocker | undefined;
    readonly nowMs: number;
  },
): Serving {
  const nothing = { objects: [], nextAtMs: undefined };
  if (!nginx) return { ...nothing, report: undefined, nginxConfigUpdated: undefined };
  const { nginxConfigUpdated } = observation.object.status ?? {};
  if (nginx.notAllowed !== undefined)
    return { ...nothing, report: { status: "False", reason: "NotAllowed", message: nginx.notAllowed }, nginxConfigUpdated };
  if (refusal) return { ...nothing, report: refusalReport(refusal), nginxConfigUpdated };
  if (!document) return { ...nothing, report: unavailable("nothing is published yet"), nginxConfigUpdated };

  const problem = nginx.tlsSecret === undefined ? undefined : problemWithServer(observation.secrets.get(nginx.tlsSecret));
  if (problem !== undefined) {
    const message = `Secret ${nginx.tlsSecret} is not one that nginx serves with: ${problem}; its pods stay as they are`;
    return { ...nothing, report: { status: "False", reason: "ServerCertificateRefused", message }, nginxConfigUpdated };
  }
  const revision = revisionOf(document);
  if (revision === undefined) return { ...nothing, report: unavailable(`ConfigMap ${documentName} was edited by somebody else`), nginxConfigUpdated };

  const options = optionsOf(observation, nginx, { documentName, revision });
  const { config, name, configMapName } = options;
  const deployment = nginxDeployment(options);
  const changed = found(observation, ConfigMap, { ...name, name: configMapName })?.data?.[nginxConfigFile] !== config;
  return {
    objects: [
      [ConfigMap, nginxConfigMap(options)],
      [Deployment, deployment],
      [Service, nginxService(options)],
    ],
    ...rolloutOf(observation, { live: found(observation, Deployment, name), wanted: deployment, nowMs }),
    nginxConfigUpdated: changed || nginxConfigUpdated === undefined ? timestamp(nowMs) : nginxConfigUpdated,
  };
}

function optionsOf(
  observation: Observation,
  nginx: NginxSettings,
  { documentName, revision }: { readonly documentName: string; readonly revision: number },
): NginxOptions {
  const { kind, object, secrets } = observation;
  const server = nginx.tlsSecret === undefined ? undefined : secrets.get(nginx.tlsSecret);
  return {
    name: { ...nameOfObject(observation), name: nginx.name },
    configMapName: nginx.configMapName,
    documentConfigMapName: documentName,
    documentRevision: `${revision}`,
    config: renderNginxConfig(nginx.answers),
    answers: nginx.answers,
    tls: nginx.tlsSecret === undefined ? undefined : { secret: nginx.tlsSecret, digest: hash("sha256", JSON.stringify(server ?? null)) },
    pods: nginx.pods,
    owner: ownerReferenceTo(kind, object),
  };
}

/** A name that is somebody else's is told as such. */
function refusalReport({ reason, message }: Blocker): JwksCondition {
  return { status: "False", reason: reason === "Conflict" ? "Conflict" : "NginxRefused", message };
}

// The whole plan.

/** A plan for one object: what it writes, and what its status says then; nothing for an object that is going. */
export interface JwksPlan extends Plan {
  readonly steps: readonly Write[];
  readonly status: readonly StatusReport<JwksFields>[];
}

/**
 * Plans for an object: first documents under earlier names, as far as keys are revoked there, then the JWKS document, then nginx, then what is no longer wanted.
 * What is refused holds up what it is for, and no more: keys are rotated and revoked whoever has nginx's names.
 */
export function planJwks(observation: Observation, moment: Moment): JwksPlan {
  const { settings: read, object } = observation;
  const { nowMs, refused } = moment;
  if (isBeingDeleted(object)) return deletionPlan(observation);
  if (!read.ok) return blocked(observation, { status: "False", reason: "InvalidSpec", message: read.message }, refused);
  const { settings } = read;
  const publication = publicationOf(observation, settings, moment);
  if (publication.published.reason === "Publishing") return announcement(observation, publication);
  const document = publication.configMap ?? ownDocument(observation, settings.configMapName);
  const serving = servingOf(observation, settings.nginx, {
    document,
    documentName: settings.configMapName,
    refusal: refused.get(nginxPart),
    nowMs,
  });
  const events = publication.changes.map(eventOfChange);
  const cache = cacheOf(observation, settings, { served: serving.report, nowMs });
  const withdrawals = withdrawalsOf(observation, publication.withdrawn, settings.configMapName);
  const withdrawn = withdrawalSteps(observation, withdrawals, refused);
  // The old document goes only when there is a new one.
  const removals = removalsOf(observation, { ...settings, cleanupOnDelete: settings.cleanupOnDelete && document !== undefined });
  return {
    steps: [
      ...withdrawn,
      // What is refused is refused again until the keys change; that its dates do each time does not count.
      ...(publication.configMap
        ? apply(observation, ConfigMap, publication.configMap, { part: documentPart, input: documentOf(publication.configMap) ?? "", events })
        : []),
      ...serving.objects.flatMap(([kind, wanted]) => apply(observation, kind, wanted, { part: nginxPart })),
      ...removals.filter(({ part = "" }) => !refused.has(part)),
    ],
    status: [
      reportOf(observation, {
        ...publication,
        history: withAvailability(observation, publication, { served: serving.report, nowMs }),
        cacheSeconds: cache.cacheSeconds,
        revoked: withdrawalReport(withdrawals, refused) ?? publication.revoked,
        served: serving.report,
        left: removalReport(removals, refused),
        nginxConfigUpdated: serving.nginxConfigUpdated,
      }),
    ],
    events: [...publication.events, ...missedEvents(observation)],
    nextAtMs: earliest([publication.nextAtMs, serving.nextAtMs, cache.nextAtMs]),
    urgent: publication.urgent || withdrawn.length > 0,
  };
}

/** The history with since when each key can be had by whoever asks. A document that somebody edited or deleted meanwhile was had without it. */
function withAvailability(
  { object }: Observation,
  { history, isIntact, configMap }: Publication,
  { served, nowMs }: { readonly served: JwksCondition | undefined; readonly nowMs: number },
): History {
  const isKnown = isIntact && (!served || findCondition(object.status?.conditions, "Served") !== undefined);
  const isAvailable = served ? served.status === "True" : configMap !== undefined;
  const keys = history.keys.map((key) => {
    const sinceMs = isKnown ? key.availableSinceMs : undefined;
    return { ...key, availableSinceMs: isAvailable ? (sinceMs ?? nowMs) : sinceMs };
  });
  return { ...history, keys };
}

/** For how long somebody may keep a document, and when that is less: what was handed out with a longer time is kept for that. */
function cacheOf(
  { object }: Observation,
  { cacheSeconds, nginx }: JwksSettings,
  { served, nowMs }: { readonly served: JwksCondition | undefined; readonly nowMs: number },
): { readonly cacheSeconds: number; readonly nextAtMs?: number } {
  const { cacheSeconds: longerSeconds = 0, conditions } = object.status ?? {};
  if (!nginx || longerSeconds <= cacheSeconds) return { cacheSeconds };
  if (served?.status !== "True") return { cacheSeconds: longerSeconds };
  const before = findCondition(conditions, "Served");
  // Times of conditions are cut to whole seconds.
  const shorterSinceMs = before?.status === "True" ? Date.parse(before.lastTransitionTime) + 1000 : nowMs;
  const endMs = shorterSinceMs + longerSeconds * 1000;
  return endMs <= nowMs ? { cacheSeconds } : { cacheSeconds: longerSeconds, nextAtMs: endMs };
}

/** What is to be published is written down, and nothing else is done or said until it is. */
function announcement(observation: Observation, publication: Publication): JwksPlan {
  const { status } = observation.object;
  const report = reportOf(observation, {
    ...publication,
    cacheSeconds: status?.cacheSeconds,
    served: undefined,
    nginxConfigUpdated: status?.nginxConfigUpdated,
  });
  const { Ready, Published = null } = report.conditions;
  const hasReady = status?.conditions?.some(({ type }) => type === "Ready") === true;
  return {
    steps: [],
    status: [{ ...report, conditions: { ...(!hasReady && Ready && { Ready }), Published } }],
    events: [...publication.events, ...missedEvents(observation)],
    nextAtMs: publication.nextAtMs,
  };
}

/** The steps that bring an object about. An immutable ConfigMap cannot be changed, so another takes its place: all that is in it is written down in the status. */
function apply(
  observation: Observation,
  kind: Kind,
  object: KubeObject,
  { events, ...options }: Pick<Write, "part" | "input" | "events">,
): readonly Write[] {
  const owner = ownerOfObservation(observation);
  const live = knownLive(observation, kind, object);
  const step: Write = { verb: "apply", kind, object, owner, live, ...options, ...(events && { events }) };
  if (live.seen !== "present" || !isImmutable(live.object) || !isOurs(observation, live.object) || isSameContent(live.object, object)) return [step];
  return [
    { verb: "delete", kind, name: nameOf(keyOfObject(object)), owner, ...options },
    { ...step, live: { seen: "absent", createOnly: true } },
  ];
}

function isImmutable(object: ConfigMap): boolean {
  return object.immutable === true;
}

/** What others have added does not count; what is ours and no longer wanted does. */
function isSameContent(live: ConfigMap, wanted: ConfigMap): boolean {
  const ours = [documentFile, discoveryFile, nginxConfigFile];
  return ours.every((file) => live.data?.[file] === wanted.data?.[file] && live.binaryData?.[file] === wanted.binaryData?.[file]);
}

/** Takes revoked keys out of documents, but for those that were refused. */
function withdrawalSteps(observation: Observation, withdrawals: readonly Withdrawal[], refused: Moment["refused"]): readonly Write[] {
  return withdrawals
    .filter(({ part }) => !refused.has(part))
    .flatMap(({ configMap, part, events }) => apply(observation, ConfigMap, configMap, { part, input: documentOf(configMap) ?? "", events }));
}

/**
 * Plans for an object that is being deleted. What was published stays unless the spec says otherwise, so that tokens stay verifiable, and everything does
 * that was orphaned: `kubectl delete --cascade=orphan` makes the garbage collector take the owner from it.
 */
function deletionPlan(observation: Observation): JwksPlan {
  const { settings, object, owned } = observation;
  const { uid, finalizers = [] } = object.metadata;
  const isOrphaning = finalizers.includes("orphan");
  const left = owned.filter(({ object: other }) => !isOrphaning && other.metadata.ownerReferences?.some((owner) => owner.uid === uid));
  return { steps: deletionsOf(observation, left, settings.ok && settings.settings.cleanupOnDelete), status: [], release: true };
}

function deletionsOf(observation: Observation, unwanted: Observation["owned"], cleanupOnDelete: boolean): readonly Write[] {
  const owner = ownerOfObservation(observation);
  return unwanted
    .filter(({ object }) => isOurs(observation, object) && (cleanupOnDelete || !isDocumentConfigMap(object)))
    .map(({ kind, object }) => ({ verb: "delete", kind, name: nameOfObject({ object }), owner }));
}

/** A person must put something right first: nothing is written but the status, and documents out of which keys are revoked, which waits for nobody. */
function blocked(observation: Observation, published: JwksCondition, refused: Moment["refused"]): JwksPlan {
  const { object } = observation;
  const before = recoverHistory(undefined, object.status);
  const { thumbprints, revoked } = revocationsOf(observation, before);
  const withdrawals = withdrawalsOf(observation, thumbprints);
  const steps = withdrawalSteps(observation, withdrawals, refused);
  const keys = before.keys.filter(({ thumbprint }) => !thumbprints.has(thumbprint));
  return {
    steps,
    status: [
      reportOf(observation, {
        history: { ...before, keys, revoked },
        published,
        revoked: withdrawalReport(withdrawals, refused) ?? null,
        cacheSeconds: object.status?.cacheSeconds,
        served: undefined,
        signing: undefined,
        nginxConfigUpdated: object.status?.nginxConfigUpdated,
      }),
    ],
    urgent: steps.length > 0,
  };
}

/** What was kept for the object and is no longer wanted, such as nginx's objects under an earlier name. */
function removalsOf(observation: Observation, { configMapName, cleanupOnDelete, nginx }: JwksSettings): readonly Write[] {
  const named = (kind: Kind, name: string): string => `${resourceOf(kind)}/${keyOf({ ...nameOfObject(observation), name })}`;
  const wanted = new Set([
    named(ConfigMap, configMapName),
    ...(nginx ? [named(ConfigMap, nginx.configMapName), named(Deployment, nginx.name), named(Service, nginx.name)] : []),
  ]);
  const unwanted = observation.owned.filter(({ kind, object }) => !wanted.has(`${resourceOf(kind)}/${keyOfObject(object)}`));
  // What does not let itself be removed holds up nothing else.
  return deletionsOf(observation, unwanted, cleanupOnDelete).map((write) => Object.assign(write, { part: `removal of ${inWords(write)}` }));
}

function inWords({ kind, ...write }: Write): string {
  return `${kind.kind} ${write.verb === "delete" ? write.name.name : write.object.metadata.name}`;
}

/** What is said of objects that are no longer wanted and are still there; undefined if there are none. */
function removalReport(removals: readonly Write[], refused: Moment["refused"]): JwksCondition | undefined {
  const messages = removals.flatMap((write) => {
    const refusal = refused.get(write.part ?? "");
    return refusal ? `${inWords(write)} is no longer wanted and cannot be removed: ${refusal.message}` : [];
  });
  return messages.length > 0 ? { status: "False", reason: "RemovalRefused", message: messages.join("; ") } : undefined;
}

// What an object's status says, made from what is published and what stands in the way.

/** A status but for its conditions. */
type JwksFields = Omit<JwksStatus, "conditions">;

/** What the status is made from. */
interface StatusInput {
  readonly history: History;
  readonly cacheSeconds: number | undefined;
  /** The ConfigMap says what the sources say. */
  readonly published: JwksCondition;
  /** Every pod answers with it; absent if none are asked for. */
  readonly served: JwksCondition | undefined;
  /** What is no longer wanted and cannot be removed; absent if there is nothing. */
  readonly left?: JwksCondition | undefined;
  /** Retired keys had to go early, null if not; absent to leave what is said about it. */
  readonly truncated?: JwksCondition | null;
  /** Every revocation means a key; null if nothing is revoked. */
  readonly revoked: JwksCondition | null;
  readonly signing: Publication["signing"];
  /** When nginx's configuration was last changed; absent if there is none. */
  readonly nginxConfigUpdated: string | undefined;
}

/** The whole status. Equal input gives an equal report, so that nothing is written when nothing happened. */
function reportOf({ kind, object }: Observation, input: StatusInput): StatusReport<JwksFields> {
  const { history, cacheSeconds, published, served, left, truncated, revoked, signing, nginxConfigUpdated } = input;
  const { generation } = object.metadata;
  const { jwksVerified, lastKeyID } = object.status ?? {};
  const nextRemovalMs = nextRemovalOf(history.keys);
  const lastKey = signing ? signingKeyOf(history, signing) : history.keys.find(({ jwk }) => jwk.kid === lastKeyID)?.jwk.kid;
  // A rollout that goes well is a part of every rotation, and nobody's concern.
  const blocking = [published, served, left].find((condition) => condition?.status === "False" && condition.reason !== "RollingOut");
  return {
    regarding: { kind, object },
    conditions: {
      Ready: blocking ?? { status: "True", reason: "Ready", message: published.message },
      Published: published,
      Served: served ?? null,
      Revoked: revoked,
      ...(truncated !== undefined && { Truncated: truncated }),
    },
    fields: {
      ...(generation !== undefined && { observedGeneration: generation }),
      keyCount: history.keys.length,
      keys: keyStatusesOf(history),
      ...(history.revoked.length > 0 && { revoked: [...history.revoked] }),
      ...(history.revision > 0 && { revision: history.revision }),
      ...(cacheSeconds !== undefined && { cacheSeconds }),
      ...(history.updatedAtMs !== undefined && { lastUpdateTime: timestamp(history.updatedAtMs) }),
      ...(lastKey !== undefined && { lastKeyID: lastKey }),
      ...(nextRemovalMs !== undefined && { nextRemoval: timestamp(nextRemovalMs) }),
      ...(nginxConfigUpdated !== undefined && { nginxConfigUpdated }),
      ...(jwksVerified !== undefined && { jwksVerified }),
    },
    onlyIfUnchanged: true,
  };
}

/** The `kid` of the key that signs: what the source holds, published or about to be; while that cannot be read, what it held last. */
function signingKeyOf({ keys, pending }: History, { name, keys: held }: NonNullable<Publication["signing"]>): string | undefined {
  const holds = new Set(held?.map(entryId));
  const isSigning = (key: PublishedKey): boolean => (held ? holds.has(entryId(key)) : key.standing.state === "Active" && key.source === name);
  return (keys.find(isSigning) ?? pending.find((key) => holds.has(entryId(key))))?.jwk.kid;
}
