// From flags as data to commander's options, and back to texts by flag name.
import { type Command, Option } from "commander";
import manifest from "../../package.json" with { type: "json" };
import { environmentVariableOf, type Flag, flagOfWord, negationOf, readFlags } from "../feature/flag.ts";

/** Adds flags to a command, each with its environment variable and default in the help text. */
export function addFlags(command: Command, flags: readonly Flag[]): Command {
  for (const flag of inGroups(flags)) {
    const fallback =
      flag.default === undefined || flag.default === "" || (flag.standsAlone && flag.default === "false") ? "" : `, default ${flag.default}`;
    const help = `${flag.help} ($${environmentVariableOf(flag)}${fallback})`;
    const short = flag.short === undefined ? "" : `-${flag.short}, `;
    if (flag.standsAlone) {
      command.addOption(option(flag, `${short}--${flag.name}`, help).preset("true"));
      command.addOption(
        option(flag, `--${negationOf(flag)}`)
          .preset("false")
          .hideHelp(),
      );
    } else command.addOption(option(flag, `${short}--${flag.name} <${flag.placeholder}>`, help));
  }
  return command;
}

/** Those of no group first: they are the command's own. Then groups in the order in which they are met. */
function inGroups(flags: readonly Flag[]): readonly Flag[] {
  const groups = Map.groupBy(flags, groupOf);
  return [...(groups.get(ownGroup) ?? []), ...[...groups].flatMap(([group, members]) => (group === ownGroup ? [] : members))];
}

const ownGroup = "Flags";

/** The heading of a flag: its own, or its controller's, whose name its own begins with. */
function groupOf({ group, name }: Flag): string {
  const [controller, ...rest] = name.split(".");
  return group ?? (rest.length > 0 ? `Controller ${controller}` : ownGroup);
}

function option(flag: Flag, usage: string, help?: string): Option {
  const made = new Option(usage, help).helpGroup(`${groupOf(flag)}:`);
  // Commander turns dashes into capitals, and has its own idea of `--no-`; the flag's own name is what the rest of the program knows.
  made.attributeName = () => flag.name;
  made.negate = false;
  // Only for the eye: who can switch something off must see how.
  if (flag.default === "true") made.flags = usage.replace("--", "--[no-]");
  return made;
}

/**
 * The same words as commander knows them: `--name=true` and `--name=false` of flags that stand alone as `--name` and `--no-name`, `-n=shop` as
 * `--namespace=shop`, as kubectl reads it, and names of keys that look like flags after a `--`. Throws a `UsageError` for any other value of a flag that
 * stands alone.
 */
export function plainWords(words: readonly string[], flags: readonly Flag[]): string[] {
  const end = words.includes("--") ? words.indexOf("--") : words.length;
  const plain: string[] = [];
  const keys: string[] = [];
  for (const [index, word] of words.slice(0, end).entries()) {
    const isValue = flagOfWord(words[index - 1] ?? "", flags)?.standsAlone === false;
    if (!isValue && isDashedDigest(word)) keys.push(word);
    else plain.push(isValue ? word : plainWord(word, flags));
  }
  const rest = [...keys, ...words.slice(end + 1)];
  return rest.length > 0 || end < words.length ? [...plain, "--", ...rest] : plain;
}

function plainWord(word: string, flags: readonly Flag[]): string {
  const [, typed = "", text = ""] = /^(--[^=]+|-[^-=])=(.*)$/s.exec(word) ?? [];
  const flag = flags.find(({ name, short }) => typed === `--${name}` || typed === `-${short}`);
  if (!flag) return word;
  if (!flag.standsAlone) return `--${flag.name}=${text}`;
  return readFlags({ flag }, { [flag.name]: text }, {}).flag ? `--${flag.name}` : `--${negationOf(flag)}`;
}

/** A digest in base64url, as keys are named: one in 64 begins with a dash. Neither a flag nor a namespace has a capital or an underscore in it. */
function isDashedDigest(word: string): boolean {
  return /^-(?:[\w-]{26}|[\w-]{42})$/.test(word) && /[A-Z_]/.test(word.slice(2));
}

/** The texts that were given on the command line, by flag name. */
export function givenTexts(command: Command): Readonly<Record<string, string | undefined>> {
  return command.opts<Record<string, string | undefined>>();
}

// What a command gets from the process it runs in. Passed in, so that commands can be run by tests.

/** The outside of a command. */
export interface Console {
  /** How the person called the program, for usage texts. Default `keyturn`. */
  readonly program?: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** `out` without a look at what is written, for drawing over what is on the screen. Default `out`. */
  readonly draw?: (text: string) => void;
  /** How many lines `out` shows, if it is a terminal: redrawing is welcome there. Undefined for files and pipes. */
  readonly height: () => number | undefined;
  /** How many columns such a terminal has. Default: as many as are written. */
  readonly width?: () => number | undefined;
  /** Asks the person something, and resolves to the line that was typed. Absent where nobody can answer. */
  readonly ask?: (question: string) => Promise<string>;
  /** Aborts when the process is asked to stop (SIGINT, SIGTERM). */
  readonly signal: AbortSignal;
}

// The version of this build.

export const version: string = manifest.version;
