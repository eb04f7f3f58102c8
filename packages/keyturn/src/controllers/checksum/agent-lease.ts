// An agent as people see it: by the Lease in which it shows itself.
import { needsAttention, type ObjectRecord } from "@keyturn/dashboard/contract";
import { type DeepReadonly, isApiError, Lease, managedBySelector, type Stored } from "@keyturn/runtime";
import { fail, type Finding, keyturn, ok, type Query, warn } from "../../feature/feature.ts";
import {
  cellAt,
  defined,
  factAt,
  factDigest,
  factText,
  type HealthReport,
  laidOut,
  objectReport,
  type RecordBase,
  timeMs,
} from "../../feature/record.ts";

export type StoredLease = DeepReadonly<Stored<Lease>>;

/** The label by which the Leases of agents are found. */
export const agentLeaseLabel = { key: "app.kubernetes.io/component", value: "agent" } as const;

/** The annotations of such a Lease. */
export const agentAnnotations = {
  state: "keyturn.io/agent-state",
  checksum: "keyturn.io/agent-checksum",
  generation: "keyturn.io/agent-generation",
  promotedAt: "keyturn.io/agent-promoted-at",
  verifiedAt: "keyturn.io/agent-verified-at",
  secrets: "keyturn.io/agent-secrets",
  differences: "keyturn.io/agent-differences",
  alarms: "keyturn.io/agent-alarms",
} as const;

/** For a watch of agents' Leases: of the annotations only the agent's own. */
export function keepAgentLease({
  metadata: { name, namespace, uid, resourceVersion, creationTimestamp, annotations = {} },
  spec,
}: Stored<Lease>): Stored<Lease> {
  const own = Object.fromEntries(Object.values(agentAnnotations).flatMap((key) => (annotations[key] === undefined ? [] : [[key, annotations[key]]])));
  return {
    metadata: {
      name,
      uid,
      resourceVersion,
      annotations: own,
      ...defined("namespace", namespace),
      ...defined("creationTimestamp", creationTimestamp),
    },
    ...(spec && { spec }),
  };
}

/** An agent: a gateway's copy of the certificates of a namespace. Its `ref` is its Lease. */
export interface Agent extends RecordBase {
  readonly identity: string;
  /** The agent's own word for what it does. */
  readonly state: string;
  /** Of the set that it serves. */
  readonly checksum: string;
  readonly generation: string;
  /** Whether its checksum is the one that counts; absent if there is none to compare with. */
  readonly matches?: boolean;
  readonly secrets: number;
  /** How old its set is. */
  readonly promotedMs?: number;
  readonly verifiedMs?: number;
  /** When it was last heard of. */
  readonly renewedMs?: number;
  readonly differences: { readonly missing: number; readonly unexpected: number; readonly changed: number };
  readonly alarms: readonly string[];
}

/** What is known of an agent; `counting` is the checksum that it is to have. */
export function agentOf(
  lease: StoredLease,
  { counting, nowMs }: { readonly counting: string | undefined; readonly nowMs: number },
): { readonly agent: Agent; readonly againAtMs: number | undefined } {
  const { metadata, spec } = lease;
  const note = (name: keyof typeof agentAnnotations): string => noteOf(lease, name);
  const identity = spec?.holderIdentity ?? metadata.name;
  const checksum = note("checksum");
  const secrets = countIn(note("secrets"));
  const untilMs = validUntilMs(lease);
  const agent: Agent = {
    id: agentId(metadata),
    step: "checksum",
    ...objectReport(
      Lease,
      { metadata },
      {
        ...(silence(spec, nowMs) ?? standing(note)),
        detail: `${secrets} ${secrets === 1 ? "Secret" : "Secrets"}, ${checksum ? `checksum ${checksum.slice(0, 12)}` : "nothing promoted yet"}`,
        about: [identity],
        next: undefined,
      },
    ),
    called: { kind: "Agent", name: identity },
    ...defined("createdMs", timeMs(metadata.creationTimestamp)),
    identity,
    state: note("state"),
    checksum,
    generation: note("generation"),
    ...defined("matches", counting === undefined ? undefined : counting === checksum),
    secrets,
    ...defined("promotedMs", timeMs(note("promotedAt"))),
    ...defined("verifiedMs", timeMs(note("verifiedAt"))),
    ...defined("renewedMs", timeMs(spec?.renewTime)),
    differences: differenceCounts(note("differences")),
    alarms: note("alarms")
      .split(",")
      .filter((alarm) => alarm !== ""),
  };
  return { agent, againAtMs: afterNow(untilMs, nowMs) };
}

export function agentRecord(agent: Agent): ObjectRecord {
  const { ref, identity, state, checksum, generation, matches, secrets, promotedMs, verifiedMs, renewedMs, alarms } = agent;
  const { missing, unexpected, changed } = agent.differences;
  return laidOut(agent, {
    table: "agents",
    cells: {
      agent: { main: identity, sub: ref.namespace, look: "link" },
      state: { main: state, sub: alarms.join(", "), look: "health" },
      checksum: { main: checksum === "" ? "none" : checksum, look: "mono" },
      promoted: { ...cellAt(promotedMs, "never"), onPhone: "set promoted" },
      secrets: { main: String(secrets) },
      difference:
        missing + unexpected + changed === 0
          ? { main: "none", look: "faint" }
          : { main: `${missing} missing, ${unexpected} unexpected, ${changed} changed` },
      heard: cellAt(renewedMs, "never"),
    },
    texts: [identity, checksum],
    facts: [
      ...factText("identity", identity),
      ...factText("state", state),
      ...factDigest("checksum", checksum),
      ...factText("agrees", matches === undefined ? undefined : matches ? "yes" : "no"),
      ...factText("generation", generation),
      ...factText("Secrets", String(secrets)),
      ...factAt("set promoted", promotedMs),
      ...factAt("verified", verifiedMs),
      ...factAt("last heard of", renewedMs),
      ...factText("alarms", alarms.join(", ")),
    ],
  });
}

