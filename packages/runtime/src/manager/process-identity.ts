// The name under which a process holds leases.
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";

/** The host, which in a cluster is the pod, for people; and something that no other process has, so that a restarted one is a new one. */
export function processIdentity(): string {
  return `${hostname()}_${randomUUID()}`;
}
