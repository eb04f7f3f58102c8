// The flags of this feature, and how the controllers work, read from them.
import { keyOf, nameOf, type ObjectKey, type ObjectName } from "@keyturn/runtime";
import type { FlagReader } from "../../feature/feature.ts";
import { shownWithin } from "./application-choice.ts";
import { choiceFlag, durationFlag, listFlag, switchFlag, textFlagWithDefault, UsageError } from "../../feature/flag.ts";

// Names of Secrets and namespaces default to those of the predecessor.

export const eventingAuthFlags = {
  provider: choiceFlag({
    name: "eventing-auth.provider",
    choices: ["ias", "openid"],
    default: "ias",
    help: "where applications are made: SAP Cloud Identity Services (ias), or a server with OpenID dynamic client registration (openid)",
  }),
  globalAccountId: textFlagWithDefault({
    name: "eventing-auth.ias-global-account-id",
    placeholder: "ID",
    default: "",
    help: "the global account that new applications are booked on; ias only",
  }),
  allowHttp: switchFlag({
    name: "eventing-auth.allow-http",
    default: false,
    help: "talk to an identity provider whose URL is http://; credentials then travel in the clear",
  }),
  credentialsNamespace: textFlagWithDefault({
    name: "eventing-auth.credentials-namespace",
    placeholder: "NAMESPACE",
    default: "kcp-system",
    legacyVariable: "IAS_CREDS_SECRET_NAMESPACE",
    help: "the namespace of the Secret with the identity provider's credentials; also read from IAS_CREDS_SECRET_NAMESPACE",
  }),
  credentialsSecret: textFlagWithDefault({
    name: "eventing-auth.credentials-secret",
    placeholder: "NAME",
    default: "eventing-auth-ias-creds",
    legacyVariable: "IAS_CREDS_SECRET_NAME",
    help: "the Secret with the identity provider's url, username and password; also read from IAS_CREDS_SECRET_NAME",
  }),
  namespaces: listFlag({
    name: "eventing-auth.namespaces",
    help: "the namespaces whose EventingAuths count: who may write there chooses among the kubeconfigs; empty = that of the kubeconfigs",
  }),
  providerTimeout: durationFlag({
    name: "eventing-auth.provider-timeout",
    default: "10s",
    help: "how long one request to the identity provider may take; what it makes later is found and used by the next try",
  }),
  targetTimeout: durationFlag({
    name: "eventing-auth.target-timeout",
    default: "10s",
    help: "how long one request to a runtime's cluster may take",
  }),
  kubeconfigNamespace: textFlagWithDefault({
    name: "eventing-auth.kubeconfig-namespace",
    placeholder: "NAMESPACE",
    default: "kcp-system",
    help: "the namespace of the Secrets with the runtimes' kubeconfigs",
  }),
  kubeconfigPrefix: textFlagWithDefault({
    name: "eventing-auth.kubeconfig-prefix",
    placeholder: "PREFIX",
    default: "kubeconfig-",
    help: "what stands before the runtime's id in the name of the Secret with its kubeconfig",
  }),
  kubeconfigKey: textFlagWithDefault({
    name: "eventing-auth.kubeconfig-key",
    placeholder: "KEY",
    default: "config",
    help: "the key of that Secret that holds the kubeconfig",
  }),
  targetNamespace: textFlagWithDefault({
    name: "eventing-auth.target-namespace",
    placeholder: "NAMESPACE",
    default: "kyma-system",
    help: "the namespace of the credentials in a runtime's cluster",
  }),
  targetSecret: textFlagWithDefault({
    name: "eventing-auth.target-secret",
    placeholder: "NAME",
    default: "eventing-webhook-auth",
    help: "the Secret with the credentials in a runtime's cluster",
  }),
  allowInsecureTargets: switchFlag({
    name: "eventing-auth.allow-insecure-targets",
    default: false,
    help: "accept kubeconfigs with insecure-skip-tls-verify or an http:// server",
  }),
  rotateAfter: durationFlag({
    name: "eventing-auth.rotate-after",
    default: "0",
    help: "replace client secrets that are older than this; 0 = never",
  }),
  rotationOverlap: durationFlag({
    name: "eventing-auth.rotation-overlap",
    default: "1h",
    help: "how long a replaced client secret goes on working",
  }),
  checkInterval: durationFlag({
    name: "eventing-auth.check-interval",
    default: "1h",
    help: "how often the identity provider is asked whether an application and its secrets are still as they were",
  }),
  checkCredentials: switchFlag({
    name: "eventing-auth.check-credentials",
    default: true,
    help: "fetch a token with credentials that were just written, and report whether that worked",
  }),
  deletionPatience: durationFlag({
    name: "eventing-auth.deletion-patience",
    default: "1h",
    help: "how long a deletion waits for a runtime's cluster that does not answer, before its Secret is left behind",
  }),
};

