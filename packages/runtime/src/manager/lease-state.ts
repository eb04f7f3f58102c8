// What one replica knows of one Lease, and what follows from it: a pure state machine on the replica's own monotonic time.
import { formatMicroTime } from "../client/micro-time.ts";
import type { Stored } from "../client/object.ts";
import type { Lease, LeaseSpec } from "./lease.ts";
import type { LeaseTimes } from "./lease-times.ts";

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
export type LeaseAction =
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
