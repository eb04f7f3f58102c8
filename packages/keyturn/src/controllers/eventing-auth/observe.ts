// Gathers what the next step for one EventingAuth is decided from, as far as it is known without asking the identity provider.
import { keyOf, type Run } from "@keyturn/runtime";
import { IdentityError } from "./identity/identity-error.ts";
import type { IdentityProvider } from "./identity/identity-provider.ts";
import type { IdentityProviders } from "./identity/identity-providers.ts";
import type { Observation } from "./observation.ts";
import { type EventingAuthSettings, kubeconfigName, runtimeOf } from "./settings.ts";
import type { TargetPool } from "./target-pool.ts";
import type { Target } from "./target.ts";
import { type IssuingWatches, kubeconfigDigest } from "./watches.ts";

/** What an observation is made with. */
export interface ObserveOptions {
  readonly watches: IssuingWatches;
  readonly settings: EventingAuthSettings;
  readonly pool: TargetPool;
  readonly providers: Pick<IdentityProviders, "forSecret">;
}

/** What was observed, and the two that it was observed of. */
export interface Observed {
  readonly observation: Observation;
  readonly provider: IdentityProvider | undefined;
  readonly target: Target | undefined;
}

/** The observation of one EventingAuth, or undefined if there is none of this key. */
export async function observeEventingAuth({ key, client }: Pick<Run, "key" | "client">, options: ObserveOptions): Promise<Observed | undefined> {
  const { watches, settings } = options;
  const object = watches.objects.get(key);
  if (!object) return undefined;
  const runtime = runtimeOf(settings, key);
  const { provider, sight } = openProvider(options);
  const shared = { object, isServed: runtime !== undefined, provider: sight, tenant: {}, settings };
  if (runtime === undefined) return { observation: { ...shared, target: { type: "unknown", message: "not served" } }, provider, target: undefined };
  const digest = kubeconfigDigest(watches, settings, runtime);
  if (digest === undefined) {
    options.pool.close(runtime);
    const message = `there is no kubeconfig for the runtime: Secret ${keyOf(kubeconfigName(settings, runtime))} does not exist`;
    return { observation: { ...shared, target: { type: "unknown", message } }, provider, target: undefined };
  }
  const opened = await options.pool.open(runtime, digest, client);
  if (opened.type === "refused")
    return { observation: { ...shared, target: { type: "unseen", trouble: opened.trouble } }, provider, target: undefined };
  return { observation: { ...shared, target: opened.target.sight() }, provider, target: opened.target };
}

function openProvider({ watches, settings, providers }: ObserveOptions): {
  readonly provider: IdentityProvider | undefined;
  readonly sight: Observation["provider"];
} {
  const data = watches.credentials.get(keyOf(settings.providerSecret));
  if (!data) {
    const message = `there are no credentials for the identity provider: Secret ${keyOf(settings.providerSecret)} does not exist`;
    return { provider: undefined, sight: { type: "closed", message } };
  }
  try {
    const provider = providers.forSecret(data);
    return { provider, sight: { type: "open", secretsOverlap: provider.secretsOverlap } };
  } catch (error) {
    if (!(error instanceof IdentityError)) throw error;
    return { provider: undefined, sight: { type: "closed", message: `Secret ${keyOf(settings.providerSecret)}: ${error.message}` } };
  }
}
