// From flags as data to commander's options, and back to texts by flag name.
import { type Command, Option } from "commander";
import { environmentVariableOf, type Flag } from "../flags/flag.ts";

/** Adds flags to a command, each with its environment variable and default in the help text. */
export function addFlags(command: Command, flags: readonly Flag[]): Command {
  for (const flag of flags) {
    const value = flag.standsAlone ? `[${flag.placeholder}]` : `<${flag.placeholder}>`;
    const fallback = flag.default === undefined ? "" : `, default ${flag.default}`;
    const short = flag.short === undefined ? "" : `-${flag.short}, `;
    const option = new Option(`${short}--${flag.name} ${value}`, `${flag.help} ($${environmentVariableOf(flag)}${fallback})`);
    // Commander turns dashes into capitals; the flag's own name is what the rest of the program knows.
    option.attributeName = () => flag.name;
    command.addOption(flag.standsAlone ? option.preset("true") : option);
  }
  return command;
}

/** The texts that were given on the command line, by flag name. */
export function givenTexts(command: Command): Readonly<Record<string, string | undefined>> {
  return command.opts<Record<string, string | undefined>>();
}
