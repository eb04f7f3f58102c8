// Which Events people are told about.
import type { Event } from "@keyturn/runtime";
import type { EventReason as ChecksumReason } from "../controllers/checksum/reasons.ts";
import type { EventReason as IssueReason } from "../controllers/eventing-auth/reasons.ts";
import type { KeyReason } from "../controllers/jwks/reasons.ts";
import type { VersionReason } from "../controllers/rotation/reasons.ts";
import type { EventReason as RestartReason } from "../controllers/sidecars/reasons.ts";
import type { NotifiedEvents } from "./flags.ts";

/** What happens to credentials in the ordinary course of things. What is wrong comes as a Warning anyway. */
const lifeEvents: ReadonlySet<string> = new Set<IssueReason | VersionReason | KeyReason | ChecksumReason | RestartReason>([
  "ApplicationCreated",
  "SecretIssued",
  "SecretRepaired",
  "SecretRotated",
  "VersionRotated",
  "TargetRemoved",
  "KeyAdded",
  "KeyRetired",
  "KeyRemoved",
  "KeyRevoked",
  "AnnouncementReached",
  "SidecarRestart",
  "SidecarRolloutFinished",
]);

/** True if people asked to be told about this. */
export function isNotable({ type, reason }: Pick<Event, "type" | "reason">, events: NotifiedEvents): boolean {
  if (events === "all" || type === "Warning") return true;
  return events === "life" && lifeEvents.has(reason);
}
