// How an agent fares, for people: from the Lease in which it shows itself.
import type { DeepReadonly, Lease, Stored } from "@keyturn/runtime";
import { type Summary, timeMs, type Verdict } from "../controllers/summary.ts";
import { agentAnnotations } from "./agent-lease.ts";

/** From an agent's Lease. */
export function agentSummary({ metadata, spec }: DeepReadonly<Stored<Lease>>, nowMs: number): Summary {
  const note = (name: keyof typeof agentAnnotations): string => metadata.annotations?.[agentAnnotations[name]] ?? "";
  const checksum = note("checksum");
  const verdict = silence(spec, nowMs) ?? standing(note);
  return {
    kind: "Agent",
    namespace: metadata.namespace ?? "",
    name: spec?.holderIdentity ?? metadata.name,
    ...verdict,
    detail: `${note("secrets") || 0} ${note("secrets") === "1" ? "Secret" : "Secrets"}, ${checksum ? `checksum ${checksum.slice(0, 12)}` : "nothing promoted yet"}`,
    next: undefined,
    names: [spec?.holderIdentity ?? metadata.name],
  };
}

/** An agent that no longer renews its Lease. One that ends on purpose takes it away. */
function silence(spec: DeepReadonly<Stored<Lease>>["spec"], nowMs: number): Verdict | undefined {
  const renewedMs = timeMs(spec?.renewTime);
  const lastsMs = (spec?.leaseDurationSeconds ?? 0) * 1000;
  if (renewedMs !== undefined && renewedMs + lastsMs > nowMs) return undefined;
  const message = "the agent has not been heard of; what it promoted is still served, and nobody verifies it";
  return { health: "attention", reason: "AgentSilent", message, sinceMs: renewedMs };
}

function standing(note: (name: keyof typeof agentAnnotations) => string): Verdict {
  const state = note("state");
  const verifiedMs = timeMs(note("verifiedAt"));
  const [alarm, ...others] = note("alarms")
    .split(",")
    .filter((name) => name !== "");
  if (alarm !== undefined) {
    const message = `stays with what it has: ${[alarm, ...others].join(", ")} (${note("differences")})`;
    return { health: "attention", reason: alarm, message, sinceMs: verifiedMs };
  }
  if (state === "verified")
    return { health: "healthy", reason: "Verified", message: "what it serves is what the checksum says", sinceMs: timeMs(note("promotedAt")) };
  return { health: "moving", reason: "Waiting", message: state === "" ? "has just started" : `is ${state}`, sinceMs: verifiedMs };
}
