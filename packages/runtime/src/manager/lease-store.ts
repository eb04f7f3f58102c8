// Where Leases are kept: in the API server, over a socket of their own.
import { isApiError } from "../client/api-error.ts";
import type { Client } from "../client/client.ts";
import { collectionPath, objectPath } from "../client/kind.ts";
import type { Stored } from "../client/object.ts";
import type { TransportRequest } from "../client/transport.ts";
import { decodeLease, leaseKind } from "./lease.ts";
import type { Lease } from "./lease.ts";

/** What a replica does with Leases. Rejects as `Client` does. */
export interface LeaseStore {
  /** Undefined if there is none. */
  read(name: string, signal: AbortSignal): Promise<Stored<Lease> | undefined>;
  /** Fails with `AlreadyExists` if there is one of that name. */
  create(lease: Lease, signal: AbortSignal): Promise<Stored<Lease>>;
  /** Fails with `Conflict` or `NotFound` unless the Lease is as `metadata.resourceVersion` says. */
  replace(lease: Lease, signal: AbortSignal): Promise<Stored<Lease>>;
}

/** The Leases of one namespace. Every request goes over the `lease` lane, so nothing else can delay a renewal. */
export function leaseStore(client: Client, namespace: string): LeaseStore {
  const send = (request: TransportRequest, signal: AbortSignal): Promise<unknown> => client.request({ ...request, lane: "lease" }, signal);
  const path = (name: string): string => objectPath(leaseKind, { namespace, name });
  const body = (lease: Lease): Pick<TransportRequest, "body" | "headers"> => ({
    body: JSON.stringify({ ...lease, apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { ...lease.metadata, namespace } }),
    headers: { "content-type": "application/json" },
  });
  return {
    async read(name, signal) {
      try {
        return decodeLease(await send({ method: "GET", path: path(name) }, signal));
      } catch (error) {
        if (isApiError(error, "NotFound")) return undefined;
        throw error;
      }
    },
    async create(lease, signal) {
      return decodeLease(await send({ method: "POST", path: collectionPath(leaseKind, namespace), ...body(lease) }, signal));
    },
    async replace(lease, signal) {
      return decodeLease(await send({ method: "PUT", path: path(lease.metadata.name ?? ""), ...body(lease) }, signal));
    },
  };
}
