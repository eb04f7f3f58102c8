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

// Paths into a resource as its annotations write them: `.data.someKey`, `.data['tls.crt']`.

/** The names on the way down; empty for the whole resource. */
export type ResourcePath = readonly string[];

/** What a text came to. */
export type ParsedPath = { readonly ok: true; readonly path: ResourcePath } | { readonly ok: false; readonly message: string };

const step = /\.([A-Za-z0-9_$/-]+)|\[(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\]/gy;

/** Reads a path. Absent, empty and `.` are the whole resource. Members of lists have no name that lasts, so they cannot be pointed at. */
export function parsePath(text: string | undefined): ParsedPath {
  const trimmed = (text ?? "").trim();
  if (trimmed === "" || trimmed === ".") return { ok: true, path: [] };
  const path: string[] = [];
  step.lastIndex = 0;
  while (step.lastIndex < trimmed.length) {
    const at = step.lastIndex;
    const match = step.exec(trimmed);
    if (!match)
      return {
        ok: false,
        message: `${JSON.stringify(trimmed.slice(0, 200))} is no path from character ${at + 1} on; write it like .data.someKey or .data['tls.crt']`,
      };
    path.push(match[1] ?? (match[2] ?? match[3] ?? "").replaceAll(/\\(.)/g, "$1"));
  }
  return { ok: true, path };
}

/** The path in its usual notation, for messages. */
export function formatPath(path: ResourcePath): string {
  if (path.length === 0) return ".";
  return path.map((name) => (/^[A-Za-z0-9_$/-]+$/.test(name) ? `.${name}` : `['${name.replaceAll(/[\\']/g, String.raw`\$&`)}']`)).join("");
}

/** What is at the path; undefined if there is nothing. */
export function valueAt(value: unknown, path: ResourcePath): unknown {
  let found = value;
  for (const name of path) {
    if (!isRecord(found) || !Object.hasOwn(found, name)) return undefined;
    found = found[name];
  }
  return found;
}

/** An object that has `value` at the path and nothing else. */
export function objectWith(path: ResourcePath, value: unknown): Readonly<Record<string, unknown>> {
  const [first, ...rest] = path;
  if (first === undefined) return isRecord(value) ? value : {};
  // Defined rather than assigned, so that no name has a meaning of its own.
  return Object.defineProperty({}, first, { value: rest.length === 0 ? value : objectWith(rest, value), enumerable: true });
}
