// `keyturn completion <shell>`: what can be typed next, from the table of commands and from the cluster.
import { type Kind, Namespace } from "@keyturn/runtime";
import { Command } from "commander";
import type { Feature, QueryCommand } from "../feature/feature.ts";
import { type Flag, flagOfWord, negationOf, readFlags, UsageError } from "../feature/flag.ts";
import { addFlags, type Console, givenTexts, plainWords } from "./command-line.ts";
import { scripts, type Shell, shells } from "./completion-scripts.ts";
import { allNamespacesFlag } from "./output.ts";
import { answeringFeatures } from "./queries.ts";
import { inSession, type Session, sessionFlags } from "./session.ts";

/** Prints the script. */
export function completionCommand(_given: Readonly<Record<string, string | undefined>>, console: Console, [asked = ""]: readonly string[]): void {
  const shell: Shell | undefined = shells.find((known) => known === asked);
  if (!shell) throw new UsageError(`completion: there is no script for "${asked}"; there are ${shells.join(", ")}`);
  console.out(scripts[shell]);
}

// What can be typed next: from the table of commands, as it is. Pure.

/** As much of a command as completion needs. */
export interface CompletedCommand {
  /** The name and its arguments in commander's notation, such as `plan <subject>`. */
  readonly usage: string;
  /** One line for `--help`. */
  readonly summary: string;
  readonly flags: readonly Flag[];
  /** What its first argument can be, where that is one of a few words. */
  readonly choices?: readonly string[];
}

/** One word that can be typed. */
interface Candidate {
  readonly word: string;
  readonly help: string;
}

/** What can be typed, or what the cluster or the file system knows. */
type Completion =
  | { readonly type: "words"; readonly candidates: readonly Candidate[] }
  /** A name that only the cluster knows. `typed` is what there is of it, `before` what stands before it in the same word. */
  | { readonly type: "names"; readonly of: NameSource; readonly typed: string; readonly before: string; readonly words: readonly string[] }
  | { readonly type: "files" };

/** Names that can be asked of a cluster. */
type NameSource = "namespaces" | "objects" | QueryCommand;

