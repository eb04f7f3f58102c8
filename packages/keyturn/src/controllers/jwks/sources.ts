// The sources of an object, read: the keys in its Secrets and in ConfigMaps of others, what those held since the last run, and what is wrong with them.
import type { PlannedEvent } from "@keyturn/runtime";
import { limits } from "../../limits.ts";
import { mergedLabel } from "./api.ts";
import { readSourceKey, type SourceResult } from "./certificates.ts";
import { entriesOf, type History } from "./config-map.ts";
import type { KeyEntry } from "./jwk.ts";
import type { Source } from "./key-history.ts";
import type { Observation } from "./observe.ts";
import type { KeyReason } from "./reasons.ts";
import type { JwksSettings } from "./settings.ts";

/** A source with what is wrong with it. */
export interface ReadSource extends Source {
  readonly problem: Extract<SourceResult, { type: "refused" }> | undefined;
}

/** All sources of an object, the one whose key signs first. */
export function sourcesOf(
  { secrets, passed, merged, passedMerged }: Observation,
  settings: JwksSettings,
  { before, nowMs }: { readonly before: History; readonly nowMs: number },
): readonly ReadSource[] {
  const own = settings.sources.map((name) => {
    const result = readSourceKey(secrets.get(name), settings, nowMs);
    const before = (passed.get(name)?.states ?? []).map((secret) => readSourceKey(secret, settings, nowMs));
    return {
      name,
      keys: result.type === "key" ? [result.key] : undefined,
      problem: result.type === "refused" ? result : undefined,
      passed: before.flatMap((each) => (each.type === "key" ? each.key : [])),
    };
  });
  const named = [...own.flatMap(({ keys = [], passed: gone }) => [...keys, ...gone]), ...before.keys, ...before.pending];
  const others = settings.mergedConfigMaps.map((name) => {
    const source = mergedSource(name, merged.get(name), passedMerged.get(name)?.states);
    const left = withoutNames(source, named);
    named.push(...(left.keys ?? []));
    return left;
  });
  return [...own, ...others];
}

/**
 * A source of others without the keys that it calls as another key is called already: one of the two would be lost, or both to verifiers that take
 * neither. A name that it has given to another key itself is its own affair.
 */
function withoutNames(source: ReadSource, named: readonly (KeyEntry & { readonly source?: string })[]): ReadSource {
  const taken = Map.groupBy(
    named.filter((key) => key.source !== source.name),
    ({ jwk: { kid } }) => kid,
  );
  const isFree = ({ jwk: { kid }, thumbprint }: KeyEntry): boolean => taken.get(kid)?.some((key) => key.thumbprint === thumbprint) !== false;
  const leftOut = (source.keys ?? []).filter((key) => !isFree(key));
  if (leftOut.length === 0) return { ...source, passed: source.passed.filter(isFree) };
  const message = `other keys are published as ${leftOut
    .map(({ jwk: { kid } }) => kid.slice(0, 100))
    .slice(0, 3)
    .join(", ")} already; its own keys of ${leftOut.length === 1 ? "this name are" : "these names are"} left out`;
  return {
    ...source,
    keys: source.keys?.filter(isFree),
    passed: source.passed.filter(isFree),
    problem: source.problem ?? { type: "refused", reason: "SourceInvalid", message },
  };
}

/** What stands before the name of a ConfigMap that keys come from; no Secret's name has a slash. */
const configMapPrefix = "configmap/";

/** Names of Secrets and of ConfigMaps. */
export interface SourceNames {
  readonly secrets: readonly string[];
  readonly configMaps: readonly string[];
}

/** The names behind what the status calls sources. */
export function namesOfSources(sources: readonly string[]): SourceNames {
  const { secrets = [], configMaps = [] } = Object.groupBy(new Set(sources), (source) =>
    source.startsWith(configMapPrefix) ? "configMaps" : "secrets",
  );
  return { secrets: secrets.filter((name) => name !== ""), configMaps: configMaps.map((source) => source.slice(configMapPrefix.length)) };
}

/** A ConfigMap of others, with all its keys under their own names. */
function mergedSource(name: string, text: string | undefined, before: readonly string[] = []): ReadSource {
  const keys = entriesOf(text ?? "").slice(0, limits.mergedKeys + 1);
  const source = { name: configMapPrefix + name, passed: before.map(entriesOf).flatMap((each) => (each.length > limits.mergedKeys ? [] : each)) };
  if (text === undefined) {
    const message = `there is none with the label ${mergedLabel}: "true"`;
    return { ...source, keys: undefined, problem: { type: "refused", reason: "SourceNotFound", message } };
  }
  if (keys.length === 0) {
    const message = `it holds no JWKS with a key for signatures under jwks.json, or one of more than ${limits.mergedBytes} bytes`;
    return { ...source, keys: undefined, problem: { type: "refused", reason: "SourceInvalid", message } };
  }
  if (keys.length > limits.mergedKeys) {
    const message = `its JWKS has more than ${limits.mergedKeys} keys`;
    return { ...source, keys: undefined, problem: { type: "refused", reason: "SourceInvalid", message } };
  }
  return { ...source, keys, problem: undefined };
}

/** What people call a source. */
export function wordsOfSource(source: string): string {
  return source.startsWith(configMapPrefix) ? `ConfigMap ${source.slice(configMapPrefix.length)}` : `Secret ${source}`;
}

/** What nobody can publish any more: a source changed so often between two runs that not all that it held was remembered. */
export function missedEvents({ passed, passedMerged }: Observation): readonly PlannedEvent[] {
  const sources = [...passed, ...[...passedMerged].map(([name, each]) => [configMapPrefix + name, each] as const)];
  return sources.flatMap(([name, { missed }]): readonly PlannedEvent[] => {
    if (missed === 0) return [];
    const message = `${wordsOfSource(name)} changed so often that ${missed} of its states were not remembered: keys that only they had are not published`;
    return [{ type: "Warning", reason: "KeysMissed" satisfies KeyReason, message }];
  });
}
