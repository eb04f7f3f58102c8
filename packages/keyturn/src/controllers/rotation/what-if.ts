// `keyturn plan -f FILE…`: what would happen if these manifests were applied, before it is done.
import { type DeepReadonly, formatDuration } from "@keyturn/runtime";
import { parseAllDocuments } from "yaml";
import { UsageError } from "../../feature/flag.ts";
import { targetRules } from "./annotations.ts";
import { publishBeforeAnnotation, RotationTarget } from "./api.ts";
import { forecast, type ForecastStep } from "./forecast.ts";
import type { SetObservation, TargetObservation } from "./observe.ts";
import { limits } from "../../limits.ts";

/** A RotationTarget of a file. */
export interface DeclaredTarget {
  readonly name: string;
  readonly namespace: string | undefined;
  /** The JWKSConfig that it waits for. */
  readonly publishBefore: string | undefined;
  readonly spec: DeepReadonly<RotationTarget["spec"]>;
}

const { planFileBytes: maxFileBytes } = limits;

/** The RotationTargets in a file of manifests; other kinds are passed over. Throws a `UsageError` that names the file. */
export function declaredTargets(file: string, text: string): readonly DeclaredTarget[] {
  if (text.length > maxFileBytes) throw new UsageError(`${file} is larger than 8 MiB`);
  return parseAllDocuments(text).flatMap((document) => {
    if (document.errors.length > 0) throw new UsageError(`${file} is no YAML: ${document.errors[0]?.message.split("\n")[0] ?? ""}`);
    const value: unknown = document.toJS({ maxAliasCount: 100 });
    const items: readonly unknown[] = isList(value) ? value.items : [value];
    return items.flatMap((item) => {
      if (!isTarget(item)) return [];
      const decoded = RotationTarget.decode(item);
      if (!decoded.ok) throw new UsageError(`${file}: the RotationTarget ${item.metadata.name} is not valid`);
      const { metadata, spec } = decoded.object;
      return [{ name: item.metadata.name, namespace: metadata.namespace, publishBefore: metadata.annotations?.[publishBeforeAnnotation], spec }];
    });
  });
}

function isList(value: unknown): value is { readonly items: readonly unknown[] } {
  return typeof value === "object" && value !== null && "items" in value && Array.isArray(value.items);
}

function isTarget(value: unknown): value is { readonly kind: string; readonly metadata: { readonly name: string } } {
  if (typeof value !== "object" || value === null || !("kind" in value) || value.kind !== RotationTarget.kind || !("metadata" in value)) return false;
  const { metadata } = value;
  return typeof metadata === "object" && metadata !== null && "name" in metadata && typeof metadata.name === "string";
}

/** What would be observed if the targets were applied; with `prune`, targets that are in none of the files are deleted. */
export function withDeclared(observation: SetObservation, declared: readonly DeclaredTarget[], prune: boolean): SetObservation {
  const changed = new Map(declared.map((target) => [target.name, target]));
  const kept = observation.targets.flatMap((target): readonly TargetObservation[] => {
    const declaration = changed.get(target.name);
    if (!declaration) return prune ? [] : [target];
    const { publishBefore: before, ...rest } = target;
    const { spec } = declaration;
    return [{ ...rest, ...waiting(declaration, before), ...targetRules(spec), objectName: spec.targetName ?? target.name }];
  });
  const known = new Set(observation.targets.map(({ name }) => name));
  const added = declared.filter(({ name }) => !known.has(name)).map(newTarget);
  return { ...observation, targets: [...kept, ...added] };
}

/** What it waits for. Of another JWKSConfig than before nothing is known. */
function waiting({ publishBefore: config }: DeclaredTarget, before: TargetObservation["publishBefore"]): Pick<TargetObservation, "publishBefore"> {
  if (config === undefined) return {};
  return { publishBefore: before?.config === config ? before : { config, publications: new Map() } };
}

