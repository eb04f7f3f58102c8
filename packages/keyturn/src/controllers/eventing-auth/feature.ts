// The feature "issue": what the command line, the manifests and the docs know about it.
import { selectionOf } from "../../feature/pause-and-selection.ts";
import type { Feature } from "../../feature/feature.ts";
import { EventingAuth } from "./api.ts";
import { eventingAuthFlags as flags, readSettings, type EventingAuthSettings } from "./flags.ts";
import { kymaController } from "./kyma.ts";
import { eventingAuthMetrics } from "./metrics.ts";
import { issuingController } from "./controller.ts";
import { type AccessRule, Secret } from "@keyturn/runtime";

/** From sending a request to the identity provider to the end of its answer; three tries of it fit into a run. */
const providerTimeoutMs = 10_000;

export const eventingAuthFeature: Feature = {
  name: "eventing-auth",
  summary: "issues client credentials for runtimes, writes them to their clusters and keeps them there",
  flags: Object.values(flags),
  metrics: eventingAuthMetrics,
  kinds: [EventingAuth],
  controllers(flag) {
    const selects = selectionOf(flag);
    const settings = readSettings(flag);
    const type = flag(flags.provider);
    return [
      kymaController(selects),
      issuingController({
        access: issuingAccess(settings, type === "openid"),
        selects,
        settings,
        provider: {
          type,
          globalAccount: flag(flags.globalAccountId),
          allowHttp: flag(flags.allowHttp),
          timeoutMs: providerTimeoutMs,
          env: process.env,
        },
      }),
    ];
  },
};

// Secrets are read in the namespaces that hold kubeconfigs and credentials, and nowhere else.

/** For the controller that issues credentials; `keepsGrants` if the identity provider hands out a right per application that must be kept. */
function issuingAccess(settings: EventingAuthSettings, keepsGrants: boolean): readonly AccessRule[] {
  const { providerSecret, kubeconfigs } = settings;
  const read = ["get", "list", "watch"] as const;
  return [
    { kind: EventingAuth, verbs: ["get", "list", "watch", "patch"], why: "to see whose credentials are wanted, and to hold its finalizer" },
    { kind: EventingAuth, subresource: "status", verbs: ["patch"], why: "to report" },
    { kind: Secret, namespace: kubeconfigs.namespace, verbs: read, why: "to read the runtimes' kubeconfigs" },
    { kind: Secret, namespace: providerSecret.namespace, verbs: read, why: "to read the identity provider's credentials" },
    ...(keepsGrants
      ? [
          {
            kind: Secret,
            namespace: providerSecret.namespace,
            verbs: ["create", "patch", "delete"] as const,
            why: "to keep the right to manage each application",
          },
        ]
      : []),
  ];
}
