// One record for each object that people look at, for `keyturn status` and the page alike: where records come from, and how they are made.
// Made from what anybody may read: specs, statuses, marks; never from Secrets.
import {
  type Cell,
  type CommandView,
  type ConditionView,
  type DashboardRecord,
  type DifferenceView,
  type Fact,
  type Health,
  healthOrder,
  type HistoryEntry,
  type NextStep,
  type ObjectRecord,
  type ObjectRef,
  type ObjectReport,
  type StageLayout,
} from "@keyturn/dashboard/contract";
import { shellCommand } from "@keyturn/dashboard/contract";
import {
  apiVersionOf,
  type Cache,
  type Client,
  type Condition,
  type ControllerDefinition,
  type ControllerScope,
  type DeepReadonly,
  findCondition,
  type Kind,
  type KubeObject,
  type Lease,
  redactAndCut,
  resourceOf,
  type Stored,
} from "@keyturn/runtime";
import { type FlagReader, keyturn } from "./feature.ts";
import type { Flag } from "./flag.ts";
import { pausedAnnotation, pausedReason } from "./pause-and-selection.ts";
import { scopeOf, type ServedScope } from "./served-scope.ts";

// Where records come from: a source watches something and makes records of it, one for each id.

/** What people see of a feature. */
export interface Records {
  /** Its records are about all of a namespace, and so about every credential there. Default: about those that they name. */
  readonly perNamespace?: true;
  /** Those of its flags that `keyturn status` takes too, because its answer depends on them. Default none. */
  readonly flags?: readonly Flag[];
  /** How the page shows them. */
  readonly layout: Pick<StageLayout, "title" | "about" | "tables">;
  /** Other namespaces whose objects are about this one too. Default none. */
  elsewhere?(
    this: void,
    where: { readonly client: Client; readonly namespace: string; readonly signal: AbortSignal },
    flag: FlagReader,
  ): Promise<readonly string[]>;
  /** Declares watches. Nothing is requested before the caches are started. Undefined: this viewer can see nothing of it. */
  watch(this: void, scope: RecordScope): RecordSource | undefined;
  /** How what is live differs from what one of its objects says; asked for when somebody looks. */
  readonly differences?: Differences;
}

/** What has happened to an object as far as its record remembers, and what somebody would type about it. */
export interface ObjectStory {
  readonly history: readonly HistoryEntry[];
  /** Names of objects need no quotes: Kubernetes allows no character in them that a shell would take for something else. */
  readonly commands: readonly CommandView[];
}

/** How differences are found. */
export interface Differences {
  /** Objects of this kind have them. */
  readonly of: Kind;
  /** Told only to who may list these, in all of the places. */
  readonly needs: Kind;
  /** The namespaces whose objects are told about. */
  places(
    this: void,
    where: { readonly client: Client; readonly namespace: string; readonly signal: AbortSignal },
    flag: FlagReader,
  ): Promise<readonly string[]>;
  find(
    this: void,
    where: { readonly client: Client; readonly namespace: string; readonly signal: AbortSignal },
    flag: FlagReader,
  ): Promise<readonly DifferenceView[]>;
}

/** What a source is made with. */
export interface RecordScope extends Pick<ControllerScope, "watch" | "clock" | "log"> {
  /** The record of that id may have changed. */
  touch(this: void, id: string): void;
  /** The operator's flags: times are made with them. */
  readonly flag: FlagReader;
  /** `operator`: the operator itself, through the caches of its controllers. `page`: a page on somebody's machine, with their rights. `status`: somebody who may read what is reported, and perhaps nothing else. */
  readonly viewer: "operator" | "page" | "status";
  /** Kinds that the API server does not serve, and that nobody misses. */
  readonly unserved: readonly Kind[];
  /** The controllers that work in this process: a source may look through their eyes. Default none. */
  readonly running?: readonly ControllerDefinition[];
  /** Whom a source may ask what watches cannot say, with the viewer's rights, and until when. Default nobody. */
  readonly ask?: { readonly client: Client; readonly signal: AbortSignal };
}

/** The record of one id, and when time alone changes it. */
export interface Made {
  readonly record: DashboardRecord;
  readonly againAtMs: number | undefined;
  /** What the page of an object tells beyond its record. `ref` is one of those that the record is about. */
  story?(this: void, ref: ObjectRef): ObjectStory;
}

