// Kubernetes label selectors, evaluated here: which selections see an object that we wrote.

/** True for labels that the selector selects. */
export type LabelMatcher = (labels: Readonly<Record<string, string>>) => boolean;

const setBased = /^(\S+)\s+(in|notin)\s*\(([^)]*)\)$/;
const equality = /^([^\s!=]+)\s*(==|=|!=)\s*(\S*)$/;

/** Parses a selector in the API's own syntax: `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b,c)`, `a`, `!a`, joined by commas. Throws on anything else. */
export function parseLabelSelector(selector: string): LabelMatcher {
  const matchers = splitRequirements(selector).map(parseRequirement);
  return (labels) => matchers.every((matches) => matches(labels));
}

/** Splits at the commas that are not within parentheses. */
function splitRequirements(selector: string): readonly string[] {
  return selector
    .split(/,(?![^()]*\))/)
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

function parseRequirement(requirement: string): LabelMatcher {
  const inSet = setBased.exec(requirement);
  if (inSet) {
    const [, key = "", operator, list = ""] = inSet;
    const values = new Set(list.split(",").map((value) => value.trim()));
    // As the API server has it: `notin` also selects objects without the label.
    return operator === "in"
      ? (labels) => has(labels, key) && values.has(labels[key] ?? "")
      : (labels) => !has(labels, key) || !values.has(labels[key] ?? "");
  }
  const equal = equality.exec(requirement);
  if (equal) {
    const [, key = "", operator, value = ""] = equal;
    return operator === "!=" ? (labels) => !has(labels, key) || labels[key] !== value : (labels) => has(labels, key) && labels[key] === value;
  }
  const [, negation, key = ""] = /^(!?)\s*(\S+)$/.exec(requirement) ?? [];
  if (key === "")
    throw new Error(
      `the label selector requirement ${JSON.stringify(requirement)} is not understood: use a=b, a!=b, a in (b,c), a notin (b,c), a or !a`,
    );
  return negation ? (labels) => !has(labels, key) : (labels) => has(labels, key);
}

function has(labels: Readonly<Record<string, string>>, key: string): boolean {
  return Object.hasOwn(labels, key);
}
