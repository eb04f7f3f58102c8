// The feature "verify", control plane: what the command line, the manifests and the docs know about it.
import { type ControllerDefinition, type KubeObject, type AccessRule, Namespace, Secret } from "@keyturn/runtime";
import { skippingOf } from "../../feature/pause-and-selection.ts";
import type { Feature, FlagReader } from "../../feature/feature.ts";
import { UsageError } from "../../feature/flag.ts";
import { IngressCheckSum, SecretCheckSum } from "./api.ts";
import { checksumFlags, memberFlags, readAnnouncementKeys, scopeFlags } from "./flags.ts";
import { checkAgents } from "./agent-lease.ts";
import { diffReport } from "./difference.ts";
import { checksumMetrics } from "./metrics.ts";
import { checksumController, type PublishingPolicies } from "./controller.ts";
import { type MemberKind, ingressMemberKind, secretMemberKind, secretSelection } from "./member-kind.ts";
import { checksumAlerts, checksumPanels } from "./monitoring.ts";
import { checksumReasons } from "./reasons.ts";
import { type NamespaceChoice, placesOf, type Scope, scopeChoiceOf } from "./scopes.ts";
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
  ownNamespaces: checksumFlags.namespaces,
  rightsFlags: [
    { flag: checksumFlags.kinds, has: ["secrets", "ingresses"] },
    { flag: checksumFlags.namespaces, as: "namespaces" },
  ],
  metrics: checksumMetrics,
  kinds: [SecretCheckSum, IngressCheckSum],
  operatorsOwnUnless: checksumFlags.scope,
  reasons: checksumReasons,
  alerts: checksumAlerts,
  panels: checksumPanels,
  checks: [{ name: "agents", find: checkAgents }],
  queries: {
    diff: {
      summary: "which Secrets differ from the published checksum, and in which direction",
      flags: [memberFlags.versionAnnotations, memberFlags.secretSelector, memberFlags.secretTypes, ...scopeFlags],
      follows: [SecretCheckSum, Secret],
      answer(query, { allNamespaces, flag }) {
        const rules = { versionAnnotations: flag(memberFlags.versionAnnotations) };
        const selection = secretSelection(flag(memberFlags.secretTypes), flag(memberFlags.secretSelector));
        return diffReport(query, { rules, selection, scopeChoice: scopeChoiceOf(flag), allNamespaces });
      },
    },
  },
  predecessor: { name: "the missing half of Tengine-Ingress", guide: "docs/migration/from-tengine-ingress.md" },
  records: checksumRecords,
  controllers(flag) {
    const scopeChoice = scopeChoiceOf(flag);
    const { choice } = scopeChoice;
    const common = {
      scopeChoice,
      isSkipped: skippingOf(flag),
      stabilizeMs: flag(checksumFlags.stabilize),
      readPolicies: () => publishingPolicies(flag),
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

/** How checksums are published, by the flags. Throws a `UsageError` for keys that cannot be read. */
function publishingPolicies(flag: FlagReader): PublishingPolicies {
  const [signedIn, keyFile] = [flag(checksumFlags.announcedOnly), flag(checksumFlags.announcementKeys)];
  if (signedIn.length > 0 && keyFile === undefined)
    throw new UsageError("--checksum.announced-only: name the keys that count with --checksum.announcement-keys");
  const keys = keyFile === undefined ? [] : readAnnouncementKeys(keyFile);
  const common = {
    keep: flag(checksumFlags.keep),
    keepForMs: flag(checksumFlags.keepFor),
    maxAnnouncementMs: flag(checksumFlags.maxAnnouncement),
    publishEmpty: flag(checksumFlags.publishEmpty),
    limits: { vanishing: flag(checksumFlags.maxVanishing), changing: flag(checksumFlags.maxChanging) },
  };
  // Signatures are asked for by whoever has a single one of its namespaces: what is published there is about them all.
  const isSignedOnly = ({ home, namespaces }: Scope): boolean => ["*", home, ...namespaces].some((name) => signedIn.includes(name));
  return { keys, policyOf: (scope) => ({ ...common, signedOnly: isSignedOnly(scope) }) };
}

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
