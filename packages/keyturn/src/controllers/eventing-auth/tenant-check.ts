// Whether the identity provider is the one at which the applications were made: a few of them are looked for before one that is missing is replaced.
import { abortRace, type Clock, type Random } from "@keyturn/runtime";
import type { ApplicationRef, IdentityProvider } from "./identity/provider.ts";
import type { ObservedTenant } from "./observe.ts";

type Others = NonNullable<ObservedTenant["others"]>;

/** So many are looked for: most of them are missing by chance only if most of all are. */
const sample = 5;
/** How long an answer counts, so that a thousand that are missing at once do not ask five times a thousand. */
const keptMs = 30_000;

/** Looks for others. What it finds is kept for a while, for each provider. */
export class TenantCheck {
  readonly #clock: Clock;
  readonly #random: Random;
  #last: { readonly provider: IdentityProvider; readonly others: Promise<Others>; readonly atMs: number } | undefined;

  constructor({ clock, random }: { readonly clock: Clock; readonly random: Random }) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Rejects as `has` does: what cannot be asked proves nothing. */
  lookFor(applications: readonly ApplicationRef[], provider: IdentityProvider, signal?: AbortSignal): Promise<Others> {
    const atMs = this.#clock.monotonic();
    const last = this.#last;
    if (last?.provider === provider && atMs - last.atMs < keptMs) return abortRace(last.others, signal);
    // Nobody's signal ends what others wait for too; the deadline of each request does.
    const others = count(draw(applications, this.#random), provider);
    this.#last = { provider, others, atMs };
    others.catch(() => {
      if (this.#last?.others === others) this.#last = undefined;
    });
    return abortRace(others, signal);
  }
}

async function count(applications: readonly ApplicationRef[], provider: IdentityProvider): Promise<Others> {
  let missing = 0;
  for (const application of applications) if (!(await provider.has(application))) missing++;
  return { asked: applications.length, missing };
}

/** A few of them, each as likely as any other. */
function draw<T>(all: readonly T[], random: Random): readonly T[] {
  const left = [...all];
  return Array.from({ length: Math.min(sample, left.length) }, () => left.splice(Math.floor(random() * left.length), 1)).flat();
}
