// Everything that the plan for one namespace is made from.
import type { PublishedCheckSum } from "./check-sum-object.ts";
import type { Problem, SetState } from "./member-set.ts";

/** What was observed in a namespace, of one kind. */
export interface Observation {
  readonly namespace: string;
  /** What the names of this kind's checksums begin with. */
  readonly prefix: string;
  /** The objects as they are. */
  readonly state: SetState;
  readonly problems: readonly Problem[];
  /** The checksums in the namespace that are ours, in any order. */
  readonly published: readonly PublishedCheckSum[];
}

/** How checksums are published. */
export interface PublishingPolicy {
  /** The most checksums of earlier states that stay; at least 1. */
  readonly keep: number;
  /** How long the checksum of an earlier state stays after another took its place. */
  readonly keepForMs: number;
  readonly longestAnnouncementMs: number;
  readonly publishEmpty: boolean;
}
