// Every right that the operator needs to serve the dashboard, besides those of its controllers.
import { type AccessRule, Event, Lease } from "@keyturn/runtime";
import { SubjectAccessReview, TokenReview } from "./review-kinds.ts";

export const dashboardAccess: readonly AccessRule[] = [
  { kind: TokenReview, verbs: ["create"], why: "to find out whose token a viewer of the dashboard has" },
  { kind: SubjectAccessReview, verbs: ["create"], why: "to show each viewer only what they may list and watch themselves" },
  { kind: Lease, verbs: ["list", "watch"], why: "to show how agents fare" },
  { kind: Event, verbs: ["list"], why: "to show the Events of an object that somebody looks at" },
];