/** A source of records. */
export interface RecordSource {
  /** The name of its feature. */
  readonly step: string;
  /** The kinds whose objects it shows: `plural.group`. */
  readonly resources: readonly string[];
  /** What it watches; how those fare is shown with the step. */
  readonly caches: () => readonly Cache<unknown>[];
  /** Of all records there are. */
  readonly ids: () => Iterable<string>;
  /** Called once for many ids, before `make`. */
  readonly prepare?: (nowMs: number) => void;
  /** The record of an id; undefined if there is none (any more). */
  readonly make: (id: string, nowMs: number) => Made | undefined;
  /** The record that an object is in, and the object's kind; undefined if it is in none of this source. */
  readonly find?: (
    resource: string,
    name: { readonly namespace: string; readonly name: string },
  ) => { readonly id: string; readonly kind: Kind } | undefined;
}

// What is said about an object.

/** How it fares, in the words of its controller. */
export interface HealthReport {
  readonly health: Health;
  /** One word in PascalCase, from the controller's own reasons wherever it has reported one. */
  readonly reason: string;
  readonly message: string;
  /** Since when; undefined if that is not known. */
  readonly sinceMs: number | undefined;
}

/** How it fares, and what else is particular about it. */
interface Said extends HealthReport, Pick<ObjectReport, "detail" | "about"> {
  readonly next: NextStep | undefined;
}

/** As much of an object as a report is made from. */
interface Reported {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string | undefined;
    readonly generation?: number | undefined;
    readonly creationTimestamp?: string | undefined;
    readonly deletionTimestamp?: string | undefined;
  };
  readonly status?: { readonly conditions?: readonly DeepReadonly<Condition>[] | undefined } | undefined;
}

/** A step that is this late will not be made by an operator that is only busy. */
const patienceMs = 60_000;

/** What the condition `Ready` says; `healthOf` decides about the reasons of the controller, and gets the condition only if it is about the object as it is. */
export function readyHealth(object: Reported, healthOf: (ready: DeepReadonly<Condition>) => Health): HealthReport {
  const { generation, creationTimestamp, deletionTimestamp } = object.metadata;
  const ready = findCondition(object.status?.conditions, "Ready");
  if (deletionTimestamp !== undefined) {
    const message = ready?.status === "False" ? ready.message : "is being deleted";
    return { health: "progressing", reason: "Deleting", message, sinceMs: timeMs(deletionTimestamp) };
  }
  if (!ready) {
    const message = "the operator has not reported on it yet; is it running, with this controller?";
    return { health: "unknown", reason: "NotReported", message, sinceMs: timeMs(creationTimestamp) };
  }
  if (generation !== undefined && ready.observedGeneration !== undefined && ready.observedGeneration < generation) {
    const message = "it was changed, and the operator has not reported on the change yet; is it running, with this controller?";
    return { health: "unknown", reason: "NotObserved", message, sinceMs: undefined };
  }
  return healthReportOf(ready, ready.reason === pausedReason ? "paused" : healthOf(ready));
}

/** What a condition says, as a verdict. */
export function healthReportOf({ reason, message, lastTransitionTime }: DeepReadonly<Condition>, health: Health): HealthReport {
  return { health, reason, message, sinceMs: timeMs(lastTransitionTime) };
}

/** What is said about an object of that kind. */
export function objectReport(
  kind: Kind,
  { metadata, status }: Reported,
  { health, reason, message, sinceMs, detail, about, next }: Said,
): ObjectReport {
  return {
    ref: objectRef(kind, metadata),
    health,
    reason,
    message: shownText(message),
    ...defined("sinceMs", sinceMs),
    detail,
    about,
    ...defined("next", next),
    conditions: conditionViews(status?.conditions),
  };
}

/** The report, unless its next step should long have been made: then that is what somebody should look at. */
export function unlessOverdue(report: ObjectReport, nowMs: number): ObjectReport {
  const { next, health } = report;
  if (!next || health === "failed" || health === "degraded" || health === "paused" || next.atMs + patienceMs > nowMs) return report;
  const message = `should have happened at ${new Date(next.atMs).toISOString()}: ${next.what}; is the operator running, with this controller?`;
  return { ...report, health: "degraded", reason: "Overdue", message, sinceMs: next.atMs };
}

