// What is to be done about the checksums of one namespace: publish, wait, retain, report. A pure function of what was observed and the time.
import {
  type Blocker,
  type ConditionReport,
  earliest,
  findCondition,
  type Kind,
  type Moment,
  Namespace,
  type ObjectName,
  type Plan,
  type PlannedEvent,
  type StatusReport,
  type Write,
} from "@keyturn/runtime";
import { shellCommand } from "@keyturn/dashboard/contract";
import { type Pause, pausedAnnotation, pausedReason, pauseInWords, pauseOf } from "../../feature/pause-and-selection.ts";
import type { CheckSumStatus } from "./api.ts";
import { type LiveObjects, maxAheadMs, withChanges } from "./announcement.ts";
import { type ChangeLimits, countChanges, excessOf, type Peak, peaksOf, sincePeak, withMeant } from "./blast-radius.ts";
import {
  type CheckSumObject,
  checkSumObject,
  isOfState,
  type PublishedCheckSum,
  recordedPeaksOf,
  rfc3339,
  timestampMsOf,
} from "./check-sum-object.ts";
import { changesOf, type History, historyOf, retentionOf, type SettledCheckSum } from "./history.ts";
import { speakingOf, unspokenOf, wordsOf } from "./words.ts";
import type { Problem, SetState } from "./members.ts";
import { checksumReasons, type ConditionReason, type EventReason } from "./reasons.ts";

/** What was observed in a namespace, of one kind. */
export interface Observation {
  readonly namespace: string;
  /** The flags that say which scope it is, for commands in messages. */
  readonly scopeArguments: readonly string[];
  /** What the names of this kind's checksums begin with. */
  readonly prefix: string;
  /** The objects as they are. */
  readonly state: SetState;
  readonly problems: readonly Problem[];
  /** The member of a name. */
  readonly member: LiveObjects["member"];
  /** The checksums in the namespace that are ours, in any order. */
  readonly published: readonly PublishedCheckSum[];
  /** The ids of the checksum that counts; undefined while they were not asked for, or if it does not list them. */
  readonly publishedIds?: readonly string[] | undefined;
}

/** How checksums are published. */
export interface PublishingPolicy {
  /** The most checksums of earlier states that stay; at least 1. */
  readonly keep: number;
  /** How long the checksum of an earlier state stays after another took its place. */
  readonly keepForMs: number;
  readonly maxAnnouncementMs: number;
  readonly publishEmpty: boolean;
  /** How much may go or change at once without being announced. */
  readonly limits: ChangeLimits;
  /** Only what was announced and signed is published. */
  readonly signedOnly: boolean;
}

/** What to do, in this order. */
export interface ChecksumPlan {
  /** The checksum to create. */
  readonly publish: CheckSumObject | undefined;
  /** There is one that can tell if the new one is refused. */
  readonly hasEarlier: boolean;
  readonly removals: readonly ObjectName[];
  readonly statuses: readonly ChecksumReport[];
  readonly events: readonly ChecksumEvent[];
  /** True if something keeps the state as it is from being published until somebody does something about it. */
  readonly isHeld: boolean;
  /** True if the plan rests on what the objects are now, so that it may be carried out only when that is certain. */
  readonly restsOnState: boolean;
  /** When time alone changes the plan. */
  readonly nextAtMs: number | undefined;
}

/** What a checksum's status is to say. */
interface ChecksumReport extends Pick<StatusReport<Omit<CheckSumStatus, "conditions">>, "fields"> {
  readonly checksum: PublishedCheckSum;
  readonly conditions: Readonly<Record<string, ConditionReport>>;
}

/** Something to say about one of the checksums. */
interface ChecksumEvent extends PlannedEvent {
  readonly reason: EventReason;
  readonly about: ObjectName & { readonly uid?: string };
}

/**
 * Plans for a namespace. A new state is a new object, made before any old one goes; a published one is never changed.
 * While a part of an announcement is there nothing else is published, and the last settled checksum stays.
 */
