// Field selectors, as far as it must be known here whether an object is one of those that the server selects.

/** The value of a field such as `status.phase`: empty where the object has none, undefined where that is not known. */
type FieldValue = (path: string) => string | undefined;

/** True if an object with these fields is selected. One of which a field is not known counts as not selected. */
export type FieldMatcher = (valueOf: FieldValue) => boolean;

interface Requirement {
  readonly path: string;
  readonly value: string;
  readonly equal: boolean;
}

/** Reads a selector in the API's own syntax, such as `type=kubernetes.io/tls,metadata.name!=x`. The server has checked it already: what cannot be read selects everything. */
export function parseFieldSelector(selector: string): FieldMatcher {
  const requirements = splitTerms(selector).flatMap((term) => requirementOf(term));
  return (valueOf) =>
    requirements.every(({ path, value, equal }) => {
      const actual = valueOf(path);
      return actual !== undefined && (actual === value) === equal;
    });
}

/** The terms between commas that no backslash precedes. */
function splitTerms(selector: string): readonly string[] {
  return selector.match(/(?:\\.|[^\\,])+/gs) ?? [];
}

function requirementOf(term: string): readonly Requirement[] {
  const { path, operator, value = "" } = /^(?<path>[^=!\\]+)(?<operator>!=|==|=)(?<value>.*)$/s.exec(term)?.groups ?? {};
  if (path === undefined) return [];
  return [{ path, value: value.replace(/\\(.)/gs, "$1"), equal: operator !== "!=" }];
}

/** What an object has at a path of member names, as text; undefined if nothing. */
export function fieldAt(object: unknown, path: string): string | undefined {
  let found = object;
  for (const name of path.split(".")) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as Readonly<Record<string, unknown>>)[name];
  }
  if (found === undefined || found === null) return undefined;
  return typeof found === "string" ? found : JSON.stringify(found);
}
