// The Lease object: whose turn it is, written where every replica can read it.
import * as z from "zod";
import { defineKind } from "../client/kind.ts";
import type { KubeObject, Stored } from "../client/object.ts";

/** What a Lease says. Times are for people; nobody compares them with a clock of their own. */
export interface LeaseSpec {
  /** Absent when nobody holds the lease. */
  readonly holderIdentity?: string | undefined;
  /** How long others must see no change before they may take it. Whole seconds. */
  readonly leaseDurationSeconds?: number | undefined;
  readonly acquireTime?: string | undefined;
  readonly renewTime?: string | undefined;
  /** How often the holder changed. */
  readonly leaseTransitions?: number | undefined;
}

/** A Lease, to be written. */
export interface Lease extends KubeObject {
  readonly spec?: LeaseSpec | undefined;
}

export const leaseKind = defineKind<Lease>({ group: "coordination.k8s.io", version: "v1", kind: "Lease", plural: "leases", namespaced: true });

/** The fields we use; the others are kept as they are, so that writing a Lease back loses nothing. */
const storedLease = z.looseObject({
  metadata: z.looseObject({
    name: z.string(),
    uid: z.string(),
    resourceVersion: z.string(),
  }),
  spec: z
    .looseObject({
      holderIdentity: z.string().optional(),
      leaseDurationSeconds: z.number().optional(),
      acquireTime: z.string().optional(),
      renewTime: z.string().optional(),
      leaseTransitions: z.number().optional(),
    })
    .optional(),
});

/** A Lease as the API server returns it; throws if it is none. */
export function decodeLease(body: unknown): Stored<Lease> {
  return storedLease.parse(body);
}
