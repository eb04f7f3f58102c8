// What is rotated: an object without all that makes it this one object.
import { hash } from "node:crypto";
import { canonicalJson, isRecord, type KubeObject } from "@keyturn/runtime";

/** The members of an object that are rotated, such as `data` and `type`. */
export type Content = Readonly<Record<string, unknown>>;

/** Never rotated: who the object is, who owns it, and what others report about it. */
const ownMembers: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata", "status"]);

/** True for a member that no path may rotate. */
export function isOwnMember(name: string): boolean {
  return ownMembers.has(name);
}

/** The content of a whole object. */
export function contentOf(object: KubeObject): Content {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !ownMembers.has(name)));
}

/** The content as the API server will store it for an object of this resource: a Secret always has a type. */
export function storedContent(resource: string, content: Content): Content {
  return resource === "secrets" && content["type"] === undefined ? { ...content, type: "Opaque" } : content;
}

/** SHA-256 over canonical JSON, in hex. */
export function digestOf(value: unknown): string {
  return hash("sha256", canonicalJson(value));
}

/** True if the object cannot take the content as it is: a Secret's type never changes, and neither does anything that is immutable. */
export function mustBeReplaced(live: KubeObject, content: Content): boolean {
  const before: Content = isRecord(live) ? live : {};
  return before["immutable"] === true || (before["type"] !== undefined && content["type"] !== undefined && before["type"] !== content["type"]);
}
