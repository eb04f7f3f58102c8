// The feature "verify", control plane: what the command line, the manifests and the docs know about it.
import { type ControllerDefinition, type KubeObject, type AccessRule, Namespace, Secret } from "@keyturn/runtime";
import { skippingOf } from "../../feature/pause-and-selection.ts";
import type { Feature } from "../../feature/feature.ts";
import { IngressCheckSum, SecretCheckSum } from "./api.ts";
import { type NamespaceChoice, placesOf, checksumFlags, memberFlags } from "./flags.ts";
import { checkAgents } from "./agent-check.ts";
import { diffReport } from "./difference.ts";
import { checksumMetrics } from "./metrics.ts";
import { checksumController } from "./controller.ts";
import { type MemberKind, ingressMemberKind, secretMemberKind } from "./member-kind.ts";
import { checksumAlerts, checksumPanels } from "./monitoring.ts";
import { checksumReasons } from "./reasons.ts";
import { checksumRecords } from "./records.ts";

export const checksumFeature: Feature = {
  name: "checksum",
  stage: {
    verb: "verify",
    summary: "publishes checksums of all certificates and Ingresses of a namespace, against which gateways check what they have before they use it",
    noun: ["checksum", "checksums"],
    example: "gateways take over a batch of certificates as a whole or not at all, and [never stop serving](docs/guides/agent.md)",
    guide: "docs/guides/verify.md",
  },
  onByDefault: true,
  flags: Object.values(checksumFlags),
  rightsFlags: [
    { flag: checksumFlags.kinds, has: ["secrets", "ingresses"] },
    { flag: checksumFlags.namespaces, as: "namespaces" },
  ],
  metrics: checksumMetrics,
  kinds: [SecretCheckSum, IngressCheckSum],
  reasons: checksumReasons,
  alerts: checksumAlerts,
  panels: checksumPanels,
  checks: [{ name: "agents", find: checkAgents }],
  queries: {
    diff: {
      summary: "which Secrets differ from the published checksum, and in which direction",
      flags: [memberFlags.versionAnnotations, memberFlags.secretSelector, memberFlags.secretTypes],
      follows: [SecretCheckSum, Secret],
      answer(query, { allNamespaces, flag }) {
        const rules = { versionAnnotations: flag(memberFlags.versionAnnotations) };
        return diffReport(query, { rules, labels: flag(memberFlags.secretSelector), types: flag(memberFlags.secretTypes), allNamespaces });
      },
    },
  },
  predecessor: { name: "the missing half of Tengine-Ingress", guide: "docs/migration/from-tengine-ingress.md" },
  records: checksumRecords,
  controllers(flag) {
    const names = flag(checksumFlags.namespaces);
    const choice: NamespaceChoice = names.length > 0 ? { type: "named", names } : { type: "labelled", labels: flag(checksumFlags.namespaceSelector) };
    const common = {
      choice,
      isSkipped: skippingOf(flag),
      stabilizeMs: flag(checksumFlags.stabilize),
      policy: {
        keep: flag(checksumFlags.keep),
        keepForMs: flag(checksumFlags.keepFor),
        maxAnnouncementMs: flag(checksumFlags.maxAnnouncement),
        publishEmpty: flag(checksumFlags.publishEmpty),
      },
    };
    const controllerOf = <T extends KubeObject>(name: string, memberKind: MemberKind<T>): ControllerDefinition =>
      checksumController({ ...common, name, memberKind, access: checksumAccess(memberKind, choice) });
    const kinds = flag(checksumFlags.kinds);
    return [
      ...(kinds.includes("secrets") ? [controllerOf("checksum", secretMemberKind(flag))] : []),
      ...(kinds.includes("ingresses") ? [controllerOf("checksum-ingress", ingressMemberKind(flag))] : []),
    ];
  },
};

/** The rights for one kind, in the chosen namespaces alone. */
function checksumAccess({ objects, checksums }: Pick<MemberKind, "objects" | "checksums">, choice: NamespaceChoice): readonly AccessRule[] {
  const inPlaces = placesOf(choice).flatMap((place): readonly AccessRule[] => [
    { kind: objects, ...place, verbs: ["list", "watch"], why: "to compute ids; of a Secret nothing but its id and a digest is kept" },
    { kind: checksums, ...place, verbs: ["get", "list", "watch", "create", "patch", "delete"], why: "to publish checksums and take old ones back" },
    { kind: checksums, ...place, subresource: "status", verbs: ["patch"], why: "to report" },
  ]);
  const chosen: readonly AccessRule[] =
    choice.type === "labelled" ? [{ kind: Namespace, verbs: ["list", "watch"], why: "to see which namespaces checksums are wanted in" }] : [];
  return [...inPlaces, ...chosen];
}