export function planChecksum(observation: Observation, policy: PublishingPolicy, { nowMs, refused }: Moment): ChecksumPlan {
  const { state, member, published } = observation;
  const ids = new Set(published.some(changesOf) ? state.ids : []);
  const live: LiveObjects = { member, hasId: (id) => ids.has(id) };
  const isTrusted = ({ signedMs }: PublishedCheckSum): boolean => !policy.signedOnly || (signedMs !== undefined && signedMs <= nowMs + maxAheadMs);
  const history = historyOf(published, { state, live, isTrusted, maxAnnouncementMs: policy.maxAnnouncementMs, nowMs });
  const { settled, awaited, reached } = history;
  const { publish: wanted, held } = publicationOf(observation, history, { policy, isTrusted, nowMs });
  const refusal = wanted && refused.get(publicationPart);
  const publish = refusal ? undefined : wanted;
  const current = publish ? undefined : settled[0];
  const earlier = publish ? settled : settled.slice(1);
  const speaking = speakingOf(policy.signedOnly ? settled.filter(({ checksum }) => isTrusted(checksum)) : [], { member, nowMs });
  const retention = retentionOf(earlier, { replacedMs: current?.sinceMs ?? nowMs, policy, speaking, nowMs });
  // Without anything in its place a damaged checksum stays, and the last announcement whose time is over: none at all would switch the gateways' check off.
  const hasCurrent = publish !== undefined || current !== undefined;
  const damaged = hasCurrent ? history.damaged : [];
  const isLast = !hasCurrent && awaited.length === 0;
  const [outlasting, over] = isLast ? [history.over.slice(0, 1), history.over.slice(1)] : [[], history.over];
  const statusWith = (checksum: PublishedCheckSum, said: Standing, isNewest: boolean): ChecksumReport =>
    reportOf(checksum, { said, problems: isNewest ? observation.problems : undefined, reachedMs: reached.includes(checksum) ? nowMs : undefined });
  return {
    publish,
    hasEarlier: settled.length > 0,
    removals: [...retention.going, ...over, ...damaged].map(({ object }) => nameOfCheckSum(object)),
    statuses: [
      ...awaited.map(({ checksum, progress }, index) =>
        statusWith(checksum, standing(progress === "untrusted" ? "Unsigned" : "Awaited"), index === 0),
      ),
      ...(current ? [statusWith(current.checksum, refusal ?? held ?? standingOf(current.checksum, observation, history), awaited.length === 0)] : []),
      ...outlasting.map((checksum) => statusWith(checksum, refusal ?? held ?? standing("EmptySet"), true)),
      ...retention.staying.map((checksum) => statusWith(checksum, standing("Superseded"), false)),
    ],
    events: eventsOf({ publish, reached, over, damaged }),
    isHeld: held !== undefined,
    // An announcement that seems to be over may have been reached, if the cache is behind.
    restsOnState: wanted !== undefined || held !== undefined || reached.length > 0 || over.length > 0,
    nextAtMs: earliest([retention.nextAtMs, ...awaited.map(({ expiresMs }) => expiresMs)]),
  };
}

/** The checksum of the state as it is, if there is to be a new one, or what stands against it. */
function publicationOf(
  observation: Observation,
  { settled, awaited, reached }: History,
  {
    policy,
    isTrusted,
    nowMs,
  }: { readonly policy: PublishingPolicy; readonly isTrusted: (checksum: PublishedCheckSum) => boolean; readonly nowMs: number },
): { readonly publish?: CheckSumObject; readonly held?: Standing } {
  const { state, published, namespace, prefix } = observation;
  const [last] = settled;
  if (awaited.some(({ progress }) => progress === "begun")) return {};
  const saying = settled.filter(({ checksum }) => changesOf(checksum) && isTrusted(checksum));
  // Also of a state for which there is a checksum already: whoever can write checksums can say anything.
  const unsaid = policy.signedOnly
    ? unannounced(
        observation,
        saying.map(({ checksum }) => checksum),
      )
    : undefined;
  if (unsaid) return { held: unsaid };
  if (last && isOfState(last.checksum, state)) return {};
  if (state.ids.length === 0 && !policy.publishEmpty) return {};
  // What came about before the last checksum was made is in it: no word lets the same through twice.
  const isSince = ({ sinceMs }: SettledCheckSum): boolean =>
    last !== undefined && (changesOf(last.checksum) ? sinceMs >= last.sinceMs : sinceMs > last.sinceMs);
  const before = last && stateBefore(observation, last.checksum, { announced: saying.filter(isSince).map(({ checksum }) => checksum), nowMs });
  const held = before && !policy.signedOnly ? largeChange(observation, before, policy.limits) : undefined;
  if (held) return { held };
  // The order of checksums is that of their timestamps, whatever the clocks of those who made them say.
  const latestMs = Math.max(...[...published, ...reached].map(timestampMsOf));
  const timestampMs = Math.max(Math.floor(nowMs / 1000) * 1000, latestMs + 1000);
  return { publish: checkSumObject(state, { namespace, prefix, timestampMs, peaks: before?.peaks }) };
}

