// Names the right that a refused request lacked, in the words in which it would be granted.
import type { ApiError } from "../client/api-error.ts";

/** How the API server's authorizer words a refusal; the parts are quoted by it with Go's %q. */
const refusal =
  /cannot (?<verb>\w+) resource "(?<resource>[^"]+)" in API group "(?<group>[^"]*)"(?: in the namespace "(?<namespace>[^"]+)"| (?<cluster>at the cluster scope))?/;

/** `update deployments.apps in namespace web`, or undefined if the refusal does not say (admission, a webhook). */
export function missingRight(error: ApiError): string | undefined {
  const { verb, resource = "", group, namespace } = refusal.exec(error.message)?.groups ?? {};
  if (!verb) return undefined;
  const [plural, ...subresource] = resource.split("/");
  const target = [group ? `${plural}.${group}` : plural, ...subresource].join("/");
  return `${verb} ${target} in ${namespace ? `namespace ${namespace}` : "the cluster"}`;
}
