// Every right that the controllers of this feature need. Secrets are read in the namespaces that hold kubeconfigs and credentials, and nowhere else.
import { type AccessRule, Secret } from "@keyturn/runtime";
import { EventingAuth, Kyma } from "./api.ts";
import type { EventingAuthSettings } from "./settings.ts";

/** For the controller that makes EventingAuths. */
export const kymaAccess: readonly AccessRule[] = [
  { kind: Kyma, verbs: ["get", "list", "watch"], why: "to see which runtimes there are" },
  // With OwnerReferencesPermissionEnforcement, who sets blockOwnerDeletion must be allowed to set finalizers.
  { kind: Kyma, subresource: "finalizers", verbs: ["update"], why: "to make a runtime the owner of its EventingAuth" },
  { kind: EventingAuth, verbs: ["get", "list", "watch", "create", "patch", "delete"], why: "to keep one for every runtime" },
];

/** For the controller that issues credentials; `keepsGrants` if the identity provider hands out a right per application that must be kept. */
export function issuingAccess(settings: EventingAuthSettings, keepsGrants: boolean): readonly AccessRule[] {
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
