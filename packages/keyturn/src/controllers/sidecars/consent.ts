// What people have said about restarts for sidecars, by a label on the workload or on its namespace.
import type { DeepReadonly } from "@keyturn/runtime";
import { keyturn } from "../../feature/feature.ts";
import type { SkipReason } from "../../workloads/reasons.ts";

/** On a namespace or a workload: `enabled` or `disabled`. The workload's own label decides over its namespace's. Never changes. */
export const consentLabel = `${keyturn.domain}/sidecar-restarts`;

type Labels = DeepReadonly<Record<string, string>>;

/** Why it is not restarted; undefined if it may be. With `optIn`, only what says `enabled` is. */
export function withoutConsent(own: Labels, namespace: Labels | undefined, { optIn }: { readonly optIn: boolean }): SkipReason | undefined {
  const said = own[consentLabel] ?? namespace?.[consentLabel];
  if (said === "disabled") return "OptedOut";
  return optIn && said !== "enabled" ? "NotOptedIn" : undefined;
}
