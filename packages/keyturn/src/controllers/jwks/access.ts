// Every right that the JWKS controllers need.
import { type AccessRule, ConfigMap, Deployment, type Kind, Secret, Service } from "@keyturn/runtime";
import { JWKS, JWKSConfig } from "./api.ts";

const changed = ["get", "list", "watch", "create", "patch", "delete"] as const;

function rulesFor(kind: Kind): readonly AccessRule[] {
  return [
    { kind, verbs: ["get", "list", "watch", "patch"], why: "to see what is to be published, and to hold its finalizer" },
    { kind, subresource: "status", verbs: ["patch"], why: "to report" },
    // With OwnerReferencesPermissionEnforcement, who sets blockOwnerDeletion must be allowed to set finalizers.
    { kind, subresource: "finalizers", verbs: ["update"], why: "to own nginx's objects" },
  ];
}

export const jwksAccess: readonly AccessRule[] = [
  ...rulesFor(JWKSConfig),
  ...rulesFor(JWKS),
  { kind: Secret, verbs: ["list", "watch"], why: "to read certificates; private keys are compared and not kept" },
  { kind: ConfigMap, verbs: changed, why: "to publish the keys and nginx's configuration" },
  { kind: Deployment, verbs: changed, why: "to run nginx" },
  { kind: Service, verbs: changed, why: "to make nginx reachable" },
];
