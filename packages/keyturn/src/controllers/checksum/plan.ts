// What is to be done about the checksums of one namespace: publish, wait, retain, report. A pure function of what was observed and the time.
import {
  type ConditionReport,
  findCondition,
  type Kind,
  Namespace,
  type ObjectName,
  type Plan,
  type PlannedEvent,
  type StatusReport,
  type Write,
} from "@keyturn/runtime";
import { type Pause, pausedAnnotation, pausedReason, pauseInWords, pauseOf } from "../../feature/pause-and-selection.ts";
import type { CheckSumStatus } from "./api.ts";
import { type CheckSumObject, checkSumObject, isOfState, type PublishedCheckSum, rfc3339, timestampMsOf } from "./check-sum-object.ts";
import type { Problem, SetState } from "./members.ts";
import type { ConditionReason, EventReason } from "./reasons.ts";

/** What was observed in a namespace, of one kind. */
export interface Observation {
  readonly namespace: string;
  /** What the names of this kind's checksums begin with. */
  readonly prefix: string;
  /** The objects as they are. */
  readonly state: SetState;
  readonly problems: readonly Problem[];
  /** The checksums in the namespace that are ours, in any order. */
  readonly published: readonly PublishedCheckSum[];
}

/** How checksums are published. */
export interface PublishingPolicy {
  /** The most checksums of earlier states that stay; at least 1. */
  readonly keep: number;
  /** How long the checksum of an earlier state stays after another took its place. */
  readonly keepForMs: number;
  readonly maxAnnouncementMs: number;
  readonly publishEmpty: boolean;
}

/** What to do, in this order. */
export interface ChecksumPlan {
  /** The checksum to create. */
  readonly publish: CheckSumObject | undefined;
  readonly removals: readonly ObjectName[];
  readonly statuses: readonly ChecksumReport[];
  readonly events: readonly ChecksumEvent[];
  /** True if the plan rests on what the objects are now, so that it may be carried out only when that is certain. */
  readonly restsOnState: boolean;
  /** When time alone changes the plan. */
  readonly nextAtMs: number | undefined;
}

/** What a checksum's status is to say. */
export interface ChecksumReport extends Pick<StatusReport<Omit<CheckSumStatus, "conditions">>, "fields"> {
  readonly checksum: PublishedCheckSum;
  readonly conditions: Readonly<Record<string, ConditionReport<ConditionReason>>>;
}

/** Something to say about one of the checksums. */
interface ChecksumEvent extends PlannedEvent {
  readonly reason: EventReason;
  readonly about: ObjectName & { readonly uid?: string };
}

/**
 * Plans for a namespace. A new state is a new object, made before any old one goes; a published one is never changed.
 * While an announced state is awaited nothing else is published, and the last settled checksum stays.
 */
export function planChecksum(observation: Observation, policy: PublishingPolicy, nowMs: number): ChecksumPlan {
  const history = historyOf(observation.published, { state: observation.state, maxAnnouncementMs: policy.maxAnnouncementMs, nowMs });
  const { settled, awaited, reached } = history;
  const publish = newCheckSum(observation, history, { policy, nowMs });
  const current = publish ? undefined : settled[0];
  const earlier = publish ? settled : settled.slice(1);
  const retention = retentionOf(earlier, { replacedMs: current?.sinceMs ?? nowMs, policy, nowMs });
  // Without anything in its place a damaged checksum stays: none at all would switch the gateways' check off.
  const damaged = publish || current ? history.damaged : [];
  const statusWith = (checksum: PublishedCheckSum, reason: StatusInput["reason"], isNewest: boolean): ChecksumReport =>
    reportOf(checksum, { reason, problems: isNewest ? observation.problems : undefined, reachedMs: checksum === reached ? nowMs : undefined });
  const times = [retention.nextAtMs, awaited?.expiresMs].filter((timeMs) => timeMs !== undefined);
  return {
    publish,
    removals: [...retention.going, ...history.over, ...damaged].map(({ object }) => nameOfCheckSum(object)),
    statuses: [
      ...(awaited ? [statusWith(awaited.checksum, "Awaited", true)] : []),
      ...(current ? [statusWith(current.checksum, standingOf(current.checksum, observation, history), !awaited)] : []),
      ...retention.staying.map((checksum) => statusWith(checksum, "Superseded", false)),
    ],
    events: eventsOf({ publish, reached, over: history.over, damaged }),
    // An announcement that seems to be over may have been reached, if the cache is behind.
    restsOnState: publish !== undefined || reached !== undefined || history.over.length > 0,
    nextAtMs: times.length > 0 ? Math.min(...times) : undefined,
  };
}

