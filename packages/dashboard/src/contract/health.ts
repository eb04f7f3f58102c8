// What may be said about how things fare: one order, one count and one place that says `unknown`, for `keyturn status` and the page alike.
import type { Health, StageRecord } from "./records.ts";

/** What matters most first. */
export const healthOrder: readonly Health[] = ["failed", "degraded", "unknown", "progressing", "paused", "healthy"];

/** Whether somebody should look. */
export function needsAttention({ health }: { readonly health: Health }): boolean {
  return health === "failed" || health === "degraded" || health === "unknown";
}

/** How many there are of each health. */
export type HealthCounts = Readonly<Record<Health, number>>;

export function countHealth(records: readonly { readonly health: Health }[]): HealthCounts {
  const counts = { failed: 0, degraded: 0, unknown: 0, progressing: 0, paused: 0, healthy: 0 };
  for (const { health } of records) counts[health]++;
  return counts;
}

/** Several counts as one. */
export function sumCounts(parts: readonly HealthCounts[]): HealthCounts {
  const counts = { failed: 0, degraded: 0, unknown: 0, progressing: 0, paused: 0, healthy: 0 };
  for (const part of parts) for (const health of healthOrder) counts[health] += part[health];
  return counts;
}

/** The health that a whole has: that of the part that matters most. */
export function worstHealth(counts: HealthCounts): Health {
  return healthOrder.find((health) => counts[health] > 0) ?? "healthy";
}

// What is not known, and why. A step about which there is a doubt is not well, whatever its objects said last.

/** Why nothing certain can be said about a step. `loading` passes by itself. */
export interface Doubt {
  readonly about: "page" | "server" | "rights" | "leader" | "loading";
  readonly message: string;
  /** When what is shown was last known to be so. */
  readonly asOfMs?: number;
  /** What its objects said last may no longer be so: they are too old, or nobody works on them. */
  readonly outdates?: OutdatedReason;
  /** The resources of those objects. Absent: all of the step's. */
  readonly only?: readonly string[];
}

/** The reasons of objects that are unknown because all of their step is. */
type OutdatedReason = "NotHeard" | "NotLed";

/** As much of a step as doubts are made from. */
type KnownStage = Pick<StageRecord, "state" | "troubles" | "hidden" | "leader" | "asOfMs">;

/** Whether a step is there at all: switched on, and installed. */
export function isShown({ state }: Pick<StageRecord, "state">): boolean {
  return state !== "off" && state !== "absent";
}

/** All that is doubtful about a step. Nothing is about one that is switched off or not installed. `cutAtMs`: since when nothing is heard of it at all. */
export function doubtsAbout(stage: KnownStage | undefined, cutAtMs?: number): readonly Doubt[] {
  if (cutAtMs !== undefined) return [{ about: "page", message: "this page is cut off from its server", asOfMs: cutAtMs, outdates: "NotHeard" }];
  if (stage === undefined) return [{ about: "loading", message: "nothing has been read yet" }];
  if (!isShown(stage)) return [];
  const { troubles, hidden, leader, asOfMs } = stage;
  const doubts: Doubt[] = [];
  const failing = troubles.find(({ state }) => state === "retrying");
  if (failing) {
    doubts.push({ about: "server", message: `no answer: ${failing.message}`, outdates: "NotHeard", ...(asOfMs !== undefined && { asOfMs }) });
  }
  const refused = troubles
    .filter(({ state }) => state === "forbidden")
    .map(({ resource, namespace }) => (namespace === undefined ? resource : `${resource} in ${namespace}`));
  if (refused.length + hidden.length > 0)
    doubts.push({ about: "rights", message: `no right to list ${[...new Set([...refused, ...hidden])].join(", ")}` });
  if (leader?.state === "none") {
    const { message, only } = leader;
    doubts.push({ about: "leader", message: `no leader: ${message}`, outdates: "NotLed", ...(only && { only }) });
  }
  if (leader?.state === "unknown") doubts.push({ about: "leader", message: `whether somebody leads is not known: ${leader.message}` });
  if (leader === undefined || troubles.some(({ state }) => state === "syncing")) doubts.push({ about: "loading", message: "being listed" });
  return doubts;
}

/** How a step fares: as the worst of its objects, if that can be said. It is not well if some of them cannot be seen, however well the others are. */
export function stageHealth(stage: Pick<StageRecord, "state" | "shownIn">, doubts: readonly Doubt[], counts: HealthCounts): Health {
  if (!isShown(stage) || doubts.length > 0) return "unknown";
  const worst = worstHealth(counts);
  return stage.shownIn !== undefined && worst !== "failed" && worst !== "degraded" ? "unknown" : worst;
}

/** What is said about an object, and about those that it is made of. */
interface Said {
  readonly ref: { readonly resource: string };
  readonly health: Health;
  readonly reason: string;
  readonly message: string;
  readonly lanes?: readonly Said[];
}

/**
 * What may be said about an object now, from what was said last: what was well, or on its way, is unknown while its step is outdated.
 * What was wrong is probably no better. The same object if nothing is outdated.
 */
export function believed<R extends Said>(record: R, doubts: readonly Doubt[]): R {
  const { ref, health, reason, message, lanes } = record;
  const doubt = doubts.find((each) => outdates(each, ref));
  if (doubt?.outdates === undefined) return record;
  const last = `${reason}${message === "" ? "" : `: ${message}`}`;
  const said = { health: "unknown", reason: doubt.outdates, message: `${doubt.message}; last reported: ${last}` } as const;
  return {
    ...record,
    ...(health === "healthy" || health === "progressing" ? said : {}),
    ...(lanes && { lanes: lanes.map((lane) => believed(lane, doubts)) }),
  };
}

/** Whether what an object said last may no longer be so for this reason. */
export function outdates({ outdates: reason, only }: Doubt, { resource }: { readonly resource: string }): boolean {
  return reason !== undefined && (only === undefined || only.includes(resource));
}

/** Whether an object is unknown only because all of its step is. */
export function isDoubted({ health, reason }: Pick<Said, "health" | "reason">): boolean {
  return health === "unknown" && (reason === "NotHeard" || reason === "NotLed");
}
