// Which objects the operator looks after, and which of them it leaves as they are for now. The same rules for all features.
import {
  type Cache,
  findCondition,
  type Kind,
  type KubeObject,
  type LabelMatcher,
  type LeftAlone,
  type ObjectKey,
  parseLabelSelector,
  type StatusObject,
  type Stored,
} from "@keyturn/runtime";
import { type FlagReader, keyturn } from "./feature.ts";
import { type Flag, listFlag, textFlag } from "./flag.ts";

// The flags that say which objects the operator looks after. They are the operator's, and each feature reads them.

/** `--selector` as it was typed. */
export const selectorText = textFlag({
  name: "selector",
  placeholder: "LABELS",
  help: "look after only those objects that have these labels, such as team=a,!legacy: JWKSConfigs, RotationTargets, EventingAuths, Kymas and workloads; all others are left as they are",
});

const selector: Flag<LabelMatcher> = { ...selectorText, parse: (text = "") => parseLabelSelector(text) };

export const selectionFlags = {
  selector,
  skipNamespaces: listFlag({ name: "skip-namespaces", help: "leave everything in these namespaces as it is" }),
};

/** On an object: `true`, or a time in RFC 3339 until which nothing is done for it. Never changes: objects in running clusters carry it. */
export const pausedAnnotation = `${keyturn.domain}/paused`;

/** The word for it, in conditions and Events. */
export const pausedReason = "Paused";

/** A pause. */
export interface Pause {
  /** Undefined for one that ends when the annotation goes. */
  readonly untilMs: number | undefined;
  /** Who has the annotation, if it is not the object itself: `its namespace`. */
  readonly by?: string;
}

/** What is to be done about an object: its work, nothing for now, or nothing ever, because it is outside of what the flags select. */
type Serving = { readonly type: "served" } | ({ readonly type: "paused" } & Pause) | { readonly type: "notSelected" };

/** As much of an object as it depends on. */
type Regarded = Pick<KubeObject["metadata"], "namespace" | "labels" | "annotations">;

/** The part of it that does not change with the time: whether an object is selected at all. */
export type Selects = (metadata: Regarded) => boolean;

/** Selects everything: what the flags say by default. */
export const selectsAll: Selects = () => true;

/** What `--selector` and `--skip-namespaces` say. */
export function selectionOf(flag: FlagReader): Selects {
  const matches = flag(selectionFlags.selector);
  const isSkipped = skippingOf(flag);
  return ({ namespace = "", labels = {} }) => !isSkipped(namespace) && matches(labels);
}

/** What `--skip-namespaces` says, for features that work for namespaces and not for objects. */
export function skippingOf(flag: FlagReader): (namespace: string) => boolean {
  const skipped = new Set(flag(selectionFlags.skipNamespaces));
  return (namespace) => skipped.has(namespace);
}

/** What is to be done about an object at this time. */
export function servingFor(metadata: Regarded, selects: Selects, nowMs: number): Serving {
  if (!selects(metadata)) return { type: "notSelected" };
  const pause = pauseOf(metadata.annotations?.[pausedAnnotation], nowMs);
  return pause ? { type: "paused", ...pause } : { type: "served" };
}

/** RFC 3339: a date alone, or without a zone, would mean different times to different readers. */
const time = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})$/;

/** Reads the annotation. What cannot be read pauses: who wrote it wanted something to stop. */
export function pauseOf(text: string | undefined, nowMs: number): Pause | undefined {
  const value = text?.trim() ?? "";
  if (value === "" || value === "false") return undefined;
  const untilMs = time.test(value) ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(untilMs)) return { untilMs: undefined };
  return untilMs > nowMs ? { untilMs } : undefined;
}

/** A pause in words, for conditions, Events and plans. */
export function pauseInWords({ untilMs, by = "it" }: Pause): string {
  const end = untilMs === undefined ? "" : `, until ${new Date(untilMs).toISOString()}`;
  return `left as it is while ${by} has the annotation ${pausedAnnotation}${end}`;
}

// Pause and selection for controllers whose keys stand for one object each.

/** What `reconcileWith` asks before it observes anything. Of a paused object whether it is ready stays as it was, so that nobody is alarmed by a pause. */
export function leavesUnserved({
  objects,
  kind,
  selects,
}: {
  readonly objects: Cache<Stored<KubeObject> & Pick<StatusObject["object"], "status">>;
  readonly kind: Kind;
  readonly selects: Selects;
}): (key: ObjectKey, nowMs: number) => LeftAlone | undefined {
  return (key, nowMs) => {
    const object = objects.get(key);
    const serving = object && servingFor(object.metadata, selects, nowMs);
    if (!object || !serving || serving.type === "served") return undefined;
    if (serving.type === "notSelected") return serving;
    const status = findCondition(object.status?.conditions, "Ready")?.status ?? "Unknown";
    const Ready = { status, reason: pausedReason, message: pauseInWords(serving) };
    return { type: "paused", status: [{ regarding: { kind, object }, conditions: { Ready } }], untilMs: serving.untilMs };
  };
}
