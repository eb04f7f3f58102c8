// What one replica knows of one Lease, and what follows from it: a pure state machine on the replica's own monotonic time.
import * as z from "zod";
import { isApiError } from "../client/api-error.ts";
import type { Client } from "../client/client.ts";
import { collectionPath, defineKind, type KubeObject, objectPath, type Stored } from "../client/kind.ts";
import type { TransportRequest } from "../client/transport.ts";
import type { LeaseTimes } from "./lease-elector.ts";

/** What is known of the Lease. */
export type LeaseState =
  /** Nothing yet. */
  | { readonly type: "unknown" }
  /** There is none. */
  | { readonly type: "absent" }
  /** It has looked like this since `sinceMs`, by our clock, and is not ours to act on. */
  | { readonly type: "seen"; readonly lease: Stored<Lease>; readonly sinceMs: number }
  /** Ours; the last renewal that succeeded was sent at `renewedMs`. */
  | { readonly type: "held"; readonly lease: Stored<Lease>; readonly renewedMs: number }
  /** Ours as far as we know, but a write was refused: it must be read before anything else. */
  | { readonly type: "doubted"; readonly lease: Stored<Lease>; readonly renewedMs: number };

/** What happens to it. All times are monotonic and local. */
export type LeaseEvent =
  | { readonly type: "read"; readonly lease: Stored<Lease> | undefined; readonly atMs: number }
  /** Our write was confirmed. It counts from when it was sent, because others may have seen it from then on. */
  | { readonly type: "written"; readonly lease: Stored<Lease>; readonly sentMs: number }
  /** Our write was refused because the Lease is no longer as we knew it. */
  | { readonly type: "refused" }
  | { readonly type: "passed"; readonly atMs: number };

/** Who asks, and with which times. */
export interface Candidate {
  readonly identity: string;
  readonly times: LeaseTimes;
}

/** What to do about the Lease now. */
type LeaseAction =
  | { readonly type: "wait" }
  | { readonly type: "read" }
  | { readonly type: "create"; readonly spec: LeaseSpec }
  | { readonly type: "replace"; readonly lease: Stored<Lease>; readonly spec: LeaseSpec };

/** The next state. */
export function stepLease(state: LeaseState, event: LeaseEvent, candidate: Candidate): LeaseState {
  if (event.type === "read") return afterRead(state, event.lease, event.atMs, candidate);
  if (event.type === "written") return { type: "held", lease: event.lease, renewedMs: event.sentMs };
  if (event.type === "refused") return state.type === "held" ? { ...state, type: "doubted" } : state;
  const runOut = isOurs(state) && event.atMs >= validUntilMs(state, candidate);
  return runOut ? { type: "seen", lease: state.lease, sinceMs: event.atMs } : state;
}

/** Whether the lease is ours as far as we know; whether that is still true is a question of time, see `validUntilMs`. */
export function isOurs(state: LeaseState): state is Extract<LeaseState, { type: "held" | "doubted" }> {
  return state.type === "held" || state.type === "doubted";
}

/** Until when the replica may act, by its own clock. Minus infinity when it may not. */
export function validUntilMs(state: LeaseState, { times }: Candidate): number {
  return isOurs(state) ? state.renewedMs + times.renewDeadlineMs : -Infinity;
}

/** True if the lease belongs to nobody, or its holder has let its time run out before our eyes. */
function isFree(state: LeaseState, nowMs: number, { times }: Candidate): boolean {
  if (state.type === "absent") return true;
  if (state.type !== "seen") return false;
  const { holderIdentity, leaseDurationSeconds } = state.lease.spec ?? {};
  const durationMs = leaseDurationSeconds === undefined ? times.leaseDurationMs : leaseDurationSeconds * 1000;
  return !holderIdentity || nowMs - state.sinceMs >= durationMs;
}

/** What a replica that wants the lease does next. `wallMs` only dates the record for people. */
export function nextLeaseAction(
  state: LeaseState,
  candidate: Candidate,
  { nowMs, wallMs }: { readonly nowMs: number; readonly wallMs: number },
): LeaseAction {
  if (state.type === "unknown" || state.type === "doubted") return { type: "read" };
  if (state.type === "absent") return { type: "create", spec: claim(undefined, candidate, wallMs) };
  const { lease } = state;
  // A lease in our own name that we gave up for lack of renewals is still nobody else's.
  const mayTake = state.type === "held" || lease.spec?.holderIdentity === candidate.identity || isFree(state, nowMs, candidate);
  return mayTake ? { type: "replace", lease, spec: claim(lease.spec, candidate, wallMs) } : { type: "wait" };
}

/** The record that gives the lease back: no holder, so that the next one need not wait. The API server refuses an empty holder; it must be absent. */
export function released(spec: LeaseSpec | undefined, wallMs: number): LeaseSpec {
  return { ...spec, holderIdentity: undefined, leaseDurationSeconds: 1, renewTime: formatMicroTime(wallMs) };
}

function claim(spec: LeaseSpec | undefined, { identity, times }: Candidate, wallMs: number): LeaseSpec {
  const time = formatMicroTime(wallMs);
  const same = spec?.holderIdentity === identity;
  return {
    ...spec,
    holderIdentity: identity,
    leaseDurationSeconds: Math.ceil(times.leaseDurationMs / 1000),
    acquireTime: same ? (spec.acquireTime ?? time) : time,
    renewTime: time,
    leaseTransitions: spec ? (spec.leaseTransitions ?? 0) + (same ? 0 : 1) : 0,
  };
}

function afterRead(state: LeaseState, lease: Stored<Lease> | undefined, atMs: number, { identity }: Candidate): LeaseState {
  if (!lease) return { type: "absent" };
  const ours = lease.spec?.holderIdentity === identity;
  if (ours && isOurs(state)) return { type: "held", lease, renewedMs: state.renewedMs };
  const unchanged = state.type === "seen" && state.lease.metadata.uid === lease.metadata.uid && sameClaim(state.lease.spec, lease.spec);
  return { type: "seen", lease, sinceMs: unchanged ? state.sinceMs : atMs };
}

/** Whether the holder has done nothing in between. */
function sameClaim(a: LeaseSpec = {}, b: LeaseSpec = {}): boolean {
  return (
    a.holderIdentity === b.holderIdentity &&
    a.renewTime === b.renewTime &&
    a.acquireTime === b.acquireTime &&
    a.leaseTransitions === b.leaseTransitions &&
    a.leaseDurationSeconds === b.leaseDurationSeconds
  );
}

// Where Leases are kept: in the API server, over a socket of their own.

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

// Kubernetes' MicroTime: the API server wants six digits of a second in Lease and Event times, and rejects three.

/** RFC 3339 in UTC with microseconds. `ms` may have a fraction. Throws `RangeError` if it is no date. */
export function formatMicroTime(ms: number): string {
  const wholeMs = Math.floor(ms);
  const micros = Math.min(999, Math.round((ms - wholeMs) * 1000));
  return `${new Date(wholeMs).toISOString().slice(0, -1)}${String(micros).padStart(3, "0")}Z`;
}

// The Lease object: whose turn it is, written where every replica can read it.

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
function decodeLease(body: unknown): Stored<Lease> {
  return storedLease.parse(body);
}
