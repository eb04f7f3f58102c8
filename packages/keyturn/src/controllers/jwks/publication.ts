// The published half of a plan: which keys the JWKS document is to hold, what is written down before it is published, and whether it may be changed now.
import {
  type Blocker,
  type ConfigMap,
  earliest,
  formatDuration,
  type Moment,
  ownerReferenceTo,
  type PlannedEvent,
  type Stored,
} from "@keyturn/runtime";
import { revokeAnnotation } from "./api.ts";
import {
  configMapRooms,
  documentConfigMap,
  documentOf,
  documentWithout,
  entriesOf,
  type FoundHistory,
  type History,
  historyOfConfigMap,
  isDocumentConfigMap,
  publishesSame,
  recoverHistory,
  timestamp,
  weaknessOf,
} from "./config-map.ts";
import { discoveryFiles, entryId, type KeyEntry, problemWithJwks, renderJwks } from "./jwk.ts";
import { advanceHistory, type HistoryStep, type KeyChange, type PendingKey, type PublishedKey, type Source } from "./key-history.ts";
import { isOurs, nameOfObject, type Observation, ownDocument } from "./observe.ts";
import type { JwksCondition, KeyReason } from "./reasons.ts";
import { resolveRevocations, type Revocations, revokedNames } from "./revocations.ts";
import type { JwksSettings } from "./settings.ts";
import { type ReadSource, sourcesOf, wordsOfSource } from "./sources.ts";
import { limits } from "../../limits.ts";

/** The document's part of a plan: what is wrong with it must not keep the status from telling, nor nginx from serving. */
export const documentPart = "document";

/** What becomes of the JWKS document. */
export interface Publication {
  /** What is published and written down once all is done. */
  readonly history: History;
  /** The ConfigMap to apply; undefined to leave what is there, or nothing, as it is. */
  readonly configMap: ConfigMap | undefined;
  readonly published: JwksCondition;
  /** Until now the ConfigMap held the very document that was last written: nobody was given another. */
  readonly isIntact: boolean;
  /** Whether retired keys had to go early, null if not; undefined if the JWKS document does not change. */
  readonly truncated?: JwksCondition | null;
  /** Whether every revocation means a key; null if nothing is revoked. */
  readonly revoked: JwksCondition | null;
  /** Thumbprints of the keys that go out of every other document too. */
  readonly withdrawn: ReadonlySet<string>;
  /** The source whose key signs. */
  readonly signing: Pick<Source, "name" | "keys"> | undefined;
  /** What happens to keys by this write. */
  readonly changes: readonly KeyChange[];
  /** What happens without one. */
  readonly events: readonly PlannedEvent[];
  /** When time alone makes it different. */
  readonly nextAtMs: number | undefined;
  /** No limit may hold it up: a key that signs is not published, or one that is revoked is. */
  readonly urgent: boolean;
}

/** The run after what was to be written down has been; it waits for its caches by itself. */
const nextRunMs = 20;

/**
 * Decides about the JWKS document.
 *
 * Guarantees that every key which a source was seen to hold is published or written down in the status once the run has ended, and that a key is
 * written down there before it is published; so a document that says more than the status was written by somebody else. On any doubt the ConfigMap stays
 * as it is, but for keys that are revoked.
 */
