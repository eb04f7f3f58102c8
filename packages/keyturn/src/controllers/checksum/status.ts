// What a checksum's status says: whether it is the one that counts, and which objects it does not cover.
import { type Condition, setCondition } from "@keyturn/runtime";
import type { CheckSumStatus } from "./api.ts";
import { type PublishedCheckSum, rfc3339 } from "./check-sum-object.ts";
import type { Problem } from "./member-set.ts";
import type { ConditionReason } from "./reasons.ts";

/** As many objects are named in a status; all are counted. */
const mostProblemsNamed = 100;

const messages: Readonly<Record<Exclude<ConditionReason, "TooManyIds" | "Paused">, string>> = {
  Published: "the objects are as this checksum says",
  Reached: "the announced state is there",
  Awaited: "the announced state is still to come; nothing else is published until then",
  BatchAnnounced: "another state is announced; until it is there, or its time is over, this checksum stays and nothing else is published",
  Superseded: "a newer checksum has taken its place; this one stays for a while for gateways that are behind",
  EmptySet: "no object counts any more; a checksum of nothing is not published, so that gateways keep what they have (--checksum.publish-empty)",
};

const isTrue: ReadonlySet<ConditionReason> = new Set(["Published", "Reached"]);

/** What the status is made from. */
export interface StatusInput {
  /** What the condition `Current` says. */
  readonly reason: keyof typeof messages;
  /** Of the newest checksum; absent for the others. */
  readonly problems: readonly Problem[] | undefined;
  /** Set in the moment in which an announced state is there. */
  readonly reachedMs: number | undefined;
  readonly nowMs: number;
}

/** The whole status. Equal input gives an equal status, so that nothing is written when nothing happened. */
export function statusOf(checksum: PublishedCheckSum, { reason, problems, reachedMs, nowMs }: StatusInput): CheckSumStatus {
  const { status: previous, spec } = checksum.object;
  const current = { type: "Current", status: isTrue.has(reason) ? "True" : "False", reason, message: messages[reason] } as const;
  // Ready is what `kubectl wait` asks for: an announced state that is still to come is the one thing to wait for.
  const ready = { ...current, type: "Ready", status: reason === "Awaited" ? "False" : "True" } as const;
  const conditions = setCondition(setCondition(previous?.conditions ?? [], current, nowMs), ready, nowMs);
  const reached = reachedMs === undefined ? previous?.reached : rfc3339(reachedMs);
  return {
    conditions: [...(checksum.listsIds ? conditions : withoutIds(conditions, spec.count ?? 0, nowMs))],
    ...(reached !== undefined && { reached }),
    ...(problems && {
      problemCount: problems.length,
      problems: problems.slice(0, mostProblemsNamed).map(({ name, reason: why }) => ({ name, reason: why })),
    }),
  };
}

function withoutIds(conditions: readonly Condition[], count: number, nowMs: number): readonly Condition[] {
  const reason: ConditionReason = "TooManyIds";
  const message = `${count} ids do not fit into one object; the checksum is complete, but gateways cannot say which objects differ from it`;
  return setCondition(conditions, { type: "IdsListed", status: "False", reason, message }, nowMs);
}
