// Whether the API server would call a webhook for a new pod.
import { type MutatingWebhook, type Pod, selectsLabels, type WebhookRule } from "@keyturn/runtime";
import { evaluateConditions } from "./match-conditions.ts";

/** What the API server would do. */
export type WebhookMatch =
  | { readonly type: "called" }
  | { readonly type: "skipped"; readonly because: "namespaceSelector" | "objectSelector" | "rules" | "matchConditions" }
  | { readonly type: "undecidable"; readonly message: string };

/**
 * Decides in the API server's order: selectors, rules, conditions. `matchPolicy` makes no difference, because pods are served under one group and
 * version only. No namespace is exempt from webhooks but by their selectors.
 */
export function matchWebhook(webhook: MutatingWebhook, pod: Pod, namespaceLabels: Readonly<Record<string, string>>): WebhookMatch {
  if (!selectsLabels(webhook.namespaceSelector, namespaceLabels)) return { type: "skipped", because: "namespaceSelector" };
  if (!selectsLabels(webhook.objectSelector, pod.metadata.labels)) return { type: "skipped", because: "objectSelector" };
  if (!(webhook.rules ?? []).some(coversNewPods)) return { type: "skipped", because: "rules" };
  const conditions = evaluateConditions(webhook.matchConditions ?? [], pod);
  switch (conditions.type) {
    case "hold":
      return { type: "called" };
    case "fail":
      return { type: "skipped", because: "matchConditions" };
    case "undecidable":
    default:
      return conditions;
  }
}

function coversNewPods({ operations = [], apiGroups = [], apiVersions = [], resources = [], scope = "*" }: WebhookRule): boolean {
  return (
    includes(operations, "CREATE") &&
    includes(apiGroups, "") &&
    includes(apiVersions, "v1") &&
    resources.some((resource) => isPods(resource)) &&
    scope !== "Cluster"
  );
}

function includes(listed: readonly string[], wanted: string): boolean {
  return listed.includes("*") || listed.includes(wanted);
}

/** `pods`, and everything that contains it; `pods/*` does, since the pod itself is its own subresource of no name. */
function isPods(listed: string): boolean {
  const [resource, subresource = ""] = listed.split("/", 2);
  return (resource === "*" || resource === "pods") && (subresource === "*" || subresource === "");
}
