// In which of its two forms a merge patch is sent.
import type { Kind } from "./kind.ts";

/**
 * True if the server, given the patch as a strategic merge patch, makes the same of it, for less: it needs no detour over the object's JSON. The two forms differ
 * in lists alone. Custom kinds know only the plain form, and in the core group there are none.
 */
export function mayMergeStrategically(kind: Kind, patch: object): boolean {
  return kind.group === "" && !holdsList(patch);
}

/** True if there is a list anywhere in it. */
export function holdsList(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Array.isArray(value) || Object.values(value).some(holdsList);
}
