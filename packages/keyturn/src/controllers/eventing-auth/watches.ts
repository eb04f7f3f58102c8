// What the issuing controller watches in the control plane, and which EventingAuths a change concerns.
import { createHash } from "node:crypto";
import { type Cache, type ControllerScope, keyOf, nameOf, Secret, type Stored } from "@keyturn/runtime";
import { EventingAuth } from "./api.ts";
import { type EventingAuthSettings, keyOfRuntime } from "./settings.ts";

/** The caches of the controller. */
export interface IssuingWatches {
  readonly objects: Cache<Stored<EventingAuth>>;
  /** The identity provider's credentials: the one Secret whose content is kept, because every run needs it. */
  readonly credentials: Cache<Readonly<Record<string, string>>>;
  /** A digest of each kubeconfig; empty for Secrets that are none. The kubeconfig itself is read when it is used. */
  readonly kubeconfigs: Cache<string>;
}

/** Declares the watches and what they trigger. */
export function watchIssuing(scope: ControllerScope, settings: EventingAuthSettings): IssuingWatches {
  const { providerSecret, kubeconfigs } = settings;
  const watches: IssuingWatches = {
    objects: scope.watch<EventingAuth, Stored<EventingAuth>>(EventingAuth),
    credentials: scope.watch(Secret, {
      namespace: providerSecret.namespace,
      fields: `metadata.name=${providerSecret.name}`,
      keep: ({ data = {} }) => data,
    }),
    kubeconfigs: scope.watch(Secret, {
      namespace: kubeconfigs.namespace,
      keep: ({ metadata, data }) => (metadata.name.startsWith(kubeconfigs.prefix) ? digestOf(data?.[kubeconfigs.key] ?? "") : ""),
    }),
  };
  scope.trigger(watches.objects);
  scope.trigger(watches.credentials, () => Array.from(watches.objects.entries(), ([key]) => key));
  scope.trigger(watches.kubeconfigs, ({ key }) => {
    const { name } = nameOf(key);
    return name.startsWith(kubeconfigs.prefix) ? [keyOfRuntime(settings, name.slice(kubeconfigs.prefix.length))] : [];
  });
  return watches;
}

/** The digest of a runtime's kubeconfig; undefined if there is none. */
export function kubeconfigDigest({ kubeconfigs }: IssuingWatches, settings: EventingAuthSettings, runtime: string): string | undefined {
  const { namespace, prefix } = settings.kubeconfigs;
  return kubeconfigs.get(keyOf({ namespace, name: `${prefix}${runtime}` })) || undefined;
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}
