// What an operator asks the API server for besides what it always does.
import type { FaultProxy } from "@keyturn/runtime/testing";

/** Matches requests about Leases. */
export const isLease = /\/leases[/?]?/;

/** Requests that are neither about Leases, schemas nor watches, nor first lists in pages, which older API servers do not stream: method and path. */
export function busyRequests(proxy: FaultProxy): readonly string[] {
  const busy = proxy.requests({ watch: false }).filter(({ path }) => !isLease.test(path) && path !== "/openapi/v3" && !/[?&]limit=/.test(path));
  return busy.map(({ method, path }) => `${method} ${path}`);
}