export function publicationOf(observation: Observation, settings: JwksSettings, { nowMs, clockSkew, refused }: Moment): Publication {
  const { object } = observation;
  const live = ownDocument(observation, settings.configMapName);
  const before = recoverHistory(live, object.status);
  const sources = sourcesOf(observation, settings, { before, nowMs });
  const revocations = revocationsOf(observation, before, sources);
  const step = advanceHistory(before, {
    sources,
    rules: {
      oldKeys: settings.oldKeys,
      revoked: revocations.thumbprints,
      rooms: [{ most: limits.publishedKeys, takenBy: () => 1 }, ...configMapRooms],
      maxKeys: settings.maxKeys,
      frozen: clockSkew !== undefined,
    },
    nowMs,
  });
  const expiries = sources.flatMap(({ keys = [] }) => keys.flatMap(({ notAfterMs = [] }) => notAfterMs));
  const additions = additionsOf(step, before);
  const announced = byEntry(before.pending);
  const pending = additions.map((key) => announced.get(entryId(key)) ?? key);
  const wanted = byEntry(step.keys);
  const kept = before.keys.map((key) => longerKept(key, wanted.get(entryId(key))));
  const unrevoked = kept.filter(({ thumbprint }) => !revocations.thumbprints.has(thumbprint));
  const revived = step.changes.filter(({ type }) => type === "Revived").map(eventOfChange);
  const report = (history: History): JwksCondition => publishedReport(history, { sources, revocations, settings, clockSkew });
  const common = {
    revoked: revokedReport(revocations),
    withdrawn: revocations.thumbprints,
    signing: sources[0],
    isIntact: live !== undefined && documentOf(live) === renderJwks(before.keys.map(({ jwk }) => jwk)),
    events: [],
    changes: [],
    urgent: false,
  };
  /** The ConfigMap stays as it is; what is to be published, and for how much longer, is written down. */
  const left = (condition: JwksCondition, nextAtMs: number | undefined): Publication => ({
    ...common,
    history: { ...before, keys: live ? kept : unrevoked, pending, revoked: revocations.revoked },
    events: revived,
    configMap: undefined,
    published: condition,
    nextAtMs,
  });
  const build = (history: History): ConfigMap =>
    documentConfigMap(history, {
      name: { ...nameOfObject(observation), name: settings.configMapName },
      live,
      owner: settings.cleanupOnDelete ? ownerReferenceTo(observation.kind, object) : undefined,
      files: discoveryFiles(settings.issuer, history.keys),
    });
  const write = (after: Pick<HistoryStep, "keys" | "changes">, nextAtMs: number | undefined): Publication => {
    const history: History = {
      revision: before.revision + 1,
      updatedAtMs: nowMs,
      keys: after.keys,
      pending: after === step ? [] : pending,
      revoked: revocations.revoked,
    };
    return {
      ...common,
      history,
      configMap: build(history),
      published: report(history),
      truncated: truncatedReport(after.changes, history, settings),
      changes: after.changes,
      nextAtMs,
      urgent: true,
    };
  };
  const nextAtMs = earliest([step.nextAtMs, ...expiries]);

  // Nothing was ever published, and there is nothing to publish.
  if (before.origin === "nothing" && step.keys.length === 0) return left(report(before), nextAtMs);

  const refusal = refused.get(documentPart);
  if (refusal) return left(refusalReport(refusal), earliest([refusal.untilMs, ...expiries]));

  // A revocation waits for nobody, and for nothing that has to be written down first.
  const isRevoking = step.changes.some(({ type }) => type === "Revoked");
  const unannounced = additions.some((key) => !announced.has(entryId(key)));
  const hasNews = before.origin !== "nothing" && (before.origin !== "status" || unannounced || kept.some((key, index) => key !== before.keys[index]));
  if (isRevoking && hasNews && before.origin === "status") {
    const changes = step.changes.filter(({ type }) => type === "Revoked" || type === "Revived");
    return write({ keys: unrevoked, changes }, nowMs + nextRunMs);
  }
  if (hasNews) {
    return {
      ...left({ status: "False", reason: "Publishing", message: "new keys are written down, and published next" }, nowMs + nextRunMs),
      history: { ...before, keys: kept, pending, revoked: revocations.revoked },
      events: [...revived, ...adoptionEvents(before)],
    };
  }

  const same: History = { ...before, keys: step.keys, pending, revoked: revocations.revoked };
  if (live && additions.length === 0 && publishesSame(live, build(same))) {
    return { ...common, history: same, configMap: build(same), published: report(same), nextAtMs };
  }

  const written = live && alreadyWritten(live, before, step);
  if (written) {
    const history: History = { ...written, pending: [], revoked: revocations.revoked };
    return { ...common, isIntact: true, history, configMap: build(history), published: report(history), nextAtMs };
  }

  const problem = problemWithJwks(renderJwks(step.keys.map(({ jwk }) => jwk)));
  if (problem !== undefined)
    return left({ status: "False", reason: "DocumentRefused", message: `${problem}; what was published stays published` }, nextAtMs);

  // A change of what we published has to wait its turn. What somebody deleted or edited is put right at once, and no key that signs, or is revoked, waits.
  const untouched = live !== undefined && publishesSame(live, build({ ...before, pending: [] }));
  const isUrgent = isRevoking || additions.length > 0 || JSON.stringify(before.revoked) !== JSON.stringify(revocations.revoked);
  const allowedAtMs = untouched && !isUrgent ? nextUpdateAt(before.updatedAtMs, observation.configMapIntervalMs, nowMs) : nowMs;
  if (allowedAtMs > nowMs) {
    const message = `a change waits until ${timestamp(allowedAtMs)}: the ConfigMap is changed at most once in ${formatDuration(observation.configMapIntervalMs)}`;
    const problems = report(before);
    const deferred: JwksCondition = { status: "False", reason: "UpdateDeferred", message };
    return left(problems.status === "False" ? problems : deferred, earliest([allowedAtMs, ...expiries]));
  }
  return { ...write(step, nextAtMs), urgent: isUrgent };
}

/**
 * When the ConfigMap may change next, by the API server's clock, because the last change is remembered across restarts.
 * A last change that lies in the future was dated by a clock that has been set back since: it holds up nothing.
 */