/** What matters most first: by health, then the longest lasting, then by name. */
export function compareReports(left: ObjectReport, right: ObjectReport): number {
  return (
    healthOrder.indexOf(left.health) - healthOrder.indexOf(right.health) ||
    (left.sinceMs ?? Infinity) - (right.sinceMs ?? Infinity) ||
    (placeOf(left) < placeOf(right) ? -1 : 1)
  );
}

/** What people call an object. */
export function calledBy({ ref, called = ref }: Pick<ObjectReport, "ref" | "called">): Pick<ObjectRef, "kind" | "namespace" | "name"> {
  return { kind: called.kind, namespace: ref.namespace, name: called.name };
}

/** Tells one object from all others. */
export function placeOf(report: Pick<ObjectReport, "ref" | "called">): string {
  const { kind, namespace, name } = calledBy(report);
  return `${kind.toLowerCase()}/${namespace}/${name}`;
}

/** A report speaks of a step that is late only after a while; until then it is looked at again now and then. */
const lookAgainMs = 30_000;
const maxLookMs = 10 * 60_000;

/** When a report may say something else although nothing has changed. */
export function againAtMs({ next }: Pick<ObjectReport, "next">, nowMs: number): number | undefined {
  if (!next) return undefined;
  if (next.atMs > nowMs) return next.atMs;
  return next.atMs + maxLookMs > nowMs ? nowMs + lookAgainMs : undefined;
}

/** The earlier of two. */
export function earlierNext(left: NextStep | undefined, right: NextStep | undefined): NextStep | undefined {
  return left && right ? (left.atMs <= right.atMs ? left : right) : (left ?? right);
}

/** A message may quote what somebody else has written; more than so much is not shown. */
const maxText = 1024;

/** Text that may be shown to anybody who may see the object. */
export function shownText(text: string): string {
  return redactAndCut(text, maxText);
}

export function objectRef(kind: Kind, { namespace = "", name }: { readonly namespace?: string | undefined; readonly name: string }): ObjectRef {
  return { apiVersion: apiVersionOf(kind), kind: kind.kind, resource: resourceOf(kind), namespace, name };
}

function conditionViews(conditions: readonly DeepReadonly<Condition>[] = []): readonly ConditionView[] {
  return conditions.map(({ type, status, reason, message, lastTransitionTime }) => ({
    type,
    status,
    reason,
    message: shownText(message),
    ...defined("sinceMs", timeMs(lastTransitionTime)),
  }));
}

/** A time as objects write it; undefined for what is none. */
export function timeMs(text: string | null | undefined): number | undefined {
  const ms = text ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}

/** A member that is there only if it has a value. */
export function defined<Name extends string, Value>(name: Name, value: Value | undefined): { readonly [_ in Name]?: Value } {
  // The compiler does not follow a computed name into a mapped type.
  return (value === undefined ? {} : { [name]: value }) as { readonly [_ in Name]?: Value };
}

/** For a watch: the object without its labels and annotations, which may hold all that somebody applied, and without who wrote what. */
export function keepShown<T extends KubeObject>(object: Stored<T>): Stored<T> {
  const hidden = new Set(["managedFields", "annotations", "labels"]);
  // Every member that is left out is optional.
  const metadata = Object.fromEntries(Object.entries(object.metadata).filter(([name]) => !hidden.has(name))) as Stored<T>["metadata"];
  return { ...object, metadata };
}

/** What a cache holds; of one namespace, or all. */
export function valuesOf<V>(cache: Cache<V>, namespace?: string): readonly DeepReadonly<V>[] {
  return Array.from(cache.entries(namespace), ([, value]) => value);
}

// How a record is laid out.

/** What is known of an object, or of several that belong together, before it is laid out for the page. */
export type RecordBase = ObjectReport & Pick<ObjectRecord, "id" | "step" | "createdMs">;

