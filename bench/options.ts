// What the benchmark can be told.
import { parseArgs } from "node:util";

const known = {
  quick: {
    type: "boolean",
    default: false,
    help: "small sizes and short times; the ratios are held against the baseline, and the page of results stays as it is",
  },
  rounds: { type: "string", value: "N", help: "exactly so many rounds, whatever they take" },
  only: { type: "string", value: "TEXT", help: "only scenarios with this in their name; prints the page and leaves every file as it is" },
  write: { type: "boolean", default: false, help: "with --only: puts what was measured into results.json and RESULTS.md, and says when" },
  "write-baseline": { type: "boolean", default: false, help: "with --quick: three times the rounds, and their ratios become the baseline" },
  render: { type: "boolean", default: false, help: "measures nothing, and writes the page again from results.json" },
  help: { type: "boolean", default: false, help: "prints this" },
} as const;

/** The options, or the message to print instead of doing anything, with the exit code that goes with it. */
type Told =
  | { readonly type: "options"; readonly options: ReturnType<typeof parse> }
  | { readonly type: "message"; readonly text: string; readonly exitCode: 0 | 2 };

/** Reads the arguments of the command line. */
export function readOptions(args: readonly string[]): Told {
  try {
    const options = parse(args);
    if (options.help) return { type: "message", text: help(), exitCode: 0 };
    if (options.rounds !== undefined && !/^[1-9]\d*$/.test(options.rounds))
      throw new Error(`--rounds ${options.rounds}: a number of rounds is wanted`);
    if (options.write && (options.only === undefined || options.quick)) throw new Error("--write: only with --only, and at full size");
    return { type: "options", options };
  } catch (error) {
    return { type: "message", text: `${error instanceof Error ? error.message : String(error)}\n\n${help()}`, exitCode: 2 };
  }
}

function parse(args: readonly string[]) {
  return parseArgs({ args: [...args], options: known }).values;
}

function help(): string {
  const rows = Object.entries(known).map(([name, option]) => [`--${name}${"value" in option ? ` ${option.value}` : ""}`, option.help] as const);
  const width = Math.max(...rows.map(([flag]) => flag.length));
  return ["Usage: node bench/main.ts [options]", "", ...rows.map(([flag, text]) => `  ${flag.padEnd(width)}  ${text}`)].join("\n");
}
