// What can be typed next: from the table of commands, as it is. Pure.
import { featureNames } from "../../controllers/feature.ts";
import { type Flag, flagOfWord } from "../../flags/flag.ts";

/** As much of a command as completion needs. */
export interface CompletedCommand {
  /** The name and its arguments, such as `plan <subject>`. */
  readonly usage: string;
  readonly summary: string;
  readonly flags: readonly Flag[];
  /** What its first argument can be, where that is known. */
  readonly choices?: readonly string[];
}

/** One word that can be typed. */
export interface Candidate {
  readonly word: string;
  readonly help: string;
}

/** What can be typed, or what the cluster or the file system knows. */
export type Completion =
  | { readonly type: "words"; readonly candidates: readonly Candidate[] }
  /** A name that only the cluster knows. `typed` is what there is of it, `before` what stands before it in the same word. */
  | { readonly type: "names"; readonly of: NameSource; readonly typed: string; readonly before: string; readonly words: readonly string[] }
  | { readonly type: "files" };

/** Names that can be asked of a cluster. */
export type NameSource = "namespaces" | "sets" | "objects";

/** For the words after the program's name; the last of them is the one that is being typed, and may be empty. */
export function completionOf(typedWords: readonly string[], commands: readonly CompletedCommand[]): Completion {
  const words = typedWords.slice(0, -1);
  const typed = typedWords.at(-1) ?? "";
  const [name, ...rest] = words;
  const command = commands.find(({ usage }) => nameOfUsage(usage) === name);
  if (name === undefined)
    return chosen(
      typed,
      commands.map(({ usage, summary }) => ({ word: nameOfUsage(usage), help: summary })),
    );
  if (!command) return nothing;
  const before = rest.at(-1) ?? "";
  const open = flagOfWord(before, command.flags);
  if (open && !open.standsAlone) return valueOf(open, { typed, before: "", words: rest });
  const equals = typed.indexOf("=");
  if (typed.startsWith("--") && equals > 0) {
    const flag = command.flags.find(({ name }) => typed.startsWith(`--${name}=`));
    return flag ? valueOf(flag, { typed: typed.slice(equals + 1), before: typed.slice(0, equals + 1), words: rest }) : nothing;
  }
  if (typed.startsWith("-")) return chosen(typed, flagWords(command.flags, rest));
  return argumentOf(command, rest, typed);
}

const nothing: Completion = { type: "words", candidates: [] };

function nameOfUsage(usage: string): string {
  return usage.split(" ")[0] ?? "";
}

/** Every flag that has not been given yet. */
function flagWords(flags: readonly Flag[], words: readonly string[]): readonly Candidate[] {
  const given = new Set(words.map((word) => flagOfWord(word.split("=")[0] ?? "", flags)?.name));
  return [...flags.map(({ name, help }) => ({ word: `--${name}`, help, name })), { word: "--help", help: "what the command does", name: "help" }]
    .filter(({ name }) => !given.has(name))
    .map(({ word, help }) => ({ word, help }));
}

function chosen(typed: string, candidates: readonly Candidate[]): Completion {
  return { type: "words", candidates: candidates.filter(({ word }) => word.startsWith(typed)) };
}

interface Typed {
  readonly typed: string;
  readonly before: string;
  readonly words: readonly string[];
}

function valueOf({ name, takes, help, placeholder }: Flag, { typed, before, words }: Typed): Completion {
  const among = (choices: readonly string[]): Completion =>
    chosen(
      `${before}${typed}`,
      choices.map((choice) => ({ word: `${before}${choice}`, help })),
    );
  if (takes.type === "choice") return among(takes.choices);
  if (takes.type === "switch") return among(["true", "false"]);
  if (name === "controllers") return among(listed(typed, ["all", ...featureNames]));
  if (/namespaces?$/.test(name)) return { type: "names", of: "namespaces", typed, before, words };
  return /FILE|FOLDER|DIR/.test(placeholder) ? { type: "files" } : nothing;
}

/** The choices that go on a list separated by commas. */
function listed(typed: string, choices: readonly string[]): readonly string[] {
  const comma = typed.lastIndexOf(",");
  const done = typed.slice(0, comma + 1);
  return done === ""
    ? choices
    : choices.filter((choice) => choice !== "all" && !done.split(",").includes(choice)).map((choice) => `${done}${choice}`);
}

/** The command's one argument, if it has one and it is still to come. */
function argumentOf({ usage, flags, choices, summary }: CompletedCommand, words: readonly string[], typed: string): Completion {
  const [, argument] = usage.split(" ");
  if (argument === undefined || positionals(words, flags) > 0) return nothing;
  if (argument.includes("set") || argument.includes("subject")) {
    return { type: "names", of: usage.startsWith("status") ? "objects" : "sets", typed, before: "", words };
  }
  return chosen(
    typed,
    (choices ?? []).map((word) => ({ word, help: summary })),
  );
}

/** How many arguments stand among flags and their values. */
function positionals(words: readonly string[], flags: readonly Flag[]): number {
  return words.filter((word, index) => {
    const isValue = flagOfWord(words[index - 1] ?? "", flags)?.standsAlone === false;
    return !word.startsWith("-") && !isValue;
  }).length;
}