function newTarget(target: DeclaredTarget): TargetObservation {
  const { name, spec } = target;
  return {
    ...waiting(target, undefined),
    name,
    uid: `new ${name}`,
    generation: 1,
    ...targetRules(spec),
    objectName: spec.targetName ?? name,
    statusDigest: undefined,
    objects: [],
  };
}

/** What applying would do to a set. */
interface Difference {
  /** One sentence each: who is added, removed, moved, given another delay or mode. */
  readonly changes: readonly string[];
  /** What would be lost by it, or come earlier than without it. */
  readonly dangers: readonly string[];
}

/** Compares what is to come with and without the change. */
export function differenceOf(before: SetObservation, after: SetObservation, nowMs: number): Difference {
  const old = new Map(before.targets.map((target) => [target.name, target]));
  const changes = after.targets.flatMap((target) => {
    const was = old.get(target.name);
    return was ? changedWords(was, target) : [`${target.name} is added: order ${target.order}, delay ${formatDuration(target.delayMs)}`];
  });
  const removed = before.targets.filter(({ name }) => !after.targets.some((target) => target.name === name));
  const removals = removed.map(
    ({ name, deletionMode }) => `${name} is removed; its object ${deletionMode === "cascade" ? "goes with it" : "stays, and nobody looks after it"}`,
  );
  return { changes: [...changes, ...removals], dangers: [...lostVersions(before, after, nowMs), ...earlierSteps(before, after, nowMs)] };
}

function changedWords(was: TargetObservation, is: TargetObservation): readonly string[] {
  const words: string[] = [];
  if (was.order !== is.order) words.push(`${is.name} is renumbered from order ${was.order} to ${is.order}`);
  if (was.delayMs !== is.delayMs) words.push(`${is.name} has a delay of ${formatDuration(is.delayMs)} instead of ${formatDuration(was.delayMs)}`);
  if (was.deletionMode !== is.deletionMode) words.push(`${is.name} has deletionMode ${is.deletionMode} instead of ${was.deletionMode}`);
  const [before, after] = [was.publishBefore?.config, is.publishBefore?.config];
  if (before !== after) words.push(`${is.name} waits for ${after === undefined ? "no JWKSConfig any more" : `the keys of JWKSConfig ${after}`}`);
  if (was.objectName !== is.objectName) words.push(`${is.name} keeps the object ${is.objectName} instead of ${was.objectName}`);
  return words;
}

/** Versions that some target holds in the end if nothing is changed, and none if it is. */
function lostVersions(before: SetObservation, after: SetObservation, nowMs: number): readonly string[] {
  const stays = heldInTheEnd(after, forecast(after, nowMs).steps);
  const lost = [...heldInTheEnd(before, forecast(before, nowMs).steps)].filter((seq) => !stays.has(seq));
  return lost.toSorted((a, b) => a - b).map((seq) => `version ${seq} would be in no target any more`);
}

function heldInTheEnd({ targets }: SetObservation, steps: readonly ForecastStep[]): ReadonlySet<number> {
  const held = new Map(targets.map(({ name, objects }) => [name, objects.find(({ ours, applied }) => ours && applied)?.applied?.seq]));
  for (const { target, seq } of steps) held.set(target, seq);
  return new Set([...held.values()].filter((seq) => seq !== undefined));
}

/** Versions that reach their first target earlier than they would without the change. */
function earlierSteps(before: SetObservation, after: SetObservation, nowMs: number): readonly string[] {
  const firstOf = (observation: SetObservation): ReadonlyMap<number, number> => {
    const first = new Map<number, number>();
    for (const { seq, atMs } of forecast(observation, nowMs).steps) if (seq !== undefined && !first.has(seq)) first.set(seq, atMs);
    return first;
  };
  const was = firstOf(before);
  const isHeld = new Set(before.targets.flatMap(({ objects }) => objects.map(({ applied }) => applied?.seq)));
  return [...firstOf(after)].flatMap(([seq, atMs]) => {
    const wasMs = was.get(seq);
    if (isHeld.has(seq) || wasMs === undefined || atMs >= wasMs) return [];
    return [`version ${seq} would be live ${formatDuration(wasMs - atMs)} earlier`];
  });
}
