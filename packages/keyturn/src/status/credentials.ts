// Credential status at one moment, across all stages: what `keyturn status` shows. Plain data.
import {
  believed,
  countHealth,
  type Doubt,
  doubtsAbout,
  type Health,
  healthOrder,
  isDoubted,
  needsAttention,
  type NextStep,
  type ObjectReport,
  stageHealth,
  type StageLeader,
  threadOf,
} from "@keyturn/dashboard/contract";
import type { FeatureName, StageController } from "../feature/feature.ts";
import { calledBy, compareReports, type LeaseSummary } from "../feature/record.ts";

/** A kind of objects that could not be read, and why. */
export interface Unread {
  /** `plural.group`. */
  readonly resource: string;
  /** `missing`: the API server does not serve it. `forbidden`: the person may not read it. `failing`: there was no answer. */
  readonly reason: "missing" | "forbidden" | "failing";
  readonly message: string;
}

/** What was read of one step. */
export interface ReadStage {
  readonly step: string;
  readonly feature: FeatureName;
  /** Its objects are about every credential of their namespace. */
  readonly perNamespace: boolean;
  /** As they say themselves. */
  readonly objects: readonly ObjectReport[];
  readonly unread: readonly Unread[];
  /** Each of them should have a Lease of its name. */
  readonly controllers: readonly StageController[];
  /** Of the step's controllers; there can be several of one controller if several operators run. */
  readonly leases: readonly LeaseSummary[];
  /** None of its kinds is served. */
  readonly absent: boolean;
}

/** One step. */
export interface StageStatus extends ReadStage {
  readonly health: Health;
  /** What matters most first, each as far as it can be believed. */
  readonly objects: readonly ObjectReport[];
  readonly doubts: readonly Doubt[];
}

/** What may be said about a step, by the page's own rules. */
export function stageStatus(read: ReadStage, leasesUnread: Unread | undefined): StageStatus {
  const { absent, unread, objects } = read;
  const states = { missing: "missing", forbidden: "forbidden", failing: "retrying" } as const;
  const stage = {
    state: absent ? ("absent" as const) : ("on" as const),
    troubles: unread.map(({ resource, reason, message }) => ({ resource, state: states[reason], message })),
    hidden: [],
    leader: leaderOf(read, leasesUnread),
  };
  const doubts = doubtsAbout(stage);
  const said = objects.map((object) => believed(object, doubts)).sort(compareReports);
  return { ...read, objects: said, doubts, health: stageHealth(stage, doubts, countHealth(said)) };
}

/** Who leads a step, in a sentence if that is not somebody. */
export function leaderOf({ controllers, leases }: Pick<ReadStage, "controllers" | "leases">, leasesUnread: Unread | undefined): StageLeader {
  if (leasesUnread?.reason === "forbidden")
    return { state: "unknown", message: `the right to ${leasesUnread.message} is missing; --operator-namespace says where to look` };
  if (leasesUnread) return { state: "unknown", message: "the Leases of operators cannot be read" };
  if (leases.length === 0) return { state: "none", message: "there is no Lease of an operator" };
  // Another operator, or an earlier place, may have left a Lease behind: one that is held is enough.
  const of = ({ name }: StageController): readonly LeaseSummary[] => leases.filter((lease) => lease.controller === name);
  const idle = controllers.filter((controller) => !of(controller).some(({ state }) => state === "held"));
  const [first] = idle;
  if (!first) return { state: "led", message: "" };
  const only = idle.length < controllers.length && { only: idle.flatMap(({ resources }) => resources) };
  return { state: "none", message: unheldText(first.name, of(first)), ...only };
}

function unheldText(controller: string, leases: readonly LeaseSummary[]): string {
  if (leases.length === 0) return `controller ${controller} has no Lease; it may wait for a CRD, or not be switched on`;
  const silent = leases.find(({ state }) => state === "expired");
  if (!silent) return "the last operator has given its Lease back";
  const since = silent.renewedMs === undefined ? "" : ` since ${new Date(silent.renewedMs).toISOString()}`;
  return `${silent.holder} has not renewed its Lease${since}`;
}

/** All steps at one moment. */
export interface CredentialStatus {
  readonly atMs: number;
  /** Undefined for all. */
  readonly namespace: string | undefined;
  readonly steps: readonly StageStatus[];
  /** Why it is not known who leads, if it is not. */
  readonly leasesUnread: Unread | undefined;
}

/** An object with the step that it belongs to. */
export interface Placed {
  readonly step: string;
  readonly report: ObjectReport;
}

/** How many objects of a step fare how; what nobody fares like is left out. */
export function countsOf({ objects }: Pick<StageStatus, "objects">): readonly { readonly health: Health; readonly count: number }[] {
  const counts = countHealth(objects);
  return healthOrder.map((health) => ({ health, count: counts[health] })).filter(({ count }) => count > 0);
}

