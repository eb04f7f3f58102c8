// What is to be done for one object: a pure function of what was observed and the time.
import { apply, ConfigMap, type Notice, type Plan, remove, type Write } from "@keyturn/runtime";
import { keyturn } from "../../operator-identity.ts";
import type { JwksStatus } from "./api.ts";
import { isDocumentConfigMap } from "./document-config-map.ts";
import { recoverHistory } from "./history-record.ts";
import type { KeyChange } from "./key-history.ts";
import { type Claim, claimKey, conflictsOf } from "./name-claims.ts";
import { claimsOf, nameOfObject, type Observation, ownerOfObservation } from "./observation.ts";
import { publicationOf } from "./publication.ts";
import type { ConditionReason, KeyReason } from "./reasons.ts";
import { servingOf } from "./serving.ts";
import type { JwksSettings } from "./settings.ts";
import { statusOf, type Verdict } from "./status.ts";

/** A plan, and whether it may wait. */
export interface JwksPlan extends Plan<JwksStatus> {
  /** True if a key is to be withdrawn, for which no limit counts. */
  readonly urgent: boolean;
}

/**
 * Plans for an object that is there to stay: first the document, then nginx, then what is no longer wanted.
 * A name that is taken holds up what should have it, and no more: keys are rotated and revoked whoever has nginx's names.
 */
export function planJwks(observation: Observation, nowMs: number): JwksPlan {
  const { settings } = observation;
  if (!settings.ok) return hindered(observation, { holds: false, reason: "InvalidSpec", message: settings.message }, nowMs);
  const claims = claimsOf(nameOfObject(observation), settings.settings, observation.live);
  const [documentClaim, ...nginxClaims] = claims;
  const conflict = conflictOver(claims, observation);
  if (conflict && conflictOver([documentClaim], observation)) return hindered(observation, conflict, nowMs);

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
      published: publication.verdict,
      served: serving.verdict,
      truncated: publication.truncated,
      nginxConfigUpdated: serving.nginxConfigUpdated,
    }),
    notices: [
      ...publication.changes.map(noticeOfChange),
      ...noticesOfVerdict(observation, "Published", publication.verdict),
      ...(serving.verdict ? noticesOfVerdict(observation, "Served", serving.verdict) : []),
    ],
    nextAtMs: publication.nextAtMs,
    urgent: publication.changes.some(({ type }) => type === "Revoked"),
  };
}

/** Plans for an object that is being deleted. What was published stays unless the spec says otherwise, so that tokens stay verifiable. */
export function planJwksDeletion(
  { owned }: Pick<Observation, "owned">,
  { cleanupOnDelete }: Pick<JwksSettings, "cleanupOnDelete">,
): readonly Write[] {
  return owned
    .filter(({ object }) => cleanupOnDelete || !isDocumentConfigMap(object))
    .map(({ kind, object }) => remove(kind, nameOfObject({ object })));
}

/** Something must be put right by a person first: nothing is written but the status. */
function hindered(observation: Observation, published: Verdict, nowMs: number): JwksPlan {
  const { object } = observation;
  return {
    writes: [],
    status: statusOf({
      previous: object.status,
      generation: object.metadata.generation,
      nowMs,
      history: recoverHistory(undefined, object.status),
      published,
      served: undefined,
      truncated: undefined,
      nginxConfigUpdated: object.status?.nginxConfigUpdated,
    }),
    notices: noticesOfVerdict(observation, "Published", published),
    nextAtMs: undefined,
    urgent: false,
  };
}

/** What is said if any of the names is somebody else's. */
function conflictOver(claims: readonly Claim[], observation: Observation): Verdict | undefined {
  const owner = ownerOfObservation(observation);
  const createdAt = observation.object.metadata.creationTimestamp ?? "";
  const conflicts = conflictsOf(claims, { operator: keyturn, owner, createdAt, rivals: observation.rivals });
  if (conflicts.length === 0) return undefined;
  return { holds: false, reason: "Conflict", message: `${conflicts.join("; ")}; nothing was touched: remove it, or choose another name` };
}

/** What was kept for the object and is no longer wanted, such as nginx's objects under an earlier name. */
function removalsOf(observation: Observation, settings: JwksSettings): readonly Write[] {
  const wanted = new Set(claimsOf(nameOfObject(observation), settings).map(claimKey));
  const unwanted = observation.owned.filter(({ kind, object }) => !wanted.has(claimKey({ kind, name: nameOfObject({ object }) })));
  return planJwksDeletion({ owned: unwanted }, settings);
}

/** What passes by itself is not worth an Event. */
const passing: ReadonlySet<ConditionReason> = new Set(["UpdateDeferred", "PodsNotAvailable"]);

/** Told once: for as long as the condition says the same, nothing is new. */
function noticesOfVerdict({ object }: Observation, condition: string, { holds, reason, message }: Verdict): readonly Notice[] {
  const before = object.status?.conditions?.find(({ type }) => type === condition);
  if (holds || passing.has(reason) || (before?.reason === reason && before.message === message)) return [];
  return [{ type: "Warning", reason, message }];
}

const changeWords: Readonly<Record<KeyChange["type"], { readonly type: Notice["type"]; readonly reason: KeyReason; readonly words: string }>> = {
  Added: { type: "Normal", reason: "KeyAdded", words: "is published" },
  Renewed: { type: "Normal", reason: "KeyRenewed", words: "is published with a renewed certificate" },
  Retired: { type: "Normal", reason: "KeyRetired", words: "was replaced and is kept for a while" },
  Revived: { type: "Normal", reason: "KeyRevived", words: "is in use again" },
  Removed: { type: "Normal", reason: "KeyRemoved", words: "is no longer published" },
  Revoked: { type: "Warning", reason: "KeyRevoked", words: "was revoked and is no longer published" },
  Dropped: { type: "Warning", reason: "KeyDropped", words: "was removed early to make room" },
};

function noticeOfChange({ type, kid, source }: KeyChange): Notice {
  const { words, ...notice } = changeWords[type];
  return { type: notice.type, reason: notice.reason, message: `key ${kid}${source ? ` of Secret ${source}` : ""} ${words}` };
}
