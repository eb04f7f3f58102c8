// How long checksums of earlier states stay: long enough for gateways that are a little behind, not so long that a stale state passes for ever.
import type { PublishedCheckSum } from "./check-sum-object.ts";
import type { SettledCheckSum } from "./history.ts";
import type { PublishingPolicy } from "./observation.ts";

/** Which of the earlier ones stay and which go. */
export interface Retention {
  readonly staying: readonly PublishedCheckSum[];
  readonly going: readonly PublishedCheckSum[];
  /** When the next of those that stay goes. */
  readonly nextAtMs: number | undefined;
}

/** Decides about earlier checksums, newest first. `replacedMs` is when the newest of them was replaced; each of the others was by the one before it. */
export function retentionOf(
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
