// What a viewer may see: kinds, each everywhere or in some namespaces.
import { hash } from "node:crypto";

/** Which objects a record is about, as far as rights go. */
export interface Place {
  /** `plural.group`. */
  readonly resource: string;
  readonly namespace: string;
}

/** What may be seen of each kind; a kind that is not in it may not be seen at all. */
export type Grants = ReadonlyMap<string, "everywhere" | ReadonlySet<string>>;

/** The rights of one or more viewers. */
export interface Rights {
  /** Equal for equal rights: what was made for one viewer serves all others with the same. Short, and tells nothing to who reads it. */
  readonly signature: string;
  allows(place: Place): boolean;
  /** True if nothing at all of the kind may be seen. */
  hides(resource: string): boolean;
}

/** For viewers whose own kubeconfig is used: what they may not see never arrives here. */
export const unlimitedRights: Rights = { signature: "all", allows: () => true, hides: () => false };

/** The rights that some grants give. */
export function rightsOf(grants: Grants): Rights {
  const words = Array.from(grants, ([resource, where]) => `${resource}=${where === "everywhere" ? "*" : Array.from(where).toSorted().join(",")}`);
  return {
    signature: hash("sha256", words.toSorted().join(";"), "base64url").slice(0, 12),
    allows({ resource, namespace }) {
      const where = grants.get(resource);
      return where === "everywhere" || where?.has(namespace) === true;
    },
    hides: (resource) => !grants.has(resource),
  };
}
