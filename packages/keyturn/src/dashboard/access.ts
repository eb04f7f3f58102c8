// Every right that the operator needs to serve the dashboard, besides those of its controllers.
import { type AccessRule, Event, Lease, Namespace } from "@keyturn/runtime";
import { SubjectAccessReview, TokenReview } from "./review-kinds.ts";

const always: readonly AccessRule[] = [
  { kind: TokenReview, verbs: ["create"], why: "to find out whose token a viewer of the dashboard has" },
  { kind: SubjectAccessReview, verbs: ["create"], why: "to show each viewer only what they may list and watch themselves" },
  { kind: Lease, verbs: ["list", "watch"], why: "to show how agents fare" },
  { kind: Event, verbs: ["list"], why: "to show the Events of an object that somebody looks at" },
];

/** The rights. An operator that is limited to some namespaces knows where viewers may look. */
export function dashboardAccess({ isLimited }: { readonly isLimited: boolean }): readonly AccessRule[] {
  if (isLimited) return always;
  return [...always, { kind: Namespace, verbs: ["list"], why: "to let in those who may look only at a namespace in which there is nothing yet" }];
}
