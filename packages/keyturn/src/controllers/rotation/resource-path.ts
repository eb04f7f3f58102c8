// Paths into a resource as its annotations write them: `.data.someKey`, `.data['tls.crt']`.
import { isRecord } from "@keyturn/runtime";

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