/** Who leads each controller of a step: `holders` is empty if nobody does, and `silent` then says who did so last. */
interface Leadership {
  readonly controller: string;
  readonly holders: readonly string[];
  /** Whether there is a Lease of the controller at all. */
  readonly hasLease: boolean;
  readonly silent: string | undefined;
}

/** One for each controller; undefined if Leases cannot be read. Of several Leases of a controller one that is held is enough. */
export function leadershipOf(
  { controllers, leases }: Pick<StageStatus, "controllers" | "leases">,
  { leasesUnread }: Pick<CredentialStatus, "leasesUnread">,
): readonly Leadership[] | undefined {
  if (leasesUnread) return undefined;
  return controllers.map(({ name: controller }) => {
    const own = leases.filter((lease) => lease.controller === controller);
    const holders = own.flatMap(({ state, holder = "" }) => (state === "held" ? [holder] : []));
    return { controller, holders, hasLease: own.length > 0, silent: own.find(({ state }) => state === "expired")?.holder };
  });
}

/** Everything that somebody should look at, what matters most first. What is only in doubt because all of its step is, is told with the step. */
export function concernsOf(status: Pick<CredentialStatus, "steps">): readonly Placed[] {
  return placed(status)
    .filter(({ report }) => needsAttention(report) && !isDoubted(report))
    .sort((left, right) => compareReports(left.report, right.report));
}

/** Everything that happens by itself, the soonest first. */
export function upcomingOf(status: Pick<CredentialStatus, "steps">): readonly (Placed & { readonly next: NextStep })[] {
  return placed(status)
    .flatMap(({ step, report }) => (report.next ? [{ step, report, next: report.next }] : []))
    .sort((left, right) => left.next.atMs - right.next.atMs || compareReports(left.report, right.report));
}

/** Every object, in the order of the steps. */
export function placed({ steps: all }: Pick<CredentialStatus, "steps">): readonly Placed[] {
  return all.flatMap(({ step, objects }) => objects.map((report) => ({ step, report })));
}

// One credential out of all: the objects of every step that are about it.

/** What to look for: a name, with the kind if somebody gave it. */
export interface Subject {
  /** In lower case, as it was typed: `jwksconfig`, `rotationtargets`, `secret`. */
  readonly kind: string | undefined;
  readonly name: string;
}

/** Reads `kind/name` or `name`. */
export function parseSubject(text: string): Subject {
  const slash = text.indexOf("/");
  return slash < 0 ? { kind: undefined, name: text } : { kind: text.slice(0, slash).toLowerCase(), name: text.slice(slash + 1) };
}

/** The status of one credential: the thread of the objects that are named so, or are about a Secret or a set of that name. */
export function credentialStatusOf(status: CredentialStatus, subject: Subject): CredentialStatus {
  const threads = threadOf(status.steps, (report) => isMeant(report, subject));
  return { ...status, steps: status.steps.map((stage, index) => ({ ...stage, objects: threads[index] ?? [] })) };
}

/** True if the object is what the person has typed. `secret/x` is any object that is about a Secret of that name. */
function isMeant(report: ObjectReport, subject: Subject): boolean {
  if (subject.kind === undefined || /^secrets?$|^set$/.test(subject.kind)) return report.about.includes(subject.name);
  const { kind, name } = calledBy(report);
  const own = kind.toLowerCase();
  return name === subject.name && (subject.kind === own || subject.kind === `${own}s` || subject.kind.startsWith(`${own}s.`));
}

// Credential status as data, for programs. Times are RFC 3339.

/** What `-o json` and `-o yaml` print. Fields are only ever added. */
export function statusData({ atMs, namespace, steps, leasesUnread }: CredentialStatus): object {
  return {
    time: time(atMs),
    namespace: namespace ?? null,
    steps: steps.map(({ step, feature, health, doubts, objects, unread, leases }) => ({
      step,
      controller: feature,
      health,
      doubts: doubts.map(({ about, message }) => ({ about, message })),
      counts: countHealth(objects),
      leases: leases.map(leaseData),
      unread,
      objects: objects.map(reportData),
    })),
    ...(leasesUnread && { leasesUnread }),
  };
}

/** One object of it. */
export function reportData(report: ObjectReport): object {
  const { health, reason, message, sinceMs, detail, next, about, covers } = report;
  return {
    ...calledBy(report),
    health,
    reason,
    message,
    ...(sinceMs !== undefined && { since: time(sinceMs) }),
    detail,
    ...(next && { next: { at: time(next.atMs), what: next.what } }),
    about,
    ...(covers && { covers }),
  };
}

/** One Lease of it. */
export function leaseData({ controller, namespace, holder, state, renewedMs, acquiredMs }: LeaseSummary): object {
  return {
    controller,
    namespace,
    state,
    ...(holder !== undefined && { holder }),
    ...(acquiredMs !== undefined && { since: time(acquiredMs) }),
    ...(renewedMs !== undefined && { renewed: time(renewedMs) }),
  };
}

function time(timeMs: number): string {
  return new Date(timeMs).toISOString();
}
