// Flags as data: one table gives the parser, the `--help` text, the environment variables, the chart's values and the reference page.
import { messageOf, parseBindAddress, parseDuration } from "@keyturn/runtime";

/** What the text of a flag can be: `list` is separated by commas; `choice` and `number` say which words and which numbers. */
type FlagType =
  | { readonly type: "text" | "switch" | "list" | "duration" | "address" }
  | { readonly type: "choice"; readonly choices: readonly string[] }
  | { readonly type: "number"; readonly least: number; readonly most: number };

/** A flag: how it is called, what it means, and how its text becomes a value. */
export interface Flag<T = unknown> {
  /** As typed, without dashes: `metrics-bind-address`, or `jwks.reconcile-interval` for a controller's own. */
  readonly name: string;
  /** One letter that can be typed instead, such as `n` for `-n`. */
  readonly short?: string;
  /** The heading it stands under in `--help`. Default: the controller's that it belongs to, or none. */
  readonly group?: string;
  /** One sentence for `--help` and the reference. */
  readonly help: string;
  /** What stands for the value in `--help`, such as `ADDRESS`. */
  readonly placeholder: string;
  /** What its text is; the chart's values and shell completion go by it. */
  readonly takes: FlagType;
  /** The text that applies when the flag is not given; undefined if there is none. */
  readonly default: string | undefined;
  /** Another environment variable that counts where its own is not set: the one that an earlier operator read. */
  readonly legacyVariable?: string;
  /** True for flags that take no word after them: alone they mean `true`. */
  readonly standsAlone: boolean;
  /** Throws an Error whose message completes "--name: …". */
  readonly parse: (text: string | undefined) => T;
}

/** The values of a record of flags. */
export type ValuesOf<Flags extends Readonly<Record<string, Flag>>> = {
  readonly [Name in keyof Flags]: Flags[Name] extends Flag<infer T> ? T : never;
};

/** A bad command line or environment: the process says `message` in one line and exits with 2. */
export class UsageError extends Error {
  readonly code = "Usage";
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "UsageError";
  }
}

/** The environment variable that stands in for a flag: `KEYTURN_` and the name in capitals. */
export function environmentVariableOf(flag: Flag): string {
  return `KEYTURN_${flag.name.toUpperCase().replaceAll(/[^A-Z0-9]/g, "_")}`;
}

/** What switches a flag off that stands alone: `no-watch` for `watch`, and `open` for `no-open`. */
export function negationOf({ name }: Flag): string {
  return name.startsWith("no-") ? name.slice("no-".length) : `no-${name}`;
}

/** The flag that a word names: `--name`, `--no-name`, `-n`, or `-An` where A stands alone. Undefined for all other words, also for those with a value in them. */
export function flagOfWord(word: string, flags: readonly Flag[]): Flag | undefined {
  if (word.startsWith("--")) {
    return flags.find((flag) => word === `--${flag.name}` || (flag.standsAlone && word === `--${negationOf(flag)}`));
  }
  if (!word.startsWith("-")) return undefined;
  const letters = Array.from(word.slice(1), (letter) => flags.find(({ short }) => short === letter));
  // What follows a letter that takes a value is its value.
  return letters.slice(0, -1).every((flag) => flag?.standsAlone) ? letters.at(-1) : undefined;
}

/** What a flag needs besides its type. */
interface Described {
  readonly name: string;
  readonly short?: string;
  readonly group?: string;
  readonly help: string;
  readonly placeholder?: string;
  readonly legacyVariable?: string;
}

/** A flag that takes any text; absent is undefined. */
export function textFlag(flag: Described): Flag<string | undefined> {
  return { placeholder: "TEXT", ...flag, takes: { type: "text" }, default: undefined, standsAlone: false, parse: (text) => text };
}

/** A flag that names a namespace. */
export function namespaceFlag(described: Parameters<typeof textFlag>[0]): Flag<string | undefined> {
  return {
    ...textFlag(described),
    parse(text) {
      // A label of DNS, as the API server has it for names of namespaces.
      if (text !== undefined && !/^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/.test(text)) {
        throw new Error(`"${text}" cannot be the name of a namespace: that has 1 to 63 small letters, digits and dashes, and no dash at either end`);
      }
      return text;
    },
  };
}