/** The record of the page: what it is made from, and its layout. Nothing else of `base` is in it. */
export function laidOut(base: RecordBase, layout: Omit<ObjectRecord, "type" | keyof RecordBase>): ObjectRecord {
  const { id, step, ref, called, health, reason, message, sinceMs, createdMs, detail, next, about, conditions } = base;
  const times = { ...defined("sinceMs", sinceMs), ...defined("createdMs", createdMs) };
  const report = { ref, ...defined("called", called), health, reason, message, ...times, detail, ...defined("next", next), about, conditions };
  return { type: "object", id, step, ...report, ...layout };
}

export function factAt(name: string, atMs: number | undefined): readonly Fact[] {
  return atMs === undefined ? [] : [{ name, atMs }];
}

export function factText(name: string, text: string | undefined): readonly Fact[] {
  return text === undefined || text === "" ? [] : [{ name, text }];
}

/** An object in the same cluster that has a part in it. */
export function factObject(name: string, ref: ObjectRef | undefined): readonly Fact[] {
  return ref === undefined ? [] : [{ name, text: `${ref.kind} ${ref.name}`, ref }];
}

export function factDigest(name: string, text: string | undefined): readonly Fact[] {
  return text === undefined || text === "" ? [] : [{ name, text, mono: true }];
}

/** A point in time, or what is said if it is not known. */
export function cellAt(atMs: number | undefined, otherwise: string): Cell {
  return atMs === undefined ? { main: otherwise, look: "faint" } : { main: { atMs } };
}

// For stories.

/** `-n shop`, for a command; nothing for kinds that are in no namespace. */
export function inNamespace({ namespace }: Pick<ObjectRef, "namespace">): readonly string[] {
  return namespace === "" ? [] : ["-n", namespace];
}

/** How to pause it; if it is paused, how to end that. */
export function pauseCommands(ref: ObjectRef, reason: string): readonly CommandView[] {
  const { resource, name } = ref;
  const where = inNamespace(ref);
  return reason === pausedReason
    ? [
        {
          what: "resume it, unless its namespace is paused",
          command: shellCommand`kubectl annotate ${resource} ${name} ${where} ${pausedAnnotation}-`,
        },
      ]
    : [
        {
          what: "leave it as it is for now",
          command: shellCommand`kubectl annotate ${resource} ${name} ${where} --overwrite ${pausedAnnotation}=true`,
        },
      ];
}

/** That something happened at that time, if that is known. */
export function happened(atMs: number | undefined, what: string): readonly HistoryEntry[] {
  return atMs === undefined ? [] : [{ atMs, what }];
}

/** As much of a digest or key id as people tell others apart by. */
export function shortDigest(digest: string): string {
  return digest.slice(0, 8);
}

// Which replica of the operator leads which controller, from the Leases that they hold.

/** One controller's Lease. */
export interface LeaseSummary {
  readonly controller: string;
  readonly namespace: string;
  /** Who holds it: the host or pod of the process; undefined if nobody does. */
  readonly holder: string | undefined;
  /** `held`: renewed in time. `expired`: its holder is silent for longer than it may. `free`: given back. */
  readonly state: "held" | "expired" | "free";
  readonly renewedMs: number | undefined;
  readonly acquiredMs: number | undefined;
  /** What its holder serves; undefined if it does not say. */
  readonly serves?: ServedScope | undefined;
}

/** What a Lease of the operator's says; undefined if it is none of these controllers'. `nowMs` is the API server's time. */
export function leaseSummary(lease: DeepReadonly<Stored<Lease>>, controllers: readonly string[], nowMs: number): LeaseSummary | undefined {
  const { metadata, spec = {} } = lease;
  const controller = controllers.find((name) => metadata.name === `${keyturn.name}-${name}`);
  if (controller === undefined) return undefined;
  const renewedMs = timeMs(spec.renewTime);
  const isInTime = renewedMs !== undefined && renewedMs + (spec.leaseDurationSeconds ?? 0) * 1000 > nowMs;
  return {
    controller,
    namespace: metadata.namespace ?? "",
    // What follows the host is only there to tell two processes of one host apart.
    holder: spec.holderIdentity?.replace(/_[0-9a-f-]{36}$/, ""),
    state: spec.holderIdentity ? (isInTime ? "held" : "expired") : "free",
    renewedMs,
    acquiredMs: timeMs(spec.acquireTime),
    serves: scopeOf(lease),
  };
}
