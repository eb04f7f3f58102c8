// How often one EventingAuth makes us ask the identity provider: not while it is as it should be, and never so often that others get no turn.
import { fullBucket, type ObjectKey, takeToken, type TokenBucket, type TokenRate } from "@keyturn/runtime";
import type { EventingAuthStatus } from "./api.ts";
import type { Observation, Observed, ObservedParts } from "./observe.ts";

// Objects that were found as they should be: the identity provider is not asked about them again until something changes or a while has gone by.

interface IdleKey {
  /** Who was asked: another one has to be asked again. */
  readonly provider: Observed["provider"];
  readonly fingerprint: string;
  readonly untilMs: number;
}

/** Saves requests to the identity provider. Nothing is decided from it but whether to look again now or later. */
export class IdleKeys {
  readonly #keys = new Map<ObjectKey, IdleKey>();

  /** How long the key can be left alone; undefined if it has to be looked at now. */
  idleUntil(key: ObjectKey, { observation, provider }: ObservedParts, nowMs: number): number | undefined {
    const idle = this.#keys.get(key);
    if (!idle || nowMs >= idle.untilMs || idle.provider !== provider) return undefined;
    return idle.fingerprint === fingerprintOf(observation, observation.object.status) ? idle.untilMs : undefined;
  }

  /** Records what a run came to, and the status that it reports. */
  record(
    key: ObjectKey,
    { observation, provider }: ObservedParts,
    { untilMs, status }: { readonly untilMs: number; readonly status: EventingAuthStatus | undefined },
  ): void {
    this.#keys.set(key, { provider, fingerprint: fingerprintOf(observation, status), untilMs });
  }

  forget(key: ObjectKey): void {
    this.#keys.delete(key);
  }
}

/** Everything but the identity provider's answers, and when conditions began. */
function fingerprintOf({ object, target }: Observation, status: EventingAuthStatus | undefined): string {
  const { deletionTimestamp, annotations } = object.metadata;
  const observed = target.type === "observed" ? [target.secret?.uid, target.secret?.resourceVersion, target.trouble] : target;
  return JSON.stringify([saidIn(status), deletionTimestamp, annotations, target.type, observed]);
}

/** In an order of its own: what was planned and what the API server gives back have their fields in different ones. */
function saidIn({ state, iasApplication, secret, conditions = [] }: Partial<EventingAuthStatus> = {}): readonly unknown[] {
  const said = conditions.map(({ type, status, reason, message, observedGeneration }) => [type, status, reason, message, observedGeneration]);
  return [state, iasApplication?.name, iasApplication?.uuid, secret?.clusterId, secret?.namespacedName, said];
}

// Objects that are not: whoever changes a Secret in a loop has them looked at again and again.

/** Enough for a creation with all that can go wrong in it. */
const burst = 20;
/** Then as often as somebody who mends something by hand needs it. */
const everyMs = 5_000;

/**
 * Limits the runs of each object that ask the identity provider. One that is made again under its name is limited as before: whoever deletes it in a loop
 * has no more of the provider than others. A process that begins anew begins with a full bucket.
 */
export class RunLimits {
  readonly #rate: TokenRate;
  readonly #buckets = new Map<ObjectKey, TokenBucket>();
  #droppedMs = 0;

  /** Checks are due every `checkEveryMs`, and never too often. */
  constructor(checkEveryMs: number) {
    this.#rate = { burst, perMs: 1 / Math.min(everyMs, Math.max(1, checkEveryMs) / 2) };
  }

  /** Counts a run, at a time on the monotonic scale. How long it has to wait; undefined if it need not. */
  take(key: ObjectKey, nowMs: number): number | undefined {
    this.#dropFull(nowMs);
    const bucket = this.#buckets.get(key) ?? fullBucket(this.#rate, nowMs);
    const left = takeToken(bucket, this.#rate, nowMs);
    this.#buckets.set(key, left ?? bucket);
    return left ? undefined : Math.ceil((1 - bucket.tokens) / this.#rate.perMs - (nowMs - bucket.atMs));
  }

  /** Those that nobody has taken from for so long that they are full again. */
  #dropFull(nowMs: number): void {
    const fullMs = burst / this.#rate.perMs;
    if (nowMs - this.#droppedMs < fullMs) return;
    this.#droppedMs = nowMs;
    for (const [key, { atMs }] of this.#buckets) if (nowMs - atMs >= fullMs) this.#buckets.delete(key);
  }
}
