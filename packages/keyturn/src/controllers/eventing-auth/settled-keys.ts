// Objects that were found as they should be: nobody need be asked about them again until something changes or a while has passed.
import type { Clock, ObjectKey, Outcome, Random } from "@keyturn/runtime";
import type { Observed } from "./observe.ts";
import type { Rest } from "./step.ts";

interface Settled {
  /** Whom it was settled with: another one has to be asked again. */
  readonly provider: Observed["provider"];
  readonly fingerprint: string;
  readonly untilMs: number;
}

/** Saves requests to the identity provider. Nothing is decided from it but whether to look again now or later. */
export class SettledKeys {
  readonly #settled = new Map<ObjectKey, Settled>();
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #checkEveryMs: number;

  constructor({ clock, random, checkEveryMs }: { readonly clock: Clock; readonly random: Random; readonly checkEveryMs: number }) {
    this.#clock = clock;
    this.#random = random;
    this.#checkEveryMs = checkEveryMs;
  }

  /** How long the key can be left alone; undefined if it has to be looked at now. */
  waitFor(key: ObjectKey, { observation, provider }: Observed): number | undefined {
    const settled = this.#settled.get(key);
    const nowMs = this.#clock.monotonic();
    if (!settled || nowMs >= settled.untilMs || settled.provider !== provider || settled.fingerprint !== fingerprintOf(observation)) return undefined;
    return settled.untilMs - nowMs;
  }

  /** Remembers what a run came to, and tells when the next one is due. */
  settle(key: ObjectKey, { observation, provider }: Observed, { rest, nowMs }: { readonly rest: Rest; readonly nowMs: number }): Outcome {
    // Spread, so that what came in together is not asked about together.
    const checkMs = this.#checkEveryMs * (0.8 + 0.2 * this.#random());
    const waitMs = Math.max(0, Math.min(checkMs, rest.nextAtMs === undefined ? Infinity : rest.nextAtMs - nowMs));
    if (rest.settled) this.#settled.set(key, { provider, fingerprint: fingerprintOf(observation), untilMs: this.#clock.monotonic() + waitMs });
    else this.#settled.delete(key);
    return { requeueAfterMs: waitMs };
  }

  forget(key: ObjectKey): void {
    this.#settled.delete(key);
  }
}

/** Everything but the identity provider's answers. */
function fingerprintOf({ object, target }: Observed["observation"]): string {
  const { deletionTimestamp, annotations } = object.metadata;
  const sight = target.type === "seen" ? [target.secret?.uid, target.secret?.resourceVersion, target.trouble] : target;
  return JSON.stringify([object.status, deletionTimestamp, annotations, target.type, sight]);
}
