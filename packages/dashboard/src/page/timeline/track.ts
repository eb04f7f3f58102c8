// What a timeline draws, whatever it is about: groups of lanes, with bars, bands and marks in them. Nothing here depends on the time.
import type { Health, ObjectRef } from "../../contract/index.ts";

/** One thing to know about a bar. */
export type Fact =
  | { readonly name: string; readonly text: string; readonly mono?: boolean }
  | { readonly name: string; readonly atMs: number }
  | { readonly name: string; readonly spanMs: number };

/** How a bar looks. `ahead` is the part of a live bar that is still to come. */
export type BarLook = "past" | "live" | "planned" | "retiring" | "removed";

/** A stretch of time in which something holds. */
export interface Bar {
  /** Unique among all bars of a timeline; goes into links. */
  readonly id: string;
  readonly fromMs: number;
  /** Absent: no end is known. */
  readonly toMs?: number;
  readonly look: BarLook;
  /** From 0 to 5: bars of one hue are about one thing. */
  readonly hue: number;
  /** Not a state of its own, only filled in. */
  readonly filled: boolean;
  readonly label: string;
  readonly title: string;
  readonly facts: readonly Fact[];
}

/** A stretch that is marked for what is missing in it. */
export interface Band {
  readonly kind: "freeze" | "gap";
  readonly fromMs: number;
  readonly toMs?: number;
}

/** A point in time worth knowing. */
export interface Mark {
  readonly kind: "expiry" | "end";
  readonly atMs: number;
  readonly health: Health;
}

/** The heading of the lanes that follow. */
export interface GroupTrack {
  readonly type: "group";
  readonly id: string;
  readonly ref: ObjectRef;
  readonly title: string;
  readonly note: string;
  readonly health: Health;
  readonly reason: string;
  /** Said beside the note, because somebody should notice. */
  readonly warning?: string;
}

export interface LaneTrack {
  readonly type: "lane";
  readonly id: string;
  readonly title: string;
  readonly ref?: ObjectRef;
  readonly note: string;
  readonly health?: Health;
  readonly bars: readonly Bar[];
  readonly bands: readonly Band[];
  readonly marks: readonly Mark[];
}

export type Track = GroupTrack | LaneTrack;

/** How many hues there are. */
export const hueCount = 6;

/** The beginning of a digest or key id, which is enough to tell one from another. */
export function shortDigest(digest: string): string {
  return digest.replace(/^sha256:/, "").slice(0, 8);
}