/** The checksum of the state as it is, if there is to be a new one. */
function newCheckSum(
  { state, published, namespace, prefix }: Observation,
  { settled, awaited }: History,
  { policy, nowMs }: { readonly policy: PublishingPolicy; readonly nowMs: number },
): CheckSumObject | undefined {
  if (awaited || (settled[0] && isOfState(settled[0].checksum, state))) return undefined;
  if (state.ids.length === 0 && !policy.publishEmpty) return undefined;
  // The order of checksums is that of their timestamps, whatever the clocks of those who made them say.
  const latestMs = Math.max(...published.map(timestampMsOf).filter((timeMs) => !Number.isNaN(timeMs)));
  const timestampMs = Math.max(Math.floor(nowMs / 1000) * 1000, latestMs + 1000);
  return checkSumObject(state, { namespace, prefix, timestampMs });
}

/** What is said of the checksum that counts. */
function standingOf(current: PublishedCheckSum, { state }: Observation, { awaited }: History): StatusInput["reason"] {
  if (isOfState(current, state)) return current.object.spec.announcement ? "Reached" : "Published";
  return awaited ? "BatchAnnounced" : "EmptySet";
}

function eventsOf({
  publish,
  reached,
  over,
  damaged,
}: Pick<ChecksumPlan, "publish"> & Pick<History, "reached" | "over" | "damaged">): readonly ChecksumEvent[] {
  const about = ({ object }: PublishedCheckSum): ChecksumEvent["about"] => ({ ...nameOfCheckSum(object), uid: object.metadata.uid });
  const warn = (reason: EventReason, checksum: PublishedCheckSum, message: string): ChecksumEvent => ({
    type: "Warning",
    reason,
    message,
    about: about(checksum),
  });
  return [
    ...(publish
      ? [
          {
            type: "Normal",
            reason: "ChecksumPublished",
            message: `published ${publish.spec.checksum} of ${publish.spec.count} objects`,
            about: nameOfCheckSum(publish),
          } as const,
        ]
      : []),
    ...(reached ? [{ type: "Normal", reason: "AnnouncementReached", message: "the announced state is there", about: about(reached) } as const] : []),
    ...over.map((checksum) => warn("AnnouncementExpired", checksum, "the announced state did not come in time; the state as it is takes its place")),
    ...damaged.map((checksum) =>
      warn("ChecksumDamaged", checksum, "it no longer says what was published; it goes, and what holds is published anew"),
    ),
  ];
}

function nameOfCheckSum({ metadata: { namespace = "", name = "" } }: CheckSumObject): ObjectName {
  return { namespace, name };
}

// The checksums in their order: which of them counts, which came before it, which is announced.

/** A checksum whose state has been there. */
interface SettledCheckSum {
  readonly checksum: PublishedCheckSum;
  /** Since when it counts: since it was made, or, if it was announced, since its state was there. */
  readonly sinceMs: number;
}

/** The checksums of a namespace that are ours. */
interface History {
  /** Newest first; the first is the one that counts. */
  readonly settled: readonly SettledCheckSum[];
  /** The announced state that is still to come. */
  readonly awaited: { readonly checksum: PublishedCheckSum; readonly expiresMs: number } | undefined;
  /** The announced state that is there now for the first time; the first of `settled`. */
  readonly reached: PublishedCheckSum | undefined;
  /** Announced states that did not come in time, or that a newer checksum has overtaken. */
  readonly over: readonly PublishedCheckSum[];
  /** What somebody changed after it was published. */
  readonly damaged: readonly PublishedCheckSum[];
}

