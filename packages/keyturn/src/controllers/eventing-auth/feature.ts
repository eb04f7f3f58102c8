// The feature "issue": what the command line, the manifests and the docs know about it.
import { selectionOf } from "../../feature/pause-and-selection.ts";
import type { Feature } from "../../feature/feature.ts";
import { EventingAuth } from "./api.ts";
import { eventingAuthFlags as flags, readSettings } from "./flags.ts";
import { kymaController } from "./kyma.ts";
import { eventingAuthMetrics } from "./metrics.ts";
import { issuingController } from "./controller.ts";
import { eventingAuthRecords } from "./records.ts";

/** From sending a request to the identity provider to the end of its answer; three tries of it fit into a run. */
const providerTimeoutMs = 10_000;

export const eventingAuthFeature: Feature = {
  name: "eventing-auth",
  summary: "issues client credentials for runtimes, writes them to their clusters and keeps them there",
  flags: Object.values(flags),
  metrics: eventingAuthMetrics,
  kinds: [EventingAuth],
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
          timeoutMs: providerTimeoutMs,
          env: process.env,
        },
      }),
    ];
  },
};
