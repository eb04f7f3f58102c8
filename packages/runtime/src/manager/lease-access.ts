// The rights that elections need.
import type { AccessRule } from "../controller/access.ts";
import { leaseKind } from "./lease.ts";

/** What a process with elections does with Leases, in the one namespace where it keeps them. */
export const leaseAccess: readonly AccessRule[] = [
  { kind: leaseKind, verbs: ["get", "create", "update"], why: "to hold one Lease per controller, so that only one replica acts at a time" },
];
