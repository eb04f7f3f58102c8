// How an answer is printed: as a table, or as data.
import { stringify } from "yaml";
import type { Report } from "../controllers/report.ts";
import { choiceFlag, switchFlag } from "../flags/flag.ts";

/** How to print. */
export type OutputFormat = "table" | "json" | "yaml";

/** For every command that answers a question. */
export const outputFlag = choiceFlag({
  name: "output",
  short: "o",
  choices: ["table", "json", "yaml"],
  default: "table",
  help: "how to print the answer",
});

/** For commands whose answer can be followed. */
export const watchFlag = switchFlag({
  name: "watch",
  short: "w",
  default: false,
  help: "go on, and show every change: in place on a terminal, one after the other elsewhere; with -o json or yaml one document for each",
});

/** For commands that can look everywhere at once. */
export const allNamespacesFlag = switchFlag({ name: "all-namespaces", short: "A", default: false, help: "look in every namespace" });

/** A whole answer, without a line break at the end. */
export function printed({ text, data }: Report, output: OutputFormat): string {
  if (output === "table") return text;
  return output === "json" ? JSON.stringify(data, undefined, 2) : stringify(data).trimEnd();
}

/** One of several documents in a stream: a line of JSON, or a document of YAML. */
export function streamed(data: unknown, output: Exclude<OutputFormat, "table">): string {
  return output === "json" ? `${JSON.stringify(data)}\n` : `---\n${stringify(data)}`;
}
