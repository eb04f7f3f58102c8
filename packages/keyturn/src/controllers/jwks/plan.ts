// What is to be done for one object: a pure function of what was observed and the time.
import { apply, ConfigMap, type Notice, type Plan, remove, type Write } from "@keyturn/runtime";
import { keyturn } from "../../operator-identity.ts";
import type { JwksStatus } from "./api.ts";
import { isDocumentConfigMap } from "./document-config-map.ts";
import { recoverHistory } from "./history-record.ts";
import type { KeyChange } from "./key-history.ts";
import { claimKey, conflictsOf } from "./name-claims.ts";
import { claimsOf, nameOfObject, type Observation, ownerOfObservation } from "./observation.ts";
import { publicationOf } from "./publication.ts";
import type { KeyReason } from "./reasons.ts";
import { servingOf } from "./serving.ts";
import type { JwksSettings } from "./settings.ts";
import { statusOf, type Verdict } from "./status.ts";

/** A plan, and whether it may wait. */
export interface JwksPlan extends Plan<JwksStatus> {
  /** True if a key is to be withdrawn, for which no limit counts. */
  readonly urgent: boolean;
}

/** Plans for an object that is there to stay: first the document, then nginx, then what is no longer wanted. */
export function planJwks(observation: Observation, nowMs: number): JwksPlan {
  const { settings } = observation;
  if (!settings.ok) return hindered(observation, { holds: false, reason: "InvalidSpec", message: settings.message }, nowMs);
  const conflicts = conflictsWith(observation, settings.settings);
  if (conflicts.length > 0) {
    const message = `${conflicts.join("; ")}; nothing was touched: remove it, or choose another name`;
    return hindered(observation, { holds: false, reason: "Conflict", message }, nowMs);
  }

  const publication = publicationOf(observation, settings.settings, nowMs);
  const hasDocument = publication.configMap !== undefined || observation.live.configMap !== undefined;
  const serving = servingOf(observation, settings.settings, { hasDocument, nowMs });
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
    notices: [...publication.changes.map(noticeOfChange), ...noticesOfVerdict(observation, publication.verdict)],
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
    notices: noticesOfVerdict(observation, published),
    nextAtMs: undefined,
    urgent: false,
  };
}

function conflictsWith(observation: Observation, settings: JwksSettings): readonly string[] {
  const owner = ownerOfObservation(observation);
  const createdAt = observation.object.metadata.creationTimestamp ?? "";
  return conflictsOf(claimsOf(owner.name, settings, observation.live), { operator: keyturn, owner, createdAt, rivals: observation.rivals });
}

/** What was kept for the object and is no longer wanted, such as nginx's objects under an earlier name. */
function removalsOf(observation: Observation, settings: JwksSettings): readonly Write[] {
  const wanted = new Set(claimsOf(nameOfObject(observation), settings).map(claimKey));
  const unwanted = observation.owned.filter(({ kind, object }) => !wanted.has(claimKey({ kind, name: nameOfObject({ object }) })));
  return planJwksDeletion({ owned: unwanted }, settings);
}

/** Told once: for as long as the condition says the same, nothing is new. */
function noticesOfVerdict({ object }: Observation, { holds, reason, message }: Verdict): readonly Notice[] {
  const before = object.status?.conditions?.find(({ type }) => type === "Published");
  if (holds || reason === "UpdateDeferred" || (before?.reason === reason && before.message === message)) return [];
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
