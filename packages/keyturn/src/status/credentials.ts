// Credential status at one moment, across the five stages: what `keyturn status` shows. Plain data.
import type { FeatureName } from "../feature/feature.ts";
import { compareSummaries, type Health, healths, type LeaseSummary, type NextStep, type Summary } from "../feature/summary.ts";
import type { StageName } from "./status-watches.ts";

/** A kind of objects that could not be read, and why. */
export interface Unread {
  /** `plural.group`. */
  readonly resource: string;
  /** `missing`: the API server does not serve it. `forbidden`: the person may not read it. `failing`: there was no answer. */
  readonly reason: "missing" | "forbidden" | "failing";
  readonly message: string;
}

/** One step. */
export interface StageStatus {
  readonly step: StageName;
  readonly feature: FeatureName;
  /** What matters most first. */
  readonly objects: readonly Summary[];
  readonly unread: readonly Unread[];
  /** Each of them should have a Lease of its name. */
  readonly controllers: readonly string[];
  /** Of the step's controllers; there can be several of one controller if several operators run. */
  readonly leases: readonly LeaseSummary[];
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
  readonly step: StageName;
  readonly summary: Summary;
}

/** How many objects of a step fare how; what nobody fares like is left out. */
export function countsOf({ objects }: Pick<StageStatus, "objects">): readonly { readonly health: Health; readonly count: number }[] {
  return healths.map((health) => ({ health, count: objects.filter((object) => object.health === health).length })).filter(({ count }) => count > 0);
}

/** Who leads each controller of a step: `holders` is empty if nobody does, and `silent` then says who did so last. */
export interface Leadership {
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
  return controllers.map((controller) => {
    const own = leases.filter((lease) => lease.controller === controller);
    const holders = own.flatMap(({ state, holder = "" }) => (state === "held" ? [holder] : []));
    return { controller, holders, hasLease: own.length > 0, silent: own.find(({ state }) => state === "expired")?.holder };
  });
}

/** Whether every controller of a step is led; undefined if that cannot be known. What nobody leads is only as it was last reported. */
export function isLed(stage: StageStatus, status: Pick<CredentialStatus, "leasesUnread">): boolean | undefined {
  return leadershipOf(stage, status)?.every(({ holders }) => holders.length > 0);
}

/** Everything that somebody should look at, what matters most first. */
export function concernsOf(status: Pick<CredentialStatus, "steps">): readonly Placed[] {
  return placed(status)
    .filter(({ summary }) => summary.health === "attention" || summary.health === "unknown")
    .sort((left, right) => compareSummaries(left.summary, right.summary));
}

/** Everything that happens by itself, the soonest first. */
export function upcomingOf(status: Pick<CredentialStatus, "steps">): readonly (Placed & { readonly next: NextStep })[] {
  return placed(status)
    .flatMap(({ step, summary }) => (summary.next ? [{ step, summary, next: summary.next }] : []))
    .sort((left, right) => left.next.atMs - right.next.atMs || compareSummaries(left.summary, right.summary));
}

/** Every object, in the order of the steps. */
export function placed({ steps: all }: Pick<CredentialStatus, "steps">): readonly Placed[] {
  return all.flatMap(({ step, objects }) => objects.map((summary) => ({ step, summary })));
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

/**
 * The status of one credential: the objects that are named so or are about a Secret or a set of that name, and from there on everything that shares a
 * Secret or a set with them; and the checksums and agents of the namespaces in which they are.
 */
export function credentialStatusOf(status: CredentialStatus, subject: Subject): CredentialStatus {
  const all = placed(status).filter(({ step }) => step !== "verify");
  const found = new Set(all.filter(({ summary }) => isMeant(summary, subject)).map(({ summary }) => summary));
  for (let before = -1; before < found.size;) {
    before = found.size;
    const known = new Set([...found].flatMap((summary) => summary.names.map((name) => `${summary.namespace}/${name}`)));
    for (const { summary } of all) if (summary.names.some((name) => known.has(`${summary.namespace}/${name}`))) found.add(summary);
  }
  const namespaces = new Set([...found].map(({ namespace }) => namespace));
  const belongs = (step: StageStatus["step"], summary: Summary): boolean =>
    step === "verify" ? namespaces.has(summary.namespace) || isMeant(summary, subject) : found.has(summary);
  return { ...status, steps: status.steps.map((each) => ({ ...each, objects: each.objects.filter((summary) => belongs(each.step, summary)) })) };
}

/** True if the object is what the person has typed. `secret/x` is any object that is about a Secret of that name. */
function isMeant({ kind, name, names }: Summary, subject: Subject): boolean {
  if (subject.kind === undefined || /^secrets?$|^set$/.test(subject.kind)) return names.includes(subject.name);
  const own = kind.toLowerCase();
  return name === subject.name && (subject.kind === own || subject.kind === `${own}s` || subject.kind.startsWith(`${own}s.`));
}

// Credential status as data, for programs. Times are RFC 3339.

/** What `-o json` and `-o yaml` print. Fields are only ever added. */
export function statusData({ atMs, namespace, steps, leasesUnread }: CredentialStatus): object {
  return {
    time: time(atMs),
    namespace: namespace ?? null,
    steps: steps.map(({ step, feature, objects, unread, leases }) => ({
      step,
      controller: feature,
      counts: Object.fromEntries(healths.map((health) => [health, objects.filter((object) => object.health === health).length])),
      leases: leases.map(leaseData),
      unread,
      objects: objects.map(summaryData),
    })),
    ...(leasesUnread && { leasesUnread }),
  };
}

/** One object of it. */
export function summaryData({ kind, namespace, name, health, reason, message, sinceMs, detail, next, names }: Summary): object {
  return {
    kind,
    namespace,
    name,
    health,
    reason,
    message,
    ...(sinceMs !== undefined && { since: time(sinceMs) }),
    detail,
    ...(next && { next: { at: time(next.atMs), what: next.what } }),
    about: names,
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
