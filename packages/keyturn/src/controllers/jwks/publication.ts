// The published half of a plan: which keys the ConfigMap is to hold, and whether it may be changed now.
import { type ConfigMap, earliest, formatDuration, ownerReferenceTo } from "@keyturn/runtime";
import { documentConfigMap, fitsConfigMap, publishesSame } from "./document-config-map.ts";
import { type History, recoverHistory, timestamp } from "./history-record.ts";
import { problemWithJwks, renderJwks } from "./jwks-document.ts";
import { advanceHistory, type KeyChange } from "./key-history.ts";
import { nameOfObject, type Observation } from "./observation.ts";
import { nextUpdateAt } from "./rate-limit.ts";
import type { JwksSettings } from "./settings.ts";
import { readSourceKey } from "./source-key.ts";
import type { Verdict } from "./status.ts";

/** What becomes of the document. */
export interface Publication {
  /** What is published once the ConfigMap is written. */
  readonly history: History;
  /** The ConfigMap to apply; undefined to leave what is there, or nothing, as it is. */
  readonly configMap: ConfigMap | undefined;
  readonly verdict: Verdict;
  /** Whether retired keys had to go early; undefined if the document does not change. */
  readonly truncated: Verdict | undefined;
  /** What happens to keys by this write. */
  readonly changes: readonly KeyChange[];
  /** When time alone makes it different. */
  readonly nextAtMs: number | undefined;
}

/** Decides about the document. Nothing that is published is lost on the way: on any doubt the ConfigMap stays as it is. */
export function publicationOf(observation: Observation, settings: JwksSettings, nowMs: number): Publication {
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
  const sourcesVerdict = (history: History): Verdict => {
    const [first] = problems;
    if (first) {
      const stays = history.keys.length > 0 ? "; what was published stays published" : "";
      return { holds: false, reason: first.reason, message: problems.map(({ name, message }) => `Secret ${name}: ${message}`).join("; ") + stays };
    }
    if (history.keys.length === 0)
      return { holds: false, reason: "AllKeysRevoked", message: "every key is revoked; put a new certificate into the Secret" };
    return { holds: true, reason: "Published", message: `${countOf(history)} in ConfigMap ${settings.configMapName}` };
  };
  const left = (verdict: Verdict, nextAtMs: number | undefined): Publication => ({
    history: before,
    configMap: undefined,
    verdict,
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
  if (before.revision === 0 && step.keys.length === 0) return left(sourcesVerdict(before), nextAtMs);

  const same: History = { ...before, keys: step.keys };
  if (live.configMap && publishesSame(live.configMap, build(same))) {
    return { history: same, configMap: build(same), verdict: sourcesVerdict(same), truncated: undefined, changes: [], nextAtMs };
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
    const verdict = problems.length > 0 ? sourcesVerdict(before) : { holds: false, reason: "UpdateDeferred" as const, message };
    return left(verdict, earliest([allowedAtMs, ...expiries]));
  }

  const history: History = { revision: before.revision + 1, updatedAtMs: nowMs, keys: step.keys };
  const dropped = step.changes.filter(({ type }) => type === "Dropped").length;
  const truncated: Verdict = {
    holds: dropped > 0 && history.keys.length < (settings.maxKeys ?? Number.POSITIVE_INFINITY),
    reason: "DocumentTooLarge",
    message: `${dropped} retired keys were removed early because all keys together do not fit into a ConfigMap`,
  };
  return { history, configMap: build(history), verdict: sourcesVerdict(history), truncated, changes: step.changes, nextAtMs };
}

function countOf({ keys }: History): string {
  return keys.length === 1 ? "1 key" : `${keys.length} keys`;
}