/** Puts the checksums in order. Nobody can announce for longer than `maxAnnouncementMs`, counted from the API server's own date. */
export function historyOf(
  published: readonly PublishedCheckSum[],
  { state, maxAnnouncementMs, nowMs }: { readonly state: SetState; readonly maxAnnouncementMs: number; readonly nowMs: number },
): History {
  const newestFirst = published.filter(({ intact }) => intact).sort(newerFirst);
  const settled = newestFirst.filter((checksum) => !isUnreached(checksum)).map((checksum) => ({ checksum, sinceMs: countsSinceMs(checksum) }));
  const announced = newestFirst.filter(isUnreached);
  const [last] = settled;
  const open = announced.find((checksum) => !last || newerFirst(checksum, last.checksum) < 0);
  const reached = open && isOfState(open, state) ? open : undefined;
  const expiresMs = open ? expiryMsOf(open, maxAnnouncementMs) : 0;
  const awaited = open && !reached && nowMs < expiresMs ? { checksum: open, expiresMs } : undefined;
  return {
    settled: reached ? [{ checksum: reached, sinceMs: nowMs }, ...settled] : settled,
    awaited,
    reached,
    over: announced.filter((checksum) => checksum !== reached && checksum !== awaited?.checksum),
    damaged: published.filter(({ intact }) => !intact),
  };
}

/** Of two checksums of the same second one must come first, and always the same one. */
function newerFirst(left: PublishedCheckSum, right: PublishedCheckSum): number {
  return timestampMsOf(right) - timestampMsOf(left) || (left.object.metadata.name < right.object.metadata.name ? -1 : 1);
}

function isUnreached({ object: { spec, status } }: PublishedCheckSum): boolean {
  return spec.announcement !== undefined && status?.reached === undefined;
}

function countsSinceMs({ object: { metadata, spec, status } }: PublishedCheckSum): number {
  return Date.parse(status?.reached ?? metadata.creationTimestamp ?? spec.timestamp);
}

function expiryMsOf({ object: { metadata, spec } }: PublishedCheckSum, maxMs: number): number {
  return Math.min(Date.parse(spec.announcement?.expires ?? spec.timestamp), Date.parse(metadata.creationTimestamp ?? spec.timestamp) + maxMs);
}

// How long checksums of earlier states stay: long enough for gateways that are a little behind, not so long that a stale state is accepted for ever.

/** Which of the earlier ones stay and which go. */
interface Retention {
  readonly staying: readonly PublishedCheckSum[];
  readonly going: readonly PublishedCheckSum[];
  /** When the next of those that stay goes. */
  readonly nextAtMs: number | undefined;
}

/** Decides about earlier checksums, newest first. `replacedMs` is when the newest of them was replaced; each of the others was by the one before it. */
function retentionOf(
  earlier: readonly SettledCheckSum[],
  {
    replacedMs,
    policy,
    nowMs,
  }: { readonly replacedMs: number; readonly policy: Pick<PublishingPolicy, "keep" | "keepForMs">; readonly nowMs: number },
): Retention {
  const dated = earlier.map(({ checksum }, index) => ({ checksum, goesAtMs: (earlier[index - 1]?.sinceMs ?? replacedMs) + policy.keepForMs }));
  const stays = ({ goesAtMs }: { readonly goesAtMs: number }, index: number): boolean => index < policy.keep && nowMs < goesAtMs;
  const staying = dated.filter(stays);
  return {
    staying: staying.map(({ checksum }) => checksum),
    going: dated.filter((each, index) => !stays(each, index)).map(({ checksum }) => checksum),
    nextAtMs: staying.length > 0 ? Math.min(...staying.map(({ goesAtMs }) => goesAtMs)) : undefined,
  };
}

// What a checksum's status says: whether it is the one that counts, and which objects it does not cover.

/** What the status is made from. */
interface StatusInput {
  /** What the condition `Current` says. */
  readonly reason: keyof typeof messages;
  /** Of the newest checksum; absent for the others. */
  readonly problems: readonly Problem[] | undefined;
  /** Set in the moment in which an announced state is there. */
  readonly reachedMs: number | undefined;
}

const messages: Readonly<Record<Exclude<ConditionReason, "TooManyIds" | "Paused">, string>> = {
  Published: "the objects are as this checksum says",
  Reached: "the announced state is there",
  Awaited: "the announced state is still to come; nothing else is published until then",
  BatchAnnounced: "another state is announced; until it is there, or its time is over, this checksum stays and nothing else is published",
  Superseded: "a newer checksum has taken its place; this one stays for a while for gateways that are behind",
  EmptySet: "no object counts any more; a checksum of nothing is not published, so that gateways keep what they have (--checksum.publish-empty)",
};

const isTrue: ReadonlySet<ConditionReason> = new Set(["Published", "Reached"]);

/** As many objects are named in a status; all are counted. */
const maxProblemsNamed = 100;

