// In which of its two forms a merge patch is sent.
import type { Kind } from "./kind.ts";

/**
 * True if the server, given the patch as a strategic merge patch, makes the same of it, for less: it needs no detour over the object's JSON. Custom kinds know only
 * the plain form, and in the core group there are none.
 */
export function mayMergeStrategically(kind: Kind, patch: object): boolean {
  return kind.group === "" && mergesAlike(patch);
}

/** True if both forms mean the same: they differ in lists, and in members whose names begin with `$`, which are directives in the strategic one. */
export function mergesAlike(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return true;
  return !Array.isArray(value) && Object.entries(value).every(([name, member]) => !name.startsWith("$") && mergesAlike(member));
}
