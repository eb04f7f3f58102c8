// The controller that operator tests run: a ConfigMap with a digest for every labelled Secret of one namespace.
import { hash } from "node:crypto";
import { ConfigMap, type ControllerDefinition, liveIn, managedBySelector, nameOf, ownedWriter, policyRules, Secret } from "@keyturn/runtime";

const operator = { name: "demo", domain: "demo.example" };

/** Works on Secrets with the label `digest=yes` in the namespace. */
export function digestController(namespace: string, name = "digests"): ControllerDefinition {
  return {
    name,
    access: [
      { kind: Secret, verbs: ["list", "watch"], why: "to read what to digest" },
      { kind: ConfigMap, verbs: ["get", "list", "watch", "create", "patch", "delete"], why: "to keep the digests" },
    ],
    setup({ watch, trigger }) {
      const digests = watch(Secret, { namespace, labels: "digest=yes", keep: ({ data }) => hash("sha256", JSON.stringify(data ?? {})) });
      const kept = watch(ConfigMap, { namespace, labels: managedBySelector(operator) });
      trigger(digests);
      trigger(kept);
      return async ({ key, client, signal }) => {
        const objectName = nameOf(key);
        const writer = ownedWriter({ client, operator, controller: name, owner: { kind: Secret, name: objectName }, signal });
        const sha256 = digests.get(key);
        if (sha256 === undefined) await writer.remove(ConfigMap, objectName);
        else await writer.apply(ConfigMap, { metadata: objectName, data: { sha256 } }, liveIn(kept, key));
      };
    },
  };
}

/** The RBAC rules for it, as its access list declares them. */
export const digestRules = policyRules(digestController("any").access);

/** What managers need in the namespace of their Leases. */
export const leaseRules = [{ apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "create", "update", "patch"] }];