export function nextUpdateAt(lastUpdateMs: number | undefined, intervalMs: number, nowMs: number): number {
  return lastUpdateMs === undefined || lastUpdateMs > nowMs ? nowMs : lastUpdateMs + intervalMs;
}

/** A document out of which revoked keys go. */
export interface Withdrawal {
  readonly configMap: ConfigMap;
  /** Its part of a plan: what is wrong with one document holds up neither the others nor the status. */
  readonly part: string;
  readonly events: readonly PlannedEvent[];
}

/** Documents of the object, under whatever names, out of which revoked keys go; but for the one that `except` names, which is written as a whole. */
export function withdrawalsOf(observation: Observation, thumbprints: ReadonlySet<string>, except?: string): readonly Withdrawal[] {
  if (thumbprints.size === 0) return [];
  return ownDocuments(observation).flatMap((live) => {
    const { name } = live.metadata;
    const without = name === except ? undefined : documentWithout(live, thumbprints, observation.object.metadata.uid);
    if (!without) return [];
    const events = without.kids.map((kid) => eventOfChange({ type: "Revoked", kid, source: "" }));
    return { configMap: without.configMap, part: `withdrawal from ${name}`, events };
  });
}

/** The documents of the object under all names that they were published under. */
function ownDocuments(observation: Observation): readonly Stored<ConfigMap>[] {
  return observation.owned.flatMap(({ object }) => (isDocumentConfigMap(object) && isOurs(observation, object) ? [object] : []));
}

/** What is revoked, as far as that is known without sources. */
export function revocationsOf(observation: Observation, before: History, sources: readonly Pick<Source, "keys" | "passed">[] = []): Revocations {
  return resolveRevocations(revokedNames(observation.object.metadata.annotations?.[revokeAnnotation]), {
    known: [...before.keys, ...before.pending, ...sources.flatMap(({ keys = [], passed }) => [...keys, ...passed])],
    remembered: before.revoked,
    published: () => ownDocuments(observation).flatMap((document) => entriesOf(documentOf(document) ?? "")),
  });
}

/** By so much a document's dates may differ from those that it would get now, to be the one that was written before a run was cut. */
const cutRunMs = 600_000;

/**
 * What a run published that was cut before it could say so: the next revision, with the very keys that are wanted, and about the same dates. Believing it saves
 * a write and the same Events again; a document that somebody forged gains nothing by being so much like ours.
 */
function alreadyWritten(live: ConfigMap, { revision }: History, step: HistoryStep): FoundHistory | undefined {
  const copy = historyOfConfigMap(live);
  if (copy?.revision !== revision + 1 || copy.keys.length !== step.keys.length) return undefined;
  const keys = copy.keys.map((key, index) => ({ ...key, availableSinceMs: step.keys[index]?.availableSinceMs }));
  const isSame = keys.every((key, index) => {
    const wanted = step.keys[index];
    if (!wanted || JSON.stringify(wanted.jwk) !== JSON.stringify(key.jwk) || wanted.source !== key.source) return false;
    const [left, right] = [key.standing, wanted.standing];
    const isNear = (leftMs: number, rightMs: number): boolean => Math.abs(leftMs - rightMs) <= cutRunMs;
    if (left.state === "Active" || right.state === "Active") return left.state === right.state && isNear(key.sinceMs, wanted.sinceMs);
    return isNear(left.replacedAtMs, right.replacedAtMs) && isNear(left.removeAtMs, right.removeAtMs);
  });
  return isSame ? { ...copy, keys } : undefined;
}

/** A key that was retiring as it is now, if it is in use again or stays for longer: that must not be forgotten, whatever becomes of the document. */
function longerKept(key: PublishedKey, now: PublishedKey | undefined): PublishedKey {
  if (key.standing.state !== "Retiring") return key;
  return now && (now.standing.state === "Active" || now.standing.removeAtMs > key.standing.removeAtMs) ? now : key;
}

/** By what an entry is told apart by; of two, the first. */
function byEntry<K extends KeyEntry>(keys: readonly K[]): ReadonlyMap<string, K> {
  return new Map(keys.toReversed().map((key) => [entryId(key), key]));
}

/** The keys that are to be published and are not yet. */
function additionsOf({ keys }: HistoryStep, before: History): readonly PendingKey[] {
  const published = new Set(before.keys.map(entryId));
  return keys
    .filter((key) => !published.has(entryId(key)))
    .map(({ jwk, thumbprint, notAfterMs, source, sinceMs }) => ({ jwk, thumbprint, notAfterMs, source, sinceMs }));
}

// What is said of it.

