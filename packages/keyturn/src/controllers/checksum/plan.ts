// What is to be done in one namespace: a pure function of what was observed and the time.
import type { Notice, ObjectName } from "@keyturn/runtime";
import type { CheckSumStatus } from "./api.ts";
import { type CheckSumObject, checkSumObject, isOfState, type PublishedCheckSum, timestampMsOf } from "./check-sum-object.ts";
import { type History, historyOf } from "./history.ts";
import type { Observation, PublishingPolicy } from "./observation.ts";
import type { EventReason } from "./reasons.ts";
import { retentionOf } from "./retention.ts";
import { statusOf, type StatusInput } from "./status.ts";

/** What to do, in this order. */
export interface ChecksumPlan {
  /** The checksum to create. */
  readonly publish: CheckSumObject | undefined;
  readonly removals: readonly ObjectName[];
  readonly statuses: readonly { readonly checksum: PublishedCheckSum; readonly status: CheckSumStatus }[];
  readonly notices: readonly ChecksumNotice[];
  /** True if the plan rests on what the objects are now, so that it may be carried out only when that is certain. */
  readonly restsOnState: boolean;
  /** When time alone changes the plan. */
  readonly nextAtMs: number | undefined;
}

/** Something to say about one of the checksums. */
export interface ChecksumNotice extends Notice {
  readonly reason: EventReason;
  readonly about: ObjectName & { readonly uid?: string };
}

/**
 * Plans for a namespace. A new state is a new object, made before any old one goes; a published one is never changed.
 * While an announced state is awaited nothing else is published, and the last settled checksum stays.
 */
export function planChecksum(observation: Observation, policy: PublishingPolicy, nowMs: number): ChecksumPlan {
  const history = historyOf(observation.published, { state: observation.state, longestAnnouncementMs: policy.longestAnnouncementMs, nowMs });
  const { settled, awaited, reached } = history;
  const publish = newCheckSum(observation, history, { policy, nowMs });
  const current = publish ? undefined : settled[0];
  const earlier = publish ? settled : settled.slice(1);
  const retention = retentionOf(earlier, { replacedMs: current?.sinceMs ?? nowMs, policy, nowMs });
  // Without anything in its place a damaged checksum stays: none at all would switch the gateways' check off.
  const damaged = publish || current ? history.damaged : [];
  const statusWith = (checksum: PublishedCheckSum, reason: StatusInput["reason"], isNewest: boolean): ChecksumPlan["statuses"][number] => {
    const reachedMs = checksum === reached ? nowMs : undefined;
    return { checksum, status: statusOf(checksum, { reason, problems: isNewest ? observation.problems : undefined, reachedMs, nowMs }) };
  };
  const times = [retention.nextAtMs, awaited?.expiresMs].filter((timeMs) => timeMs !== undefined);
  return {
    publish,
    removals: [...retention.going, ...history.over, ...damaged].map(({ object }) => nameOfCheckSum(object)),
    statuses: [
      ...(awaited ? [statusWith(awaited.checksum, "Awaited", true)] : []),
      ...(current ? [statusWith(current.checksum, standingOf(current.checksum, observation, history), !awaited)] : []),
      ...retention.staying.map((checksum) => statusWith(checksum, "Superseded", false)),
    ],
    notices: noticesOf({ publish, reached, over: history.over, damaged }),
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

function noticesOf({
  publish,
  reached,
  over,
  damaged,
}: Pick<ChecksumPlan, "publish"> & Pick<History, "reached" | "over" | "damaged">): readonly ChecksumNotice[] {
  const about = ({ object }: PublishedCheckSum): ChecksumNotice["about"] => ({ ...nameOfCheckSum(object), uid: object.metadata.uid });
  const warn = (reason: EventReason, checksum: PublishedCheckSum, message: string): ChecksumNotice => ({
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
