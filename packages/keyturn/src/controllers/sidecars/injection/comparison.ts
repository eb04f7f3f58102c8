// Whether a live sidecar is the one that a new pod would get, and if not, why.
import { sameImage, type Sidecar, sidecarParts } from "./sidecar.ts";

/** What is wrong with a live sidecar; also used for Events, metrics and docs. */
export type OutdatedReason = "SidecarMissing" | "SidecarUnwanted" | "ImageDiffers" | "RevisionDiffers" | "SidecarDiffers";

/** What came out. The message is for people and has no more than what the pod's spec says in the open. */
export type SidecarComparison =
  | { readonly type: "current" }
  | { readonly type: "outdated"; readonly reason: OutdatedReason; readonly message: string };

/** How strictly to compare. */
export interface ComparisonOptions {
  /** Whether images of the same name and tag in different registries differ. */
  readonly compareHub: boolean;
}

const current: SidecarComparison = { type: "current" };

/**
 * Compares the sidecar of a live pod with that of a pod that would be made now. Undefined stands for a pod without one.
 * Revisions are compared if both pods say theirs; parts if both were taken.
 */
export function compareSidecar(live: Sidecar | undefined, expected: Sidecar | undefined, options: ComparisonOptions): SidecarComparison {
  if (!live) return expected ? outdated("SidecarMissing", `has no sidecar; a new pod would get ${expected.image}`) : current;
  if (!expected) return outdated("SidecarUnwanted", `has the sidecar ${live.image}; a new pod would get none`);
  if (!sameImage(live.image, expected.image, options)) {
    return outdated("ImageDiffers", `has the sidecar ${live.image}; a new pod would get ${expected.image}`);
  }
  if (live.revision !== undefined && expected.revision !== undefined && live.revision !== expected.revision) {
    return outdated("RevisionDiffers", `was injected by revision ${live.revision}; a new pod would be by ${expected.revision}`);
  }
  const [liveParts, expectedParts] = [live.parts, expected.parts];
  const different = liveParts && expectedParts ? sidecarParts.filter((part) => liveParts[part] !== expectedParts[part]) : [];
  if (different.length > 0) return outdated("SidecarDiffers", `has a sidecar that differs from a new pod's in ${different.join(", ")}`);
  return current;
}

function outdated(reason: OutdatedReason, message: string): SidecarComparison {
  return { type: "outdated", reason, message };
}
