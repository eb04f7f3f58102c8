// Which of several EventingAuths of one name, in different namespaces, has that name: application and target Secret are named after it, and can be one's only.
import { keyOfObject, type ObjectKey, type Stored } from "@keyturn/runtime";
import type { EventingAuth } from "./api.ts";

/** As much of an EventingAuth as the decision needs. */
export type Claimant = Stored<EventingAuth>;

/**
 * The key of the one that has the name: one that something was made for before those that have nothing, then the older one. One that is being deleted keeps
 * the name until it is gone, because until then its application and Secret are.
 */
export function holderOf(claimants: readonly Claimant[]): ObjectKey | undefined {
  const [first] = claimants.toSorted((a, b) => compare(rankOf(a), rankOf(b)));
  return first && keyOfObject(first);
}

function rankOf(object: Claimant): string {
  const { creationTimestamp = "" } = object.metadata;
  const { iasApplication, secret } = object.status ?? {};
  return [(iasApplication ?? secret) ? "0" : "1", creationTimestamp, keyOfObject(object)].join(" ");
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
