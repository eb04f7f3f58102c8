// Every right that a checksum controller needs.
import { type AccessRule, Namespace } from "@keyturn/runtime";
import { type NamespaceChoice, placesOf } from "./namespace-choice.ts";
import type { Subject } from "./subject.ts";

/** The rights for one kind, in the chosen namespaces alone. */
export function checksumAccess({ objects, checksums }: Pick<Subject, "objects" | "checksums">, choice: NamespaceChoice): readonly AccessRule[] {
  const inPlaces = placesOf(choice).flatMap((place): readonly AccessRule[] => [
    { kind: objects, ...place, verbs: ["list", "watch"], why: "to compute ids; of a Secret nothing but its id and a digest is kept" },
    { kind: checksums, ...place, verbs: ["get", "list", "watch", "create", "patch", "delete"], why: "to publish checksums and take old ones back" },
    { kind: checksums, ...place, subresource: "status", verbs: ["patch"], why: "to report" },
  ]);
  const chosen: readonly AccessRule[] =
    choice.type === "labelled" ? [{ kind: Namespace, verbs: ["list", "watch"], why: "to see which namespaces checksums are wanted in" }] : [];
  return [...inPlaces, ...chosen];
}
