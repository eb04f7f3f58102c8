// The flags that are values of the chart: where each one stands in values.yaml, what it defaults to there, and what may be written.
import { agentFlags, policyFlags } from "../../packages/keyturn/src/agent/flags.ts";
import { features } from "../../packages/keyturn/src/registry.ts";
import type { FeatureName } from "../../packages/keyturn/src/feature/feature.ts";
import type { Flag } from "../../packages/keyturn/src/feature/flag.ts";
import { operatorFlags } from "../../packages/keyturn/src/operator-flags.ts";

/** A flag, and its place among the values. */
export interface ChartFlag {
  readonly flag: Flag;
  /** Where it stands, such as `["controllers", "jwks", "reconcileInterval"]`. */
  readonly path: readonly string[];
  /** Whose flag it is: an argument of `keyturn run`, given if that feature is on, or of `keyturn agent`. */
  readonly of: FeatureName | "operator" | "agent";
}

/** What the chart decides itself: which controllers run and who talks to which cluster. Ports are values of their own. */
const operatorsOwn: ReadonlySet<Flag> = new Set<Flag>([operatorFlags.controllers, operatorFlags.kubeconfig, operatorFlags.context]);

/** What an agent gets from the operator's values: it has to count what the control plane counts (`controllers.checksum`), and logs like it. */
export const sharedWithAgent: ReadonlySet<Flag> = new Set<Flag>([
  agentFlags.versionAnnotations,
  agentFlags.secretSelector,
  agentFlags.secretTypes,
  agentFlags.logLevel,
  agentFlags.logFormat,
]);

/** What is no value of the agent's: that, and where it works. */
const agentsOwn: ReadonlySet<Flag> = new Set<Flag>([...operatorsOwn, ...sharedWithAgent, agentFlags.namespace, agentFlags.dir]);

const valuesAmong = (flags: readonly Flag[], own: ReadonlySet<Flag>): readonly Flag[] =>
  flags.filter((flag) => !own.has(flag) && flag.takes.type !== "address");

/** Every flag that is a value, in the order of the command line. */
export const chartFlags: readonly ChartFlag[] = [
  ...valuesAmong(Object.values<Flag>(operatorFlags), operatorsOwn).map((flag): ChartFlag => ({ flag, path: pathOf(flag), of: "operator" })),
  ...features.flatMap(({ name, flags }) =>
    valuesAmong(flags, operatorsOwn).map((flag): ChartFlag => ({ flag, path: ["controllers", ...pathOf(flag)], of: name })),
  ),
  ...valuesAmong([...Object.values<Flag>(agentFlags), ...Object.values<Flag>(policyFlags)], agentsOwn).map((flag): ChartFlag => ({
    flag,
    path: ["agent", ...pathOf(flag)],
    of: "agent",
  })),
];

function pathOf(flag: Flag): readonly string[] {
  return flag.name.split(".").map(camelCase);
}

/** `reconcile-interval` as a value's name: `reconcileInterval`. */
export function camelCase(name: string): string {
  return name.replaceAll(/-([a-z0-9])/g, (_dash, letter: string) => letter.toUpperCase());
}

/** What stands in values.yaml for a flag that nobody has set. */
export function valueOf({ default: text, takes }: Flag): unknown {
  switch (takes.type) {
    case "switch":
      return text === "true";
    case "number":
      return Number(text);
    case "list":
      return text === undefined ? [] : text.split(",");
    case "text":
    case "choice":
    case "duration":
    case "address":
      break;
  }
  return text ?? "";
}

/** Go's notation of a length of time, as `parseDuration` reads it. */
const durationPattern = String.raw`^(0|((\d+(\.\d+)?|\.\d+)(ns|us|µs|ms|s|m|h))+)$`;

/** What may be written for a flag, as a JSON schema. */
export function schemaOf({ takes }: Flag): Readonly<Record<string, unknown>> {
  switch (takes.type) {
    case "switch":
      return { type: "boolean" };
    case "number":
      return { type: "integer", minimum: takes.least, maximum: takes.most };
    case "list":
      return { type: "array", items: { type: "string", pattern: "^[^,]*$" } };
    case "choice":
      return { type: "string", enum: takes.choices };
    case "duration":
      // A bare 0 is a number in YAML, and means what it says.
      return { type: ["string", "integer"], pattern: durationPattern, minimum: 0, maximum: 0 };
    case "text":
    case "address":
      break;
  }
  return { type: "string" };
}
