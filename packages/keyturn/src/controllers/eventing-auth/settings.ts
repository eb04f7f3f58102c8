// How the controller works, read from its flags.
import { keyOf, nameOf, type ObjectKey, type ObjectName } from "@keyturn/runtime";
import { UsageError } from "../../flags/flag.ts";
import type { FlagReader } from "../feature.ts";
import { eventingAuthFlags as flags } from "./flags.ts";

/** Everything that can be chosen, except for the identity provider's own settings. */
export interface EventingAuthSettings {
  /** The Secret with the identity provider's credentials. */
  readonly providerSecret: ObjectName & { readonly namespace: string };
  /** Where the kubeconfigs are: Secrets `<prefix><name>`, key `key`. */
  readonly kubeconfigs: { readonly namespace: string; readonly prefix: string; readonly key: string };
  /** The Secret in the runtime's cluster. */
  readonly targetSecret: ObjectName & { readonly namespace: string };
  readonly allowInsecureTargets: boolean;
  /** Credentials older than this are replaced; 0 for never. */
  readonly rotateAfterMs: number;
  /** How long replaced credentials go on working. */
  readonly overlapMs: number;
  /** How often the identity provider is asked whether all is still as it was. */
  readonly checkEveryMs: number;
  /** Whether a token is fetched with new credentials. */
  readonly checkCredentials: boolean;
  /** How long the deletion of an object waits for a cluster that does not answer. */
  readonly deletionPatienceMs: number;
}

/** Reads the flags. Throws a `UsageError` for values that contradict each other. */
export function readSettings(flag: FlagReader): EventingAuthSettings {
  const rotateAfterMs = flag(flags.rotateAfter);
  const overlapMs = flag(flags.rotationOverlap);
  if (rotateAfterMs > 0 && overlapMs >= rotateAfterMs) {
    throw new UsageError(`--${flags.rotationOverlap.name} must be shorter than --${flags.rotateAfter.name}, or secrets pile up`);
  }
  return {
    providerSecret: { namespace: flag(flags.credentialsNamespace), name: flag(flags.credentialsSecret) },
    kubeconfigs: { namespace: flag(flags.kubeconfigNamespace), prefix: flag(flags.kubeconfigPrefix), key: flag(flags.kubeconfigKey) },
    targetSecret: { namespace: flag(flags.targetNamespace), name: flag(flags.targetSecret) },
    allowInsecureTargets: flag(flags.allowInsecureTargets),
    rotateAfterMs,
    overlapMs,
    checkEveryMs: flag(flags.checkInterval),
    checkCredentials: flag(flags.checkCredentials),
    deletionPatienceMs: flag(flags.deletionPatience),
  };
}

/** The runtime that an EventingAuth is for: the one of its name, if it is where the kubeconfigs are. Anywhere else it is for none. */
export function runtimeOf({ kubeconfigs }: Pick<EventingAuthSettings, "kubeconfigs">, key: ObjectKey): string | undefined {
  const { namespace, name } = nameOf(key);
  return namespace === kubeconfigs.namespace ? name : undefined;
}

/** The EventingAuth of a runtime. */
export function keyOfRuntime({ kubeconfigs }: Pick<EventingAuthSettings, "kubeconfigs">, runtime: string): ObjectKey {
  return keyOf({ namespace: kubeconfigs.namespace, name: runtime });
}

/** The Secret that holds the kubeconfig of a runtime. */
export function kubeconfigName({ kubeconfigs }: Pick<EventingAuthSettings, "kubeconfigs">, runtime: string): ObjectName {
  return { namespace: kubeconfigs.namespace, name: `${kubeconfigs.prefix}${runtime}` };
}
