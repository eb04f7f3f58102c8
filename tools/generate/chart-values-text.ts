// values.yaml of the chart: written by hand, but for the parts that come from the program's flags.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { stringify } from "yaml";
import { features } from "../../packages/keyturn/src/registry.ts";
import type { FeatureName } from "../../packages/keyturn/src/feature/feature.ts";
import { camelCase, type ChartFlag, chartFlags, valueOf } from "./chart-flags.ts";

/** What works in any cluster is on. What needs something that not everybody has (Kyma and an identity provider, Istio) is asked for. */
const onByDefault: ReadonlySet<FeatureName> = new Set<FeatureName>(["rotation", "jwks", "checksum"]);

/** The file as it is, with the parts that come from flags written anew. */
export function chartValuesText(): string {
  const present = readFileSync(fileURLToPath(new URL("../../charts/keyturn/values.yaml", import.meta.url)), "utf8");
  const blocks: Readonly<Record<string, string>> = {
    controllers: `controllers:\n${features.map(({ name, summary }) => controllerBlock(name, summary)).join("")}`,
    operator: flagsBlock(flagsOf("operator"), 0),
    agent: flagsBlock(flagsOf("agent"), 1),
  };
  return Object.entries(blocks).reduce((text, [name, block]) => {
    const pattern = new RegExp(`(?<=^ *# <flags ${name}>\n)[^]*?(?=^ *# </flags ${name}>$)`, "m");
    if (!pattern.test(text))
      throw new Error(`values.yaml has no place for the flags of ${name}: put "# <flags ${name}>" and "# </flags ${name}>" there`);
    return text.replace(pattern, () => block);
  }, present);
}

function flagsOf(owner: ChartFlag["of"]): readonly ChartFlag[] {
  return chartFlags.filter(({ of }) => of === owner);
}

function controllerBlock(name: FeatureName, summary: string): string {
  const own = [`  ${camelCase(name)}:`, `    # -- Runs \`${name}\`: ${summary}.`, `    enabled: ${String(onByDefault.has(name))}`, ""];
  return own.join("\n") + flagsBlock(flagsOf(name), 2);
}

/** Flags as values from a depth of their paths on; those with a further step in their path stand under it. */
function flagsBlock(flags: readonly ChartFlag[], depth: number): string {
  const indent = "  ".repeat(depth);
  const groups = Map.groupBy(flags, ({ path }) => (path.length > depth + 1 ? path[depth] : undefined));
  return [...groups]
    .map(([group, members]) =>
      group === undefined ? members.map((flag) => flagLines(flag, indent)).join("") : `${indent}${group}:\n${flagsBlock(members, depth + 1)}`,
    )
    .join("");
}

function flagLines({ flag, path }: ChartFlag, indent: string): string {
  const help = `${flag.help.charAt(0).toUpperCase()}${flag.help.slice(1)}`;
  const value = stringify(valueOf(flag), { collectionStyle: "flow", flowCollectionPadding: false, lineWidth: 0, compat: "yaml-1.1" });
  return `${indent}# -- ${help}. (\`--${flag.name}\`)\n${indent}${path.at(-1)}: ${value}`;
}