/** The whole status. Equal input gives an equal report, so that nothing is written when nothing happened. */
function reportOf(checksum: PublishedCheckSum, { reason, problems, reachedMs }: StatusInput): ChecksumReport {
  const { status: previous, spec } = checksum.object;
  const said = { reason, message: messages[reason] };
  const reached = reachedMs === undefined ? previous?.reached : rfc3339(reachedMs);
  return {
    checksum,
    conditions: {
      Current: { status: isTrue.has(reason) ? "True" : "False", ...said },
      // Ready is what `kubectl wait` asks for: an announced state that is still to come is the one thing to wait for.
      Ready: { status: reason === "Awaited" ? "False" : "True", ...said },
      ...(!checksum.listsIds && { IdsListed: withoutIds(spec.count ?? 0) }),
    },
    fields: {
      ...(reached !== undefined && { reached }),
      ...(problems && {
        problemCount: problems.length,
        problems: problems.slice(0, maxProblemsNamed).map(({ name, reason: why }) => ({ name, reason: why })),
      }),
    },
  };
}

function withoutIds(count: number): ConditionReport<ConditionReason> {
  const message = `${count} ids do not fit into one object; the checksum is complete, but gateways cannot say which objects differ from it`;
  return { status: "False", reason: "TooManyIds", message };
}

// A namespace in which nothing is published for now, because people said so on it or on one of its checksums.

/** The pause of a namespace: that of the namespace itself, or else of any of its checksums. */
export function pauseOfNamespace(paused: string | undefined, published: readonly PublishedCheckSum[], nowMs: number): Pause | undefined {
  const own = pauseOf(paused, nowMs);
  if (own) return { ...own, by: "its namespace" };
  for (const { object } of published) {
    const pause = pauseOf(object.metadata.annotations?.[pausedAnnotation], nowMs);
    if (pause) return { ...pause, by: object.metadata.name };
  }
  return undefined;
}

/** The newest of the checksums. */
export function newestOf(published: readonly PublishedCheckSum[]): PublishedCheckSum | undefined {
  return published.toSorted((a, b) => timestampMsOf(b) - timestampMsOf(a))[0];
}

/** Publishes nothing and removes nothing; the newest checksum says why. */
export function pausedChecksumPlan(published: readonly PublishedCheckSum[], pause: Pause): ChecksumPlan {
  const newest = newestOf(published);
  const paused = (type: string): ConditionReport<ConditionReason> => {
    const status = findCondition(newest?.object.status?.conditions, type)?.status ?? "Unknown";
    return { status, reason: pausedReason, message: pauseInWords(pause) };
  };
  return {
    publish: undefined,
    removals: [],
    statuses: newest ? [{ checksum: newest, conditions: { Current: paused("Current"), Ready: paused("Ready") } }] : [],
    events: [],
    restsOnState: false,
    nextAtMs: pause.untilMs,
  };
}

// The plan in the engine's words.

/** The plan as steps: the new checksum before any old one goes, each with what is said of it. */
export function stepsOf(plan: ChecksumPlan, kind: Kind, namespace: string): Plan {
  const owner = { kind: Namespace, name: { name: namespace } };
  const { publish, removals, statuses, nextAtMs } = plan;
  const eventsAbout = (wanted: string | undefined): readonly PlannedEvent[] => plan.events.filter(({ about }) => about.name === wanted).map(said);
  const said = ({ about, ...event }: ChecksumEvent): PlannedEvent => ({
    ...event,
    action: "Publish",
    regarding: { kind, object: { metadata: about } },
  });
  const going = new Set([publish?.metadata.name, ...removals.map(({ name }) => name)]);
  const steps: Write[] = removals.map((name) => ({ verb: "delete", kind, name, owner, events: eventsAbout(name.name) }));
  if (publish) {
    const fields = { namespace, checksum: publish.spec.checksum, count: publish.spec.count };
    const log = { message: "published a checksum", fields };
    // The caches were just seen to be up to date, so that nothing has this name but the same checksum, made by another replica.
    steps.unshift({ verb: "apply", kind, object: publish, owner, live: { seen: "absent" }, log, events: eventsAbout(publish.metadata.name) });
  }
  return {
    steps,
    status: statuses.map(({ checksum: { object }, conditions, fields }) => ({ regarding: { kind, object }, conditions, fields })),
    events: plan.events.filter(({ about }) => !going.has(about.name)).map(said),
    nextAtMs,
  };
}
