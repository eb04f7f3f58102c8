// What people write on workloads, Secrets and ConfigMaps about restarts: Reloader's annotations, unchanged, and a short form of our own. Pure.
import type { DeepReadonly, PodTemplateSpec } from "@keyturn/runtime";
import { keyturn } from "../../feature/feature.ts";
import { limits } from "../../limits.ts";
import { type Reference, referencesOf, type SourceKind } from "./references.ts";

const reloader = "reloader.stakater.com";

/** On a workload: `auto`, `env-only`, `never`, or names of Secrets and ConfigMaps. It counts before all of Reloader's. Never changes. */
export const restartOnChangeAnnotation = `${keyturn.domain}/restart-on-change`;
/** On a workload: a number. Those with higher ones are restarted first. Never changes. */
const priorityAnnotation = `${keyturn.domain}/restart-priority`;
/** On a workload: digests of what its pods were started with. Written by the controller alone. Never changes. */
export const startedWithAnnotation = `${keyturn.domain}/started-with`;

const ignoreAnnotation = `${reloader}/ignore`;
const matchAnnotation = `${reloader}/match`;
const searchAnnotation = `${reloader}/search`;
const pausePeriodAnnotation = `deployment.${reloader}/pause-period`;

/** In the order in which they are looked for: a workload has a word on each of these. */
const prefixes: Readonly<Record<SourceKind, string>> = {
  Secret: `secret.${reloader}`,
  ConfigMap: `configmap.${reloader}`,
  SecretProviderClass: `secretproviderclass.${reloader}`,
};

/** Every annotation of workloads that counts. */
export function isReadAnnotation(name: string): boolean {
  return name === restartOnChangeAnnotation || name === priorityAnnotation || name.endsWith(`${reloader}/reload`) || isReloaders(name);
}

function isReloaders(name: string): boolean {
  return name === pausePeriodAnnotation || name === searchAnnotation || name === `${reloader}/auto` || name.endsWith(`.${reloader}/auto`);
}

type Annotations = Readonly<Record<string, string>>;

/** Something whose changes a workload is restarted for. */
export interface Followed extends Pick<Reference, "kind" | "name" | "key" | "optional"> {
  /** Only if it says itself that it is to be found by a search. */
  readonly onlyIfMatched: boolean;
}

/** What a workload is restarted for. */
export interface FollowOptions {
  /** Workloads that say nothing follow all that they use. */
  readonly auto: boolean;
  /** The Secrets with which images are pulled count too. */
  readonly imagePullSecrets: boolean;
  /** Kinds that are followed at all. */
  readonly kinds: ReadonlySet<SourceKind>;
}

/** What changes a workload is restarted for; each thing once. */
export function followedBy(annotations: Annotations, template: DeepReadonly<PodTemplateSpec>, options: FollowOptions): readonly Followed[] {
  const said = wordsOf(annotations, template);
  const own = said[restartOnChangeAnnotation]?.trim();
  const references = referencesOf(template).filter(({ kind, via }) => options.kinds.has(kind) && (via !== "pull" || options.imagePullSecrets));
  if (own === "never") return [];
  if (own === "auto") return unique(references.map(plainly));
  if (own === "env-only") return unique(references.filter(({ via }) => via === "env" || via === "mount").map(plainly));
  if (own !== undefined && own !== "") return unique(namesIn(own).flatMap((name) => calledSo(name, references, options.kinds)));
  const isSearching = isTrue(said[searchAnnotation]);
  return unique(
    [...options.kinds].flatMap((kind) => {
      const prefix = prefixes[kind];
      const isAuto = isAutomatic(said[`${reloader}/auto`], said[`${prefix}/auto`], options.auto);
      const names = namesIn(said[`${prefix}/reload`] ?? "");
      const chosen = named(references, kind, names);
      const all = references.filter((reference) => reference.kind === kind);
      if (isAuto) return chosen.concat(all.map(plainly));
      return isSearching ? chosen.concat(all.map(ifMatched)) : chosen;
    }),
  );
}