export function agentId({ namespace = "", name }: { readonly namespace?: string | undefined; readonly name: string }): string {
  return `agent/${namespace}/${name}`;
}

/** An agent that no longer renews its Lease. One that ends on purpose takes it away. */
function silence(spec: DeepReadonly<Stored<Lease>>["spec"], nowMs: number): HealthReport | undefined {
  const renewedMs = timeMs(spec?.renewTime);
  const lastsMs = (spec?.leaseDurationSeconds ?? 0) * 1000;
  if (renewedMs !== undefined && renewedMs + lastsMs > nowMs) return undefined;
  const message = "the agent has not been heard of; what it promoted is still served, and nobody verifies it";
  return { health: "failed", reason: "AgentSilent", message, sinceMs: renewedMs };
}

/** Alarms of which the agent's own standing is not that it keeps the last set, by what it is. */
const standingOf: Readonly<Record<string, string>> = {
  CommandFailed: "has promoted the set, but the gateway was not reloaded",
  PromotionFailed: "cannot write the verified set, and keeps the last one",
  Damaged: "files of the set that it serves are missing, torn or edited",
  ServedExpired: "serves a certificate that has expired",
  Unreachable: "keeps the last verified set, because the API server does not answer or refuses",
};

function standing(note: (name: keyof typeof agentAnnotations) => string): HealthReport {
  const state = note("state");
  const verifiedMs = timeMs(note("verifiedAt"));
  const [alarm, ...others] = note("alarms")
    .split(",")
    .filter((name) => name !== "");
  if (alarm !== undefined) {
    const differences = note("differences");
    const counts = /=[1-9]/.test(differences) ? ` (${differences})` : "";
    const message = `${standingOf[alarm] ?? "keeps the last verified set"}: ${[alarm, ...others].join(", ")}${counts}`;
    return { health: "degraded", reason: alarm, message, sinceMs: verifiedMs };
  }
  if (state === "verified")
    return { health: "healthy", reason: "Verified", message: "what it serves is what the checksum says", sinceMs: timeMs(note("promotedAt")) };
  return { health: "progressing", reason: "Waiting", message: state === "" ? "has just started" : `is ${state}`, sinceMs: verifiedMs };
}

export function noteOf({ metadata }: StoredLease, name: keyof typeof agentAnnotations): string {
  return metadata.annotations?.[agentAnnotations[name]] ?? "";
}

function differenceCounts(text: string): Agent["differences"] {
  const count = (direction: string): number => countIn(new RegExp(`\\b${direction}=(\\d+)`).exec(text)?.[1]);
  return { missing: count("missing"), unexpected: count("unexpected"), changed: count("changed") };
}

/** A number of things as an agent notes it; 0 for what is none, such as one so large that the page could not show it. */
function countIn(text = ""): number {
  return /^\d{1,9}$/.test(text) ? Number(text) : 0;
}

export function validUntilMs({ spec }: StoredLease): number | undefined {
  const renewedMs = timeMs(spec?.renewTime);
  return renewedMs === undefined ? undefined : renewedMs + (spec?.leaseDurationSeconds ?? 0) * 1000;
}

export function afterNow(atMs: number | undefined, nowMs: number): number | undefined {
  return atMs !== undefined && atMs > nowMs ? atMs : undefined;
}

// How do the agents on gateways fare? For `keyturn doctor`.

const check = "agents";

/** Reads the Leases in which agents show themselves. */
export async function checkAgents({ client, nowMs, signal }: Pick<Query, "client" | "nowMs" | "signal">): Promise<readonly Finding[]> {
  try {
    const { items } = await client.list(Lease, { labels: `${agentLeaseLabel.key}=${agentLeaseLabel.value},${managedBySelector(keyturn)}` }, signal);
    return agentFindings(items, nowMs);
  } catch (error) {
    if (!isApiError(error, "Forbidden")) throw error;
    return [
      warn(check, "you may not list Leases in all namespaces, so agents were not looked for", "ask somebody who may, or see the agents' own /status"),
    ];
  }
}

/** Judges the agents by their Leases. */
export function agentFindings(leases: readonly Stored<Lease>[], nowMs: number): readonly Finding[] {
  if (leases.length === 0) return [ok(check, "no agent has shown itself (one that runs with --lease=false does not)")];
  return leases.map((lease) => {
    const { health, reason, message, ref, identity } = agentOf(lease, { counting: undefined, nowMs }).agent;
    const { namespace } = ref;
    const said = `agent ${identity} in ${namespace}: ${message}`;
    return needsAttention({ health })
      ? fail(check, `${said} (${reason})`, `see \`keyturn diff -n ${namespace}\` and the agent's /status`)
      : ok(check, said);
  });
}
