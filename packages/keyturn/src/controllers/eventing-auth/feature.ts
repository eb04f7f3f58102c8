// The feature "issue": what the command line, the manifests and the docs know about it.
import type { Feature } from "../../feature/feature.ts";
import { selectionOf } from "../../feature/pause-and-selection.ts";
import { EventingAuth } from "./api.ts";
import { issuingController } from "./controller.ts";
import { eventingAuthFlags as flags, readSettings } from "./flags.ts";
import { kymaController } from "./kyma.ts";
import { eventingAuthMetrics } from "./metrics.ts";
import { eventingAuthAlerts, eventingAuthPanels } from "./monitoring.ts";
import { eventingAuthReasons } from "./reasons.ts";
import { eventingAuthRecords } from "./records.ts";

export const eventingAuthFeature: Feature = {
  name: "eventing-auth",
  stage: {
    verb: "issue",
    summary: "issues client credentials for runtimes, writes them to their clusters and keeps them there",
    noun: ["runtime", "runtimes"],
    example: "every runtime gets an application at the identity provider, and its credentials in its own cluster",
    guide: "docs/guides/issue.md",
  },
  onByDefault: false,
  flags: Object.values(flags),
  rightsFlags: [
    { flag: flags.kubeconfigNamespace, as: "namespace" },
    { flag: flags.credentialsNamespace, as: "namespace" },
    { flag: flags.provider, is: "openid" },
  ],
  metrics: eventingAuthMetrics,
  kinds: [EventingAuth],
  operatorsOwn: [EventingAuth],
  reasons: eventingAuthReasons,
  alerts: eventingAuthAlerts,
  panels: eventingAuthPanels,
  predecessor: { name: "eventing-auth-manager", image: "eventing-auth-manager", guide: "docs/migration/from-eventing-auth-manager.md" },
  records: eventingAuthRecords,
  controllers(flag) {
    const selects = selectionOf(flag);
    return [
      kymaController(selects),
      issuingController({
        selects,
        settings: readSettings(flag),
        provider: {
          type: flag(flags.provider),
          globalAccount: flag(flags.globalAccountId),
          allowHttp: flag(flags.allowHttp),
          timeoutMs: flag(flags.providerTimeout),
          env: process.env,
        },
      }),
    ];
  },
};