function publishedReport(
  history: History,
  {
    sources,
    revocations: { thumbprints },
    settings,
    clockSkew,
  }: {
    readonly sources: readonly ReadSource[];
    readonly revocations: Revocations;
    readonly settings: JwksSettings;
    readonly clockSkew: Blocker<"ClockSkew"> | undefined;
  },
): JwksCondition {
  const problems = sources.flatMap(({ name, problem }) => (problem ? [{ name, ...problem }] : []));
  const [first] = problems;
  if (first) {
    const stays = history.keys.length > 0 ? "; what was published stays published" : "";
    return {
      status: "False",
      reason: first.reason,
      message: problems.map(({ name, message }) => `${wordsOfSource(name)}: ${message}`).join("; ") + stays,
    };
  }
  if (history.keys.length === 0)
    return { status: "False", reason: "AllKeysRevoked", message: "every key is revoked; put a new certificate into the Secret" };
  const [signing] = sources;
  if (signing?.keys?.some(({ thumbprint }) => thumbprints.has(thumbprint))) {
    const message = `the key in Secret ${signing.name} is revoked: tokens that it signs are refused; put a new certificate into the Secret`;
    return { status: "False", reason: "SigningKeyRevoked", message };
  }
  const count = history.keys.length === 1 ? "1 key" : `${history.keys.length} keys`;
  const frozen = clockSkew ? `; none is removed: ${clockSkew.message}` : "";
  return { status: "True", reason: "Published", message: `${count} in ConfigMap ${settings.configMapName}${frozen}` };
}

/** What was refused is said in the words of whoever refused it. */
function refusalReport({ reason, message }: Blocker): JwksCondition {
  return { status: "False", reason, message };
}

function revokedReport({ unknown, revoked, unremembered, thumbprints }: Revocations): JwksCondition | null {
  const nothing =
    unknown.length > 0 ? `nothing is known by ${unknown.join(", ")}: it is no kid, thumbprint or certificate of a key that was published here; ` : "";
  if (unremembered > 0) {
    const message = `all ${thumbprints.size} keys are withdrawn, but ${unremembered} names are more than are remembered, and mean nothing once their certificates are gone; take names of keys out of ${revokeAnnotation} that no Secret holds; ${nothing}${revoked.length} names are remembered`;
    return { status: "False", reason: "RevocationsTooMany", message };
  }
  if (unknown.length > 0) return { status: "False", reason: "RevocationUnknown", message: `${nothing}${revoked.length} other names are revoked` };
  if (revoked.length === 0) return null;
  const keys = thumbprints.size;
  return { status: "True", reason: "KeysRevoked", message: `${keys === 1 ? "1 key is" : `${keys} keys are`} revoked` };
}

/** What is said of documents out of which revoked keys could not be taken; undefined if there are none. */
export function withdrawalReport(withdrawals: readonly Withdrawal[], refused: Moment["refused"]): JwksCondition | undefined {
  const messages = withdrawals.flatMap(({ configMap, part }) => {
    const refusal = refused.get(part);
    return refusal ? `revoked keys are still in ConfigMap ${configMap.metadata.name}: ${refusal.message}` : [];
  });
  return messages.length > 0 ? { status: "False", reason: "WithdrawalRefused", message: messages.join("; ") } : undefined;
}

function truncatedReport(
  changes: readonly KeyChange[],
  { keys }: History,
  { maxKeys = Number.POSITIVE_INFINITY }: JwksSettings,
): JwksCondition | null {
  const dropped = changes.filter(({ type }) => type === "Dropped").length;
  if (dropped === 0 || keys.length >= maxKeys) return null;
  const message = `${dropped} retired keys were removed early because all keys together do not fit into a ConfigMap`;
  return { status: "True", reason: "DocumentTooLarge", message };
}

/** Of a document that was taken over: what Keyturn would not publish by itself, and what it cannot go on publishing. */
function adoptionEvents({ origin, keys, leftOut }: FoundHistory): readonly PlannedEvent[] {
  if (origin !== "foreignDocument") return [];
  const weak = keys.flatMap(({ jwk, thumbprint }): readonly PlannedEvent[] => {
    const weakness = weaknessOf({ jwk });
    if (weakness === undefined) return [];
    return [{ type: "Warning", reason: "KeyAdopted", message: `key ${jwk.kid} (${thumbprint}) was taken over and stays for its time: ${weakness}` }];
  });
  const words =
    leftOut === 1
      ? "1 entry of the document verifies no signature, or is one too many, and is"
      : `${leftOut} entries of the document verify no signature, or are too many, and are`;
  return leftOut === 0 ? weak : [...weak, { type: "Warning", reason: "EntryLeftOut", message: `${words} no longer published` }];
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

/** What happened to a key, for people. */
export function eventOfChange({ type, kid, source }: KeyChange): PlannedEvent {
  const { words, ...event } = changeWords[type];
  return { type: event.type, reason: event.reason, message: `key ${kid}${source ? ` of ${wordsOfSource(source)}` : ""} ${words}` };
}
