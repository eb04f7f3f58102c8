// For tests: tenants of identity providers, and the provider under test that talks to them.
import { randomUUID } from "node:crypto";
import { systemClock, systemRandom } from "@keyturn/runtime";
import type { VirtualClock } from "@keyturn/runtime/testing";
import { IdentityError } from "../../../packages/keyturn/src/controllers/eventing-auth/identity/provider-http.ts";
import {
  type ApplicationOwner,
  type GrantKeeper,
  IdentityProviders,
  type IdentityProvidersOptions,
  type SecretData,
} from "../../../packages/keyturn/src/controllers/eventing-auth/identity/provider.ts";
import { startIasStandIn } from "../../../packages/keyturn/src/dev/stand-ins/ias.ts";

/** What stands in the Secret with a tenant's credentials. */
export function secretData(values: Readonly<Record<string, string>>): SecretData {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString("base64")]));
}

/** Providers with the machine's clock, closed at the end of a block. */
export function openProviders(options: Partial<IdentityProvidersOptions> = {}): IdentityProviders & Disposable {
  const providers = new IdentityProviders({ type: "ias", allowHttp: true, clock: systemClock, random: systemRandom, ...options });
  return Object.assign(providers, { [Symbol.dispose]: () => providers.close() });
}

/** An application's owner under a name of its own. Without a keeper, grants must not be asked for. */
export function someOwner(grants: GrantKeeper = noGrants): ApplicationOwner {
  return { name: `keyturn-test-${randomUUID()}`, uid: randomUUID(), grants };
}

const noGrants: GrantKeeper = {
  read: () => Promise.reject(new Error("this provider needs no grants")),
  keep: () => Promise.reject(new Error("this provider needs no grants")),
};

/** A keeper in memory that shows what it holds. */
export class MemoryKeeper implements GrantKeeper {
  grant: string | undefined;

  read(): Promise<string | undefined> {
    return Promise.resolve(this.grant);
  }

  keep(grant: string): Promise<void> {
    this.grant = grant;
    return Promise.resolve();
  }
}

const { TEST_EVENTING_AUTH_IAS_URL: url, TEST_EVENTING_AUTH_IAS_USER: username, TEST_EVENTING_AUTH_IAS_PASSWORD: password } = process.env;
const real = url && username && password ? secretData({ url, username, password }) : undefined;

/** From when on an application has its client ID: the stand-in can play both, a real tenant decides for itself. */
export const clientIdsFrom = real ? (["its own time"] as const) : (["first-secret", "creation"] as const);

/** A tenant for tests that need no faults: a real one if `TEST_EVENTING_AUTH_IAS_URL`, `_USER` and `_PASSWORD` name it, else the stand-in. */
export async function openTenant(clientIdFrom: (typeof clientIdsFrom)[number]): Promise<AsyncDisposable & { readonly data: SecretData }> {
  if (real) return { data: real, [Symbol.asyncDispose]: () => Promise.resolve() };
  const standIn = await startIasStandIn(clientIdFrom === "its own time" ? {} : { clientIdFrom });
  return {
    data: secretData({ url: standIn.url, username: standIn.username, password: standIn.password }),
    [Symbol.asyncDispose]: () => standIn.close(),
  };
}

/** Longer than any wait between two tries, and shorter than what is left of a request's deadline after all of them. */
const maxSkippedMs = 10_000;

/** Waits for work in virtual time: every pause between two tries is over at once, while deadlines of requests stay where they are. */
export async function withoutPauses<T>(clock: VirtualClock, work: Promise<T>): Promise<T> {
  const progress = { settled: false };
  const settle = (): void => void (progress.settled = true);
  void work.then(settle, settle);
  while (!progress.settled) await skipPause(clock);
  return work;
}

/** Ends a pause between two tries, if there is one. */
export async function skipPause(clock: VirtualClock): Promise<void> {
  const nextMs = clock.nextTimerInMs;
  await clock.advance(nextMs !== undefined && nextMs < maxSkippedMs ? nextMs : 0);
}

/** The error with which the work fails, which must be an `IdentityError`. */
export async function identityErrorOf(work: Promise<unknown>): Promise<IdentityError> {
  const outcome = await work.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ("error" in outcome && outcome.error instanceof IdentityError) return outcome.error;
  throw new Error(`expected an IdentityError`, { cause: "error" in outcome ? outcome.error : outcome.value });
}
