// The feature "verify", control plane: what the command line, the manifests and the docs know about it.
import { skippingOf } from "../../feature/pause-and-selection.ts";
import type { Feature } from "../../feature/feature.ts";
import { IngressCheckSum, SecretCheckSum } from "./api.ts";
import { checksumFlags, type NamespaceChoice } from "./flags.ts";
import { checksumMetrics } from "./metrics.ts";
import { checksumController } from "./controller.ts";
import { ingressSubject, secretSubject } from "./member-kind.ts";

export const checksumFeature: Feature = {
  name: "checksum",
  summary: "publishes checksums of all certificates and Ingresses of a namespace, against which gateways check what they have before they use it",
  flags: Object.values(checksumFlags),
  metrics: checksumMetrics,
  kinds: [SecretCheckSum, IngressCheckSum],
  controllers(flag) {
    const names = flag(checksumFlags.namespaces);
    const choice: NamespaceChoice = names.length > 0 ? { type: "named", names } : { type: "labelled", labels: flag(checksumFlags.namespaceSelector) };
    const common = {
      choice,
      isSkipped: skippingOf(flag),
      settleMs: flag(checksumFlags.settle),
      policy: {
        keep: flag(checksumFlags.keep),
        keepForMs: flag(checksumFlags.keepFor),
        maxAnnouncementMs: flag(checksumFlags.maxAnnouncement),
        publishEmpty: flag(checksumFlags.publishEmpty),
      },
    };
    const kinds = flag(checksumFlags.kinds);
    return [
      ...(kinds.includes("secrets") ? [checksumController({ ...common, name: "checksum", subject: secretSubject(flag) })] : []),
      ...(kinds.includes("ingresses") ? [checksumController({ ...common, name: "checksum-ingress", subject: ingressSubject(flag) })] : []),
    ];
  },
};