/** What was there until now, with what was announced laid over it. */
interface StateBefore {
  /** Undefined where they are not listed: all that is known then is how many are fewer. */
  readonly ids: readonly string[] | undefined;
  readonly count: number;
  readonly peaks: readonly [Peak, ...Peak[]];
  /** The same when it was first held, if it is: what somebody has to look at does not go through when nobody does. */
  readonly peaksWhenHeld: readonly [Peak, ...Peak[]];
}

function stateBefore(
  { publishedIds }: Observation,
  last: PublishedCheckSum,
  { announced, nowMs }: { readonly announced: readonly PublishedCheckSum[]; readonly nowMs: number },
): StateBefore {
  const oldestFirst = announced.toReversed().flatMap((checksum) => changesOf(checksum) ?? []);
  const ids = publishedIds && withChanges(publishedIds, oldestFirst);
  const count = ids?.length ?? last.object.spec.count ?? 0;
  const meant = count - (publishedIds?.length ?? count);
  const earlier = withMeant(recordedPeaksOf(last), meant);
  return { ids, count, peaks: peaksOf(count, earlier, nowMs), peaksWhenHeld: peaksOf(count, earlier, heldSinceMs(last) ?? nowMs) };
}

/** Since when a large change has been held. */
function heldSinceMs({ object: { status } }: PublishedCheckSum): number | undefined {
  const current = findCondition(status?.conditions, "Current");
  return current?.reason === ("LargeChange" satisfies ConditionReason) ? Date.parse(current.lastTransitionTime) : undefined;
}

/** Holds back what takes much away, unless it was announced. */
function largeChange(
  { state, namespace, scopeArguments }: Observation,
  { ids, count, peaksWhenHeld }: StateBefore,
  limits: ChangeLimits,
): Standing | undefined {
  const counts = ids ? countChanges(ids, state.ids) : { total: count, vanished: Math.max(0, count - state.ids.length), changed: 0 };
  const excess = excessOf(sincePeak(counts, peaksWhenHeld, state.ids.length), limits);
  if (excess === undefined) return undefined;
  const allowCommand = shellCommand`keyturn checksum allow -n ${namespace} ${scopeArguments}`;
  const message = `${excess}, and nobody announced it; nothing is published until it is undone, or let through by \`${allowCommand}\``;
  return { reason: "LargeChange", message };
}

/** Holds back everything that no signed announcement speaks of. */
function unannounced({ state, member, namespace, scopeArguments }: Observation, announced: readonly PublishedCheckSum[]): Standing | undefined {
  const unsaid = unspokenOf(wordsOf(announced), { state: () => state, get: member });
  if (unsaid === undefined) return undefined;
  return {
    reason: "Unannounced",
    message: `${unsaid}; announce them with \`keyturn checksum announce --sign\`, or all of them with \`${shellCommand`keyturn checksum allow -n ${namespace} ${scopeArguments} --sign`}\``,
  };
}

/** What is said of the checksum that counts. */
function standingOf(current: PublishedCheckSum, { state }: Observation, { awaited }: History): Standing {
  if (isOfState(current, state)) return standing(current.object.spec.announcement ? "Reached" : "Published");
  return standing(awaited.some(({ progress }) => progress === "begun") ? "BatchAnnounced" : "EmptySet");
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
    ...reached.map(
      (checksum) => ({ type: "Normal", reason: "AnnouncementReached", message: "the announced state is there", about: about(checksum) }) as const,
    ),
    ...over.map((checksum) => warn("AnnouncementExpired", checksum, "the announced state did not come in time; the state as it is takes its place")),
    ...damaged.map((checksum) =>
      warn("ChecksumDamaged", checksum, "it no longer says what was published; it goes, and what holds is published anew"),
    ),
  ];
}