/** A workload's own annotations; those of its template if it has none of these. */
function wordsOf(annotations: Annotations, { metadata }: DeepReadonly<PodTemplateSpec>): Annotations {
  return Object.keys(annotations).some((name) => name !== priorityAnnotation && isReadAnnotation(name)) ? annotations : (metadata?.annotations ?? {});
}

/** One that says `true` is enough; one that says `false` only takes back what holds for all workloads. */
function isAutomatic(general: string | undefined, ofKind: string | undefined, byDefault: boolean): boolean {
  if (isTrue(general) || isTrue(ofKind)) return true;
  return byDefault && !isFalse(general) && !isFalse(ofKind);
}

/** Of what pods see of these, exactly that; of others everything, for a program may read them itself. */
function named(references: readonly Reference[], kind: SourceKind, names: readonly string[]): readonly Followed[] {
  return names.flatMap((name) => {
    const seen = references.filter((reference) => reference.kind === kind && reference.name === name);
    return seen.length > 0 ? seen.map(plainly) : [wholly(kind, name)];
  });
}

/** `secret/db`, or `db` for what pods see under that name; a Secret or ConfigMap if they see none. */
function calledSo(text: string, references: readonly Reference[], kinds: ReadonlySet<SourceKind>): readonly Followed[] {
  const [first = "", second] = text.split("/");
  const name = second ?? first;
  const meant = [...kinds].filter((kind) => second === undefined || kind.toLowerCase() === first.toLowerCase());
  const seen = meant.filter((kind) => references.some((reference) => reference.kind === kind && reference.name === name));
  const others = meant.filter((kind) => second !== undefined || kind !== "SecretProviderClass");
  return (seen.length > 0 ? seen : others).flatMap((kind) => named(references, kind, [name]));
}

function wholly(kind: SourceKind, name: string): Followed {
  return { kind, name, key: undefined, optional: true, onlyIfMatched: false };
}

function plainly({ kind, name, key, optional }: Reference): Followed {
  return { kind, name, key, optional, onlyIfMatched: false };
}

function ifMatched(reference: Reference): Followed {
  return { ...plainly(reference), onlyIfMatched: true };
}

function namesIn(text: string): readonly string[] {
  const names = text.split(",", limits.followedNames).map((name) => name.trim());
  // What cannot be the name of anything is not carried on into annotations and Events.
  return names.filter((name) => name !== "" && name.length <= limits.followedName);
}

function unique(all: readonly Followed[]): readonly Followed[] {
  const byPlace = new Map<string, Followed>();
  for (const each of all) {
    const place = JSON.stringify([each.kind, each.name, each.key]);
    const known = byPlace.get(place);
    const isOptional = each.optional && (known?.optional ?? true);
    byPlace.set(place, { ...each, optional: isOptional, onlyIfMatched: each.onlyIfMatched && (known?.onlyIfMatched ?? true) });
  }
  return [...byPlace.values()];
}

function isTrue(text: string | undefined): boolean {
  return text?.trim().toLowerCase() === "true";
}

function isFalse(text: string | undefined): boolean {
  return text?.trim().toLowerCase() === "false";
}

/** What a Secret or ConfigMap says of itself. */
export function sourceWords(annotations: Annotations = {}): { readonly isIgnored: boolean; readonly isMatched: boolean } {
  return { isIgnored: isTrue(annotations[ignoreAnnotation]), isMatched: isTrue(annotations[matchAnnotation]) };
}

/** The annotation as a number; 0 for what is none. */
export function priorityOf(annotations: Annotations): number {
  const priority = Number(annotations[priorityAnnotation] ?? 0);
  return Number.isSafeInteger(priority) ? priority : 0;
}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const duration = /^(?<amount>\d{1,9})(?<unit>ms|s|m|h)$/;

/** How long changes are collected before this workload is restarted for them. */
export function pausePeriodMs(annotations: Annotations): number {
  const { amount = "0", unit = "ms" } = duration.exec(annotations[pausePeriodAnnotation]?.trim() ?? "")?.groups ?? {};
  return Math.min(Number(amount) * (units[unit] ?? 0), limits.pausePeriodMs);
}
