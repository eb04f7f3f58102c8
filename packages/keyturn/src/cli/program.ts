// The command line: parsing, help and exit codes. Which commands there are is in commands.ts.
import { Command, CommanderError } from "commander";
import { UsageError } from "../flags/flag.ts";
import { addFlags, givenTexts, plainWords } from "./command-line.ts";
import { type CommandEntry, commands } from "./commands.ts";
import { complete } from "./completion/complete.ts";
import type { Console } from "./console.ts";
import { version } from "./version.ts";

/** Runs the command line and resolves to the exit code: 0 done, 1 failed, 2 wrong usage. */
export async function runProgram(argumentsGiven: readonly string[], console: Console, entries: readonly CommandEntry[] = commands): Promise<number> {
  try {
    const [first = "", ...words] = argumentsGiven;
    if (first === "__complete") {
      await complete(words, entries, console);
      return 0;
    }
    const flags = entries.find(({ usage }) => usage.split(" ")[0] === first)?.flags ?? [];
    await buildProgram(console, entries).parseAsync(plainWords(argumentsGiven, flags), { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    const message = error instanceof Error ? error.message : String(error);
    console.err(`keyturn: ${message}\n`);
    return error instanceof UsageError ? 2 : 1;
  }
}

/** The whole command line, ready to parse. */
function buildProgram(console: Console, entries: readonly CommandEntry[]): Command {
  const program = new Command(console.program ?? "keyturn")
    .description("The life of a credential in Kubernetes: issue, rotate, publish, verify, roll out.")
    .version(version, "--version")
    .helpCommand(false)
    .exitOverride()
    .configureOutput({
      writeOut: console.out,
      writeErr: console.err,
      outputError: (text, write) => write(text.replace(/^error: /, "keyturn: ")),
    });
  for (const { usage, summary, flags, run } of entries) {
    const command = program.command(usage).description(summary).copyInheritedSettings(program);
    addFlags(command, flags).action(() => run(givenTexts(command), console, command.args));
  }
  return program;
}
