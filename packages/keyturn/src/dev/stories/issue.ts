// Issue: a tenant of an identity provider, and a runtime's cluster to put credentials into, which here is the same cluster.
import { readFile } from "node:fs/promises";
import { startIasStandIn } from "../stand-ins/ias/ias-stand-in.ts";
import type { BeginStory } from "./story.ts";

/** The Kyma of examples/issue. */
const runtime = "0b5e3c2a-7a2f-4d6e-9b1c-3f8d2e4a6c10";
const controlPlane = "kcp-system";
const target = "kyma-system";

export const issueStory: BeginStory = async (cluster, stack) => {
  const tenant = stack.use(await startIasStandIn());
  const secrets = { apiGroups: [""], resources: ["secrets"] };
  const kubeconfig = await cluster.kubeconfigFor({
    serviceAccount: { namespace: target, name: "eventing-auth" },
    namespacedRules: {
      [target]: [
        { ...secrets, verbs: ["create"] },
        { ...secrets, resourceNames: ["eventing-webhook-auth"], verbs: ["get", "list", "watch", "patch", "delete"] },
      ],
    },
  });
  const secret = (name: string, stringData: Readonly<Record<string, string>>) => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace: controlPlane, name },
    stringData,
  });
  await cluster.apply([
    { apiVersion: "v1", kind: "Namespace", metadata: { name: controlPlane } },
    secret("eventing-auth-ias-creds", { url: tenant.url, username: tenant.username, password: tenant.password }),
    secret(`kubeconfig-${runtime}`, { config: await readFile(kubeconfig, "utf8") }),
  ]);
  return { flags: { "eventing-auth.allow-http": "true" }, namespaces: [target] };
};
