// What the agent says about itself: one description for `/status`, `status.json`, the Lease, metrics and the log.
import type { NoticeResult } from "./change-notifier.ts";
import type { Decision } from "./decision.ts";
import type { Generation } from "./generation-store.ts";
import type { SecretDifference } from "./set-difference.ts";
import type { Alarm } from "./situations.ts";

/** An alarm with its reason. */
export interface RaisedAlarm {
  readonly alarm: Alarm;
  readonly message: string;
}

/** How the last attempt at something went. */
export interface Attempt {
  readonly ok: boolean;
  readonly at: string;
  readonly durationMs: number;
  readonly detail: string;
}

/** The agent, described. Holds nothing of any Secret's content. */
export interface AgentStatus {
  readonly namespace: string;
  readonly identity: string;
  /** `starting` until the first decision. `promote` shows only while a promotion waits for its turn or is tried again. */
  readonly state: Decision["state"] | "starting";
  /** What `current` points to. */
  readonly generation: string | undefined;
  readonly checksum: string | undefined;
  readonly promotedAt: string | undefined;
  readonly verifiedAt: string | undefined;
  readonly secrets: { readonly promoted: number; readonly live: number | undefined; readonly leftOut: number | undefined };
  readonly alarms: readonly RaisedAlarm[];
  /** Everything that stands against the live set, whether it is an alarm or not. */
  readonly objections: Decision["objections"];
  readonly differenceCounts: Readonly<Record<SecretDifference["direction"], number>>;
  /** The first of them. */
  readonly differences: readonly SecretDifference[];
  readonly promotion: Attempt | undefined;
  readonly command: Attempt | undefined;
}

/** What a description is made from. */
export interface StatusFacts {
  readonly namespace: string;
  readonly identity: string;
  readonly decision: Decision | undefined;
  readonly promoted: Generation | undefined;
  readonly verifiedAtMs: number | undefined;
  readonly live: number | undefined;
  readonly leftOut: number | undefined;
  /** Alarms that no decision raises. */
  readonly troubles: readonly RaisedAlarm[];
  readonly promotion: Attempt | undefined;
  readonly command: Attempt | undefined;
}

/** Differences that are listed; the counts cover all of them, and `keyturn diff` shows them. */
const mostDifferences = 100;

export function describeAgent(facts: StatusFacts): AgentStatus {
  const { namespace, identity, decision, promoted, verifiedAtMs, live, leftOut, troubles, promotion, command } = facts;
  const differences = decision?.differences ?? [];
  const count = (direction: SecretDifference["direction"]): number => differences.filter((each) => each.direction === direction).length;
  return {
    namespace,
    identity,
    state: decision?.state ?? "starting",
    generation: promoted?.name,
    checksum: promoted?.manifest.checksum,
    promotedAt: timeOf(promoted?.manifest.promotedAtMs),
    verifiedAt: timeOf(verifiedAtMs),
    secrets: { promoted: Object.keys(promoted?.manifest.secrets ?? {}).length, live, leftOut },
    alarms: [...(decision ? decisionAlarms(decision) : []), ...troubles],
    objections: decision?.objections ?? [],
    differenceCounts: { missing: count("missing"), unexpected: count("unexpected"), changed: count("changed") },
    differences: differences.slice(0, mostDifferences),
    promotion,
    command,
  };
}

/** An attempt from how it went. */
export function attemptOf({ ok, detail, durationMs }: NoticeResult, nowMs: number): Attempt {
  return { ok, at: new Date(nowMs).toISOString(), durationMs, detail };
}

function decisionAlarms({ alarms, objections }: Decision): readonly RaisedAlarm[] {
  return objections.flatMap(({ situation, message }) => (alarms.includes(situation) ? [{ alarm: situation, message }] : []));
}

function timeOf(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString();
}