function nameOfCheckSum({ metadata: { namespace = "", name = "" } }: CheckSumObject): ObjectName {
  return { namespace, name };
}

// What a checksum's status says: whether it is the one that counts, and which objects it does not cover.

/** What a condition says: by our own rules, or why the API server refused the checksum that is due. */
type Standing = { readonly reason: Exclude<ConditionReason, "TooManyIds" | "Paused">; readonly message: string } | Blocker;

function standing(reason: keyof typeof messages): Standing {
  return { reason, message: messages[reason] };
}

/** What the status is made from. */
interface StatusInput {
  /** What the condition `Current` says. */
  readonly said: Standing;
  /** Of the newest checksum; absent for the others. */
  readonly problems: readonly Problem[] | undefined;
  /** Set in the moment in which an announced state is there. */
  readonly reachedMs: number | undefined;
}

const messages: Readonly<Record<Exclude<ConditionReason, "TooManyIds" | "Paused" | "LargeChange" | "Unannounced">, string>> = {
  Published: "the objects are as this checksum says",
  Reached: "the announced state is there",
  Awaited: "the announced state is still to come; from its first change to its last, nothing else is published",
  Unsigned: "it is not signed by a key that counts here, so that it announces nothing",
  BatchAnnounced: "a part of an announced state is there; until all of it is, or its time is over, this checksum stays and nothing else is published",
  Superseded: "a newer checksum has taken its place; this one stays for a while for gateways that are behind",
  EmptySet: "no object counts any more; a checksum of nothing is not published, so that gateways keep what they have (--checksum.publish-empty)",
};

const isTrue: ReadonlySet<string> = new Set<ConditionReason>(["Published", "Reached"]);

/** As many objects are named in a status; all are counted. */
const maxProblemsNamed = 100;

/** The whole status. Equal input gives an equal report, so that nothing is written when nothing happened. */
function reportOf(checksum: PublishedCheckSum, { said, problems, reachedMs }: StatusInput): ChecksumReport {
  const { status: previous, spec } = checksum.object;
  const { reason, message } = said;
  const isReady = Object.hasOwn(checksumReasons, reason) && reason !== "Awaited" && reason !== "Unsigned";
  const reached = reachedMs === undefined ? previous?.reached : rfc3339(reachedMs);
  return {
    checksum,
    conditions: {
      Current: { status: isTrue.has(reason) ? "True" : "False", reason, message },
      // Ready is what `kubectl wait` asks for: an announced state is to be waited for while it is still to come, and any while it is refused.
      Ready: { status: isReady ? "True" : "False", reason, message },
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
    hasEarlier: true,
    removals: [],
    statuses: newest ? [{ checksum: newest, conditions: { Current: paused("Current"), Ready: paused("Ready") } }] : [],
    events: [],
    isHeld: false,
    restsOnState: false,
    nextAtMs: pause.untilMs,
  };
}

// The plan in the engine's words.

/** What is set aside while the new checksum is refused. */
const publicationPart = "publication";

/** The plan as steps: the new checksum before any old one goes, each with what is said of it. */
export function stepsOf(plan: ChecksumPlan, kind: Kind, namespace: string): Plan {
  const owner = { kind: Namespace, name: { name: namespace } };
  const { publish, hasEarlier, removals, statuses, nextAtMs } = plan;
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
    const { name = "" } = publish.metadata;
    steps.unshift({
      verb: "apply",
      kind,
      object: publish,
      owner,
      // The caches were just seen to be up to date, so that nothing has this name but the same checksum, made by another replica.
      live: { seen: "absent" },
      ...(hasEarlier && { part: publicationPart }),
      // Its time, and with that its name, is another at every try.
      input: `${publish.spec.checksum} ${publish.spec.sha256 ?? ""}`,
      nameInWords: `${name.slice(0, name.lastIndexOf("-"))}-…`,
      log,
      events: eventsAbout(name),
    });
  }
  return {
    steps,
    status: statuses.map(({ checksum: { object }, conditions, fields }) => ({ regarding: { kind, object }, conditions, fields })),
    events: plan.events.filter(({ about }) => !going.has(about.name)).map(said),
    nextAtMs,
  };
}
