// The command line: which commands there are and what they take. What they do is in their own files.
import { Command, CommanderError } from "commander";
import { UsageError } from "../flags/flag.ts";
import { addFlags, givenTexts } from "./command-line.ts";
import type { Console } from "./console.ts";
import { crdsCommand } from "./crds.ts";
import { devCommand, devFlags } from "./dev.ts";
import { rbacCommand, rbacFlags } from "./rbac.ts";
import { runCommand, runFlags } from "./run.ts";
import { version } from "./version.ts";

/** Runs the command line and resolves to the exit code: 0 done, 1 failed, 2 wrong usage. */
export async function runProgram(argumentsGiven: readonly string[], console: Console): Promise<number> {
  try {
    await buildProgram(console).parseAsync([...argumentsGiven], { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    const message = error instanceof Error ? error.message : String(error);
    console.err(`keyturn: ${message}\n`);
    return error instanceof UsageError ? 2 : 1;
  }
}

/** The whole command line, ready to parse; also read by the generator of the reference. */
export function buildProgram(console: Console): Command {
  const program = new Command("keyturn")
    .description("The life of a credential in Kubernetes: issue, rotate, publish, verify, roll out.")
    .version(version, "--version")
    .helpCommand(false)
    .exitOverride()
    .configureOutput({
      writeOut: console.out,
      writeErr: console.err,
      outputError: (text, write) => write(text.replace(/^error: /, "keyturn: ")),
    });

  const command = (name: string, description: string): Command => program.command(name).description(description).copyInheritedSettings(program);

  addFlags(command("run", "run the controllers"), runFlags).action((_options, self: Command) => runCommand(givenTexts(self), console));
  addFlags(command("dev", "start a local Kubernetes control plane and show the controllers at work on it"), devFlags).action(
    (_options, self: Command) => devCommand(givenTexts(self), console),
  );
  command("crds", "print the CustomResourceDefinitions").action(() => crdsCommand(console));
  addFlags(command("rbac", "print the rights that the controllers need, as RBAC manifests"), rbacFlags).action((_options, self: Command) =>
    rbacCommand(givenTexts(self), console),
  );
  return program;
}