/** For the words after the program's name; the last of them is the one that is being typed, and may be empty. */
export function completionOf(typedWords: readonly string[], commands: readonly CompletedCommand[], registry: readonly Feature[]): Completion {
  const words = typedWords.slice(0, -1);
  const typed = typedWords.at(-1) ?? "";
  const [name, ...rest] = words;
  const command = commands.find(({ usage }) => nameOfUsage(usage) === name);
  const names = commands.map(({ usage, summary }) => ({ word: nameOfUsage(usage), help: summary }));
  if (name === undefined) return chosen(typed, [...names, { word: "help", help: "show the help of a command" }]);
  if (name === "help") return rest.length === 0 ? chosen(typed, names) : nothing;
  if (!command) return nothing;
  const before = rest.at(-1) ?? "";
  const open = flagOfWord(before, command.flags);
  if (open && !open.standsAlone) return valueOf(open, { typed, before: "", words: rest, registry });
  const equals = typed.indexOf("=");
  if (typed.startsWith("--") && equals > 0) {
    const flag = command.flags.find(({ name }) => typed.startsWith(`--${name}=`));
    return flag ? valueOf(flag, { typed: typed.slice(equals + 1), before: typed.slice(0, equals + 1), words: rest, registry }) : nothing;
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
  // Who sees that something is on by itself wants to switch it off.
  const wordsOf = (flag: Flag): readonly string[] => [flag.name, ...(flag.standsAlone && flag.default === "true" ? [negationOf(flag)] : [])];
  return [
    ...flags.flatMap((flag) => wordsOf(flag).map((word) => ({ word: `--${word}`, help: flag.help, name: flag.name }))),
    { word: "--help", help: "show the help of the command", name: "help" },
  ]
    .filter(({ name }) => !given.has(name))
    .map(({ word, help }) => ({ word, help }));
}

function chosen(typed: string, candidates: readonly Candidate[]): Completion {
  return { type: "words", candidates: candidates.filter(({ word }) => word.startsWith(typed)) };
}

interface Typed {
  readonly registry: readonly Feature[];
  readonly typed: string;
  readonly before: string;
  readonly words: readonly string[];
}

function valueOf({ name, takes, help, placeholder }: Flag, { typed, before, words, registry }: Typed): Completion {
  const among = (choices: readonly string[]): Completion =>
    chosen(
      `${before}${typed}`,
      choices.map((choice) => ({ word: `${before}${choice}`, help })),
    );
  if (takes.type === "choice") return among(takes.choices);
  if (takes.type === "switch") return among(["true", "false"]);
  if (name === "controllers") return among(listed(typed, ["all", ...registry.map((feature) => feature.name)]));
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
    const of = usage.startsWith("status") ? "objects" : usage.startsWith("plan") ? "plan" : "history";
    return { type: "names", of, typed, before: "", words };
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

// Names for completion that only the cluster knows. Best effort: a cluster that does not answer at once has nothing to offer.

/** Nobody waits longer for a key press. */
const patienceMs = 3000;

/** The names, or none. `words` are those of the command line, which may say where to look. */
async function namesIn(
  source: NameSource,
  words: readonly string[],
  { console, registry }: { readonly console: Console; readonly registry: readonly Feature[] },
): Promise<readonly string[]> {
  const signal = AbortSignal.any([console.signal, AbortSignal.timeout(patienceMs)]);
  try {
    const given = flagsAmong(words);
    const { allNamespaces } = readFlags({ allNamespaces: allNamespacesFlag }, given, console.environment);
    const names = await inSession(given, { ...console, signal }, ({ client, namespace }) =>
      listedNames(source, { client, signal, place: allNamespaces ? {} : { namespace } }, registry),
    );
    return [...new Set(names)].sort();
  } catch {
    // There is nobody to report to: what is printed here is taken for candidates.
    return [];
  }
}

/** Whom to ask, and where to look: in one namespace or in all. */
interface NameQuery extends Pick<Session, "client" | "signal"> {
  readonly place: { readonly namespace?: string };
}

async function listedNames(source: NameSource, { client, signal, place }: NameQuery, registry: readonly Feature[]): Promise<readonly string[]> {
  if (source === "namespaces") return (await client.list(Namespace, {}, signal)).items.map(({ metadata }) => metadata.name);
  const named =
    source === "objects"
      ? registry
          .flatMap((feature): readonly Kind[] => feature.kinds)
          .map(async (kind) => (await client.list(kind, place, signal)).items.map(({ metadata }) => metadata.name))
      : answeringFeatures(source, registry).map(async ({ feature, query }) => (await query.names?.(client, place, signal)) ?? [feature]);
  const lists = await Promise.allSettled(named);
  return lists.flatMap((list) => (list.status === "fulfilled" ? list.value : []));
}

/** The flags among words that need not make a whole command line yet. */
function flagsAmong(words: readonly string[]): Readonly<Record<string, string | undefined>> {
  const quiet = { writeErr: () => {}, writeOut: () => {} };
  const parser = new Command().exitOverride().helpOption(false).allowUnknownOption().allowExcessArguments().configureOutput(quiet);
  const flags = [...sessionFlags, allNamespacesFlag];
  return givenTexts(addFlags(parser, flags).parse(plainWords(words, flags), { from: "user" }));
}

// `keyturn __complete …`: what the shells' scripts ask, in the form that kubectl expects of its plugins too.

/** What a shell should do besides, as cobra's scripts and kubectl read it: 0 offers files, 4 does not. */
const offerFiles = 0;
const offerNoFiles = 4;

/** Prints a word a line, with its help after a tab, and what to do besides. `words` are those after the program's name; the last is being typed. */
export async function complete(
  words: readonly string[],
  commands: readonly CompletedCommand[],
  { console, registry }: { readonly console: Console; readonly registry: readonly Feature[] },
): Promise<void> {
  // Some shells cannot pass on an empty word.
  const completion = completionOf(
    words.map((word) => (word === '""' || word === "''" ? "" : word)),
    commands,
    registry,
  );
  if (completion.type === "files") return console.out(`:${offerFiles}\n`);
  const candidates = completion.type === "words" ? completion.candidates : await named(completion, { console, registry });
  console.out(`${candidates.map(({ word, help }) => `${word}\t${help.split("\n")[0]}\n`).join("")}:${offerNoFiles}\n`);
}

async function named(
  { of, typed, before, words }: Extract<ReturnType<typeof completionOf>, { type: "names" }>,
  place: { readonly console: Console; readonly registry: readonly Feature[] },
): Promise<readonly Candidate[]> {
  const names = await namesIn(of, words, place);
  return names
    .filter((name) => name.startsWith(typed))
    .map((name) => ({ word: `${before}${name}`, help: of === "plan" || of === "history" ? "subjects" : of }));
}