// The settings that the flags come to.

/** Everything that can be chosen, except for the identity provider's own settings. */
export interface EventingAuthSettings {
  /** The Secret with the identity provider's credentials. */
  readonly providerSecret: ObjectName & { readonly namespace: string };
  /** Where EventingAuths count. */
  readonly namespaces: readonly string[];
  /** Where the kubeconfigs are: Secrets `<prefix><name>`, key `key`. */
  readonly kubeconfigs: { readonly namespace: string; readonly prefix: string; readonly key: string };
  /** The Secret in the runtime's cluster. */
  readonly targetSecret: ObjectName & { readonly namespace: string };
  readonly allowInsecureTargets: boolean;
  /** From the start of a request to a runtime's cluster to the end of its response. */
  readonly targetTimeoutMs: number;
  /** How long nothing is concluded from it that an application which was asked for is not there. */
  readonly shownWithinMs: number;
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

const minTimeoutMs = 1_000;

/** Reads the flags. Throws a `UsageError` for values that contradict each other. */
export function readSettings(flag: FlagReader): EventingAuthSettings {
  const rotateAfterMs = flag(eventingAuthFlags.rotateAfter);
  const overlapMs = flag(eventingAuthFlags.rotationOverlap);
  if (rotateAfterMs > 0 && overlapMs >= rotateAfterMs) {
    throw new UsageError(
      `--${eventingAuthFlags.rotationOverlap.name} must be shorter than --${eventingAuthFlags.rotateAfter.name}, or secrets pile up`,
    );
  }
  const given = flag(eventingAuthFlags.namespaces);
  for (const each of [eventingAuthFlags.providerTimeout, eventingAuthFlags.targetTimeout]) {
    if (flag(each) < minTimeoutMs) throw new UsageError(`--${each.name} must be a second at least`);
  }
  return {
    namespaces: given.length > 0 ? given : [flag(eventingAuthFlags.kubeconfigNamespace)],
    targetTimeoutMs: flag(eventingAuthFlags.targetTimeout),
    shownWithinMs: shownWithin(flag(eventingAuthFlags.providerTimeout)),
    providerSecret: { namespace: flag(eventingAuthFlags.credentialsNamespace), name: flag(eventingAuthFlags.credentialsSecret) },
    kubeconfigs: {
      namespace: flag(eventingAuthFlags.kubeconfigNamespace),
      prefix: flag(eventingAuthFlags.kubeconfigPrefix),
      key: flag(eventingAuthFlags.kubeconfigKey),
    },
    targetSecret: { namespace: flag(eventingAuthFlags.targetNamespace), name: flag(eventingAuthFlags.targetSecret) },
    allowInsecureTargets: flag(eventingAuthFlags.allowInsecureTargets),
    rotateAfterMs,
    overlapMs,
    checkEveryMs: flag(eventingAuthFlags.checkInterval),
    checkCredentials: flag(eventingAuthFlags.checkCredentials),
    deletionPatienceMs: flag(eventingAuthFlags.deletionPatience),
  };
}

/** The runtime that an EventingAuth is for: the one of its name, if it is where EventingAuths count. Anywhere else it is for none. */
export function runtimeOf({ namespaces }: Pick<EventingAuthSettings, "namespaces">, key: ObjectKey): string | undefined {
  const { namespace = "", name } = nameOf(key);
  return namespaces.includes(namespace) ? name : undefined;
}

/** The EventingAuths that may be for a runtime. */
export function keysOfRuntime({ namespaces }: Pick<EventingAuthSettings, "namespaces">, runtime: string): readonly ObjectKey[] {
  return namespaces.map((namespace) => keyOf({ namespace, name: runtime }));
}

/** The Secret that holds the kubeconfig of a runtime. */
export function kubeconfigName({ kubeconfigs }: Pick<EventingAuthSettings, "kubeconfigs">, runtime: string): ObjectName {
  return { namespace: kubeconfigs.namespace, name: `${kubeconfigs.prefix}${runtime}` };
}
