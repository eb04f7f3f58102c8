// The matchConditions of a webhook: CEL expressions about the request, evaluated as far as the request is known beforehand.
import { type ASTNode, Environment, type ParseResult } from "@marcbachmann/cel-js";
import { LruMap, type MutatingWebhook, type Pod } from "@keyturn/runtime";
import { limits } from "../../../limits.ts";

/** Whether all conditions hold, one does not, or that cannot be said here. */
type ConditionsResult =
  | { readonly type: "hold" }
  | { readonly type: "fail"; readonly condition: string }
  | { readonly type: "undecidable"; readonly message: string };

type Conditions = NonNullable<MutatingWebhook["matchConditions"]>;

const environment = new Environment({ enableOptionalTypes: true, homogeneousAggregateLiterals: false })
  .registerVariable("object", "dyn")
  .registerVariable("oldObject", "dyn")
  .registerVariable("request", "dyn");

/** Expressions that were parsed; there are as many as webhooks have conditions. */
const parsed = new LruMap<string, ParseResult>(200);

/**
 * What a real request has and a draft has not, because other parts of the API server fill it in or it differs from pod to pod.
 * `authorizer` is nobody's to evaluate but the API server's.
 */
export const unknownPaths: readonly string[] = [
  "authorizer",
  "request.userInfo",
  "request.uid",
  "request.options",
  ...["uid", "creationTimestamp", "managedFields"].map((field) => `object.metadata.${field}`),
  ...["affinity", "imagePullSecrets", "nodeName", "overhead", "preemptionPolicy", "priority", "tolerations", "volumes"].map(
    (field) => `object.spec.${field}`,
  ),
  "object.status",
];
/** The same within lists, where the path to it does not show. */
const unknownFields = new Set(["volumeMounts"]);
/** Functions of the library that change more than the letters of ASCII. */
const otherFunctions = new Set(["lowerAscii", "upperAscii"]);
/** What goes through a list: one within another takes quadratic time, and the API server, which counts the cost, stops it. */
const loops = new Set(["all", "exists", "exists_one", "map", "filter"]);

/**
 * Evaluates the conditions. As in the API server one that is false outweighs any that cannot be evaluated.
 * An error is never taken for an answer: a function that only Kubernetes has, and a field that is missing, look the same from here.
 */
export function evaluateConditions(conditions: Conditions, pod: Pod): ConditionsResult {
  if (conditions.length === 0) return { type: "hold" };
  const variables = variablesFor(pod);
  const results = conditions.map((condition) => evaluateCondition(condition, variables));
  return results.find(({ type }) => type === "fail") ?? results.find(({ type }) => type === "undecidable") ?? { type: "hold" };
}

function evaluateCondition({ name, expression }: Conditions[number], variables: object): ConditionsResult {
  const undecidable = (why: string): ConditionsResult => ({
    type: "undecidable",
    message: `its match condition "${name}" cannot be evaluated: ${why}`,
  });
  if (expression.length > limits.celExpression) return undecidable(`it is longer than ${limits.celExpression} characters`);
  try {
    const program = parsed.get(expression) ?? environment.parse(expression);
    parsed.set(expression, program);
    const obstacle = obstacleIn(program.ast);
    if (obstacle !== undefined) return undecidable(obstacle);
    const value: unknown = program({ ...variables });
    if (typeof value !== "boolean") return undecidable(`its value is not true or false`);
    return value ? { type: "hold" } : { type: "fail", condition: name };
  } catch (error) {
    // Whatever the library throws is about the expression, and its first line says what.
    return undecidable(String(error instanceof Error ? error.message : error).split("\n", 1)[0] ?? "");
  }
}

/** What the API server gives to the expressions. What is empty is absent there, and a pod to be named by the API server has no name yet. */
function variablesFor(pod: Pod): object {
  const kind = { group: "", version: "v1", kind: "Pod" };
  const resource = { group: "", version: "v1", resource: "pods" };
  const { namespace, name } = pod.metadata;
  const request = { kind, resource, requestKind: kind, requestResource: resource, namespace, operation: "CREATE", dryRun: false };
  return { object: toCel(pod), oldObject: null, request: { ...request, ...(name !== undefined && { name }) } };
}

/** CEL distinguishes integers from doubles; Kubernetes' JSON has integers only. */
function toCel(value: unknown): unknown {
  if (typeof value === "number") return Number.isInteger(value) ? BigInt(value) : value;
  if (Array.isArray(value)) return value.map(toCel);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, toCel(member)]));
}

/** The first thing in the expression that keeps its value from being known, or known in time. */
function obstacleIn(node: ASTNode, within = 0): string | undefined {
  const isLoop = node.op === "rcall" && loops.has(node.args[0]);
  if (isLoop && within > 0) return "it goes through a list for each member of another";
  if ((node.op === "rcall" || node.op === "call") && node.args[0] === "matches" && !isPlainMatch(node.args.at(-1))) {
    return "it calls matches with an expression that may take more than linear time here";
  }
  if (node.op === "rcall" && otherFunctions.has(node.args[0])) return `it calls ${node.args[0]}, which does not work here as in the API server`;
  const field = node.op === "." || node.op === ".?" ? node.args[1] : "";
  const path = pathOf(node);
  if (unknownFields.has(field)) return unknownWords(path ?? field);
  if (path !== undefined) return isUnknown(path) ? unknownWords(path) : undefined;
  for (const child of childrenOf(node.args)) {
    const found = obstacleIn(child, isLoop ? within + 1 : within);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Whether the last of the operands is an expression that is known and takes linear time: without groups, alternatives and counts, and with one repetition
 * at most, which begins where the text does. The API server matches anything in linear time; the library, whose expressions are JavaScript's, would try
 * for ever with `^(a+)+$` and a label that somebody chose for that.
 */
function isPlainMatch(operands: unknown): boolean {
  const node = childrenOf(operands).at(-1);
  if (node?.op !== "value" || typeof node.args !== "string") return false;
  const repetitions = node.args.match(/[*+]/g)?.length ?? 0;
  return !/[(){}|?]|\\[^./dw-]/.test(node.args) && repetitions <= (node.args.startsWith("^") ? 1 : 0);
}

function unknownWords(what: string): string {
  return `it looks at ${what}, which is known only when a pod is created`;
}

/** True for what is below an unknown path, and for what contains one: `object.spec` as a whole is not known either. */
function isUnknown(path: string): boolean {
  return unknownPaths.some((unknown) => `${path}.`.startsWith(`${unknown}.`) || unknown.startsWith(`${path}.`));
}

/** `object.spec.volumes` for a chain of fields that starts at a variable; undefined for anything else. */
function pathOf(node: ASTNode): string | undefined {
  if (node.op === "id") return node.args;
  if (node.op === "." || node.op === ".?") return joined(pathOf(node.args[0]), node.args[1]);
  if (node.op !== "[]" && node.op !== "[?]") return undefined;
  const [of, index] = node.args;
  return index.op === "value" && typeof index.args === "string" ? joined(pathOf(of), index.args) : undefined;
}

function joined(path: string | undefined, field: string): string | undefined {
  return path === undefined ? undefined : `${path}.${field}`;
}

/** Operands are nodes, names, or lists of them. */
function childrenOf(operands: unknown): readonly ASTNode[] {
  if (Array.isArray(operands)) return operands.flatMap(childrenOf);
  return isNode(operands) ? [operands] : [];
}

function isNode(value: unknown): value is ASTNode {
  return typeof value === "object" && value !== null && "op" in value && "args" in value;
}
