// The commands, as one table: the parser, the help and the reference page come from it. What they do is in their own files.
import { messageOf, safeErrorSummary } from "@keyturn/runtime";
import { Command, CommanderError } from "commander";
import type { Feature } from "../feature/feature.ts";
import { UsageError } from "../feature/flag.ts";
import { features } from "../registry.ts";
import { visibleText } from "../text.ts";
import { agentCommand, agentCommandFlags } from "./agent.ts";
import { checksumCommand, checksumCommandFlags } from "./announce.ts";
import { addFlags, type Console, givenTexts, plainWords, version } from "./command-line.ts";
import { shells } from "./completion-scripts.ts";
import { complete, type CompletedCommand, completionCommand } from "./completion.ts";
import { dashboardCommand, dashboardFlags } from "./dashboard.ts";
import { devCommand, devFlags } from "./dev.ts";
import { doctorCommand, doctorFlags } from "./doctor.ts";
import { crdsCommand, rbacCommand, rbacFlags } from "./manifests.ts";
import { orphansCommand, orphansFlags } from "./orphans.ts";
import { queryCommand } from "./queries.ts";
import { revokeCommand, revokeFlags } from "./revoke.ts";
import { runCommand, runFlags } from "./run.ts";
import { statusCommand, statusFlags } from "./status.ts";
import { versionCommand, versionFlags } from "./versions.ts";

/** A command: how it is typed, what it is for, and what it does. */
export interface CommandEntry extends CompletedCommand {
  /** Gets the texts of the flags by name and the arguments in order. Throws a `UsageError` for wrong usage. */
  readonly run: (given: Readonly<Record<string, string | undefined>>, console: Console, args: readonly string[]) => void | Promise<void>;
}

/** The commands for a registry: what some of them take, say and do comes from its features. */
export function commandsOf(registry: readonly Feature[]): readonly CommandEntry[] {
  return [
    { usage: "run", summary: "run the controllers", flags: runFlags(registry), run: (given, console) => runCommand(given, console, registry) },
    {
      usage: "dev",
      summary: "start a local Kubernetes control plane and show the controllers at work on it; Ctrl-C ends it and removes everything",
      flags: devFlags,
      run: devCommand,
    },
    {
      usage: "dashboard",
      summary: "show a live page of all five steps in the browser, read with your own kubeconfig and rights; it changes nothing",
      flags: dashboardFlags(registry),
      run: (given, console) => dashboardCommand(given, console, registry),
    },
    {
      usage: "agent",
      summary: "keep the certificates of a namespace on disk for a gateway: verified as a whole, and never less than what was verified before",
      flags: agentCommandFlags,
      run: agentCommand,
    },
    {
      usage: "checksum <action>",
      summary:
        "announce: publish the checksum of certificates that are about to be written, so that gateways adopt them all at once; allow: say that the certificates as they are are meant, however much has changed",
      flags: checksumCommandFlags,
      choices: ["announce", "allow"],
      run: checksumCommand,
    },
    {
      usage: "revoke <key>",
      summary: "withdraw a public key from every JWKS that has it, by its kid, its thumbprint or the fingerprint of its certificate",
      flags: revokeFlags,
      run: revokeCommand,
    },
    {
      usage: "status [subject]",
      summary:
        "show how credentials fare in all five steps, what needs attention first and what happens next; with a name or kind/name, the life of that one",
      flags: statusFlags(registry),
      run: (given, console, [subject]) => statusCommand(given, console, { subject, registry }),
    },
    {
      usage: "doctor",
      summary: "check an installation: the server, kinds, rights, watches, leaders, clocks, operators beside it, agents; and say what to do",
      flags: doctorFlags(registry),
      run: (given, console) => doctorCommand(given, console, registry),
    },
    {
      usage: "orphans",
      summary: "list applications of ours at the identity provider that no EventingAuth claims, and Secrets of runtimes whose application is gone",
      flags: orphansFlags,
      run: orphansCommand,
    },
    { usage: "diff", ...queryCommand("diff", registry) },
    { usage: "history <set>", ...queryCommand("history", registry) },
    { usage: "crds", summary: "print the CustomResourceDefinitions", flags: [], run: (_given, console) => crdsCommand(console, registry) },
    {
      usage: "rbac",
      summary: "print the rights that the controllers need, as RBAC manifests",
      flags: rbacFlags(registry),
      run: (given, console) => rbacCommand(given, console, registry),
    },
    { usage: "plan [subject]", ...queryCommand("plan", registry) },
    {
      usage: "completion <shell>",
      summary: "print the script that makes a shell (bash, zsh, fish, powershell) complete commands, flags and names",
      flags: [],
      choices: shells,
      run: completionCommand,
    },
    {
      usage: "version",
      summary: "show the versions of this program, of the cluster and of the operators that run in it",
      flags: versionFlags,
      run: versionCommand,
    },
  ];
}

export const commands: readonly CommandEntry[] = commandsOf(features);

// The command line: parsing, help and exit codes. Which commands there are is in program.ts.

/** Runs the command line and resolves to the exit code: 0 done, 1 failed, 2 wrong usage. */
export async function runProgram(
  argumentsGiven: readonly string[],
  given: Console,
  entries: readonly CommandEntry[] = commands,
  registry: readonly Feature[] = features,
): Promise<number> {
  const { out, err } = given;
  const console: Console = { ...given, out: (text) => out(visibleText(text)), err: (text) => err(visibleText(text)), draw: out };
  try {
    const [first = "", ...words] = argumentsGiven;
    if (first === "__complete") {
      await complete(words, entries, { console, registry });
      return 0;
    }
    const flags = entries.find(({ usage }) => usage.split(" ")[0] === first)?.flags ?? [];
    await buildProgram(console, entries).parseAsync(plainWords(argumentsGiven, flags), { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    const message = messageOf(error);
    console.err(message.startsWith("an unexpected ") ? uncaughtText(error) : `keyturn: ${message}\n`);
    return error instanceof UsageError ? 2 : 1;
  }
}

/** What is said of an error that nobody caught: its name and where it was thrown, for whoever reports it. Its own words are withheld, because they may quote a secret. */
export function uncaughtText(error: unknown): string {
  const { name, frames } = safeErrorSummary(error);
  const places = frames.slice(0, 5).map((frame) => `  ${frame}\n`);
  return `keyturn: an unexpected ${name}\n${places.join("")}`;
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