/** For commands that show what the operator keeps in its own namespace. */
export const operatorNamespaceFlag = namespaceFlag({
  name: "operator-namespace",
  placeholder: "NAMESPACE",
  help: "where the operator's Leases are, to see who leads and what was restarted; otherwise they are looked for everywhere",
});

/** A flag that takes text and has a default. */
export function textFlagWithDefault(flag: Described & { readonly default: string }): Flag<string> {
  return { placeholder: "TEXT", ...flag, takes: { type: "text" }, standsAlone: false, parse: (text) => text ?? flag.default };
}

/** A flag that takes one of a few words. */
export function choiceFlag<const Choice extends string>(
  flag: Described & { readonly choices: readonly Choice[]; readonly default: NoInfer<Choice> },
): Flag<Choice> {
  return {
    placeholder: flag.choices.join("|"),
    ...flag,
    takes: { type: "choice", choices: flag.choices },
    standsAlone: false,
    parse(text = flag.default) {
      const choice = flag.choices.find((candidate) => candidate === text);
      if (choice === undefined) throw new Error(`"${text}" is not one of ${flag.choices.join(", ")}`);
      return choice;
    },
  };
}

/** A yes-or-no flag: `--name`, `--no-name`, `--name=true`, `--name=false`. The word after it is never its value. */
export function switchFlag(flag: Described & { readonly default: boolean }): Flag<boolean> {
  return {
    placeholder: "true|false",
    ...flag,
    takes: { type: "switch" },
    default: String(flag.default),
    standsAlone: true,
    parse(text = String(flag.default)) {
      if (text === "true") return true;
      if (text === "false") return false;
      throw new Error(`"${text}" is neither true nor false`);
    },
  };
}

/** A comma-separated list; absent or empty is the empty list. */
export function listFlag(flag: Described): Flag<readonly string[]> {
  return {
    placeholder: "A,B,…",
    ...flag,
    takes: { type: "list" },
    default: undefined,
    standsAlone: false,
    parse: (text = "") =>
      text
        .split(",")
        .map((item) => item.trim())
        .filter((item) => item !== ""),
  };
}

/** A length of time in Go's notation (`5s`, `1m30s`, `720h`; `0` for none), in milliseconds. */
export function durationFlag(flag: Described & { readonly default: string }): Flag<number> {
  return { placeholder: "DURATION", ...flag, takes: { type: "duration" }, standsAlone: false, parse: (text = flag.default) => parseDuration(text) };
}

/** Where to listen: `:8080`, `127.0.0.1:8080`, `[::1]:8080`, or `0` for nowhere. */
export function addressFlag(flag: Described & { readonly default: string }): Flag<string> {
  return {
    placeholder: "ADDRESS",
    ...flag,
    takes: { type: "address" },
    standsAlone: false,
    parse(text = flag.default) {
      parseBindAddress(text);
      return text;
    },
  };
}

/** A whole number within bounds. */
export function numberFlag(flag: Described & { readonly default: number; readonly least: number; readonly most: number }): Flag<number> {
  return {
    placeholder: "N",
    ...flag,
    takes: { type: "number", least: flag.least, most: flag.most },
    default: String(flag.default),
    standsAlone: false,
    parse(text = String(flag.default)) {
      const value = Number(text);
      if (!Number.isInteger(value) || value < flag.least || value > flag.most) {
        throw new Error(`"${text}" is not a whole number from ${flag.least} to ${flag.most}`);
      }
      return value;
    },
  };
}

/** Turns the texts of the command line (by flag name) and the environment into values; the command line wins. */
export function readFlags<Flags extends Readonly<Record<string, Flag>>>(
  flags: Flags,
  given: Readonly<Record<string, string | undefined>>,
  environment: Readonly<Record<string, string | undefined>>,
): ValuesOf<Flags> {
  const values = Object.entries(flags).map(([key, flag]) => {
    const own = environmentVariableOf(flag);
    const variable = environment[own] === undefined && flag.legacyVariable !== undefined ? flag.legacyVariable : own;
    const fromLine = given[flag.name];
    try {
      return [key, flag.parse(fromLine ?? environment[variable])];
    } catch (error) {
      const place = fromLine === undefined ? variable : `--${flag.name}`;
      throw new UsageError(`${place}: ${messageOf(error)}`, { cause: error });
    }
  });
  return Object.fromEntries(values) as ValuesOf<Flags>;
}
