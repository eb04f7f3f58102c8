// The commands, as one table: the parser, the help and the reference page come from it. What they do is in their own files.
import { messageOf, safeErrorSummary } from "@keyturn/runtime";
import { Command, CommanderError, type Help } from "commander";
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
import { pauseCommand, pauseCommandFlags, resumeCommand, resumeCommandFlags } from "./pause.ts";
import { promoteCommand, promoteFlags, revokeCommand, revokeFlags } from "./promote-and-revoke.ts";
import { queryCommand } from "./queries.ts";
import { restartCommand, restartCommandFlags } from "./restart.ts";
import { runCommand, runFlags } from "./run.ts";
import { statusCommand, statusFlags } from "./status.ts";
import { versionCommand, versionFlags } from "./versions.ts";

/** A command: how it is typed, what it is for, and what it does. */
export interface CommandEntry extends CompletedCommand {
  /** The heading it stands under in `keyturn help`. */
  readonly group: CommandGroup;
  /** What else its own help says. Default nothing. */
  readonly details?: string;
  /** What people type, without the program's name, with what that does. */
  readonly examples: readonly Example[];
  /** Gets the texts of the flags by name and the arguments in order. Throws a `UsageError` for wrong usage. Resolves to another exit code than 0. */
  readonly run: (
    given: Readonly<Record<string, string | undefined>>,
    console: Console,
    args: readonly string[],
  ) => undefined | void | number | Promise<undefined | void | number>;
  /** The exit code of any error. Default: 1, and 2 for wrong usage. */
  readonly failsWith?: number;
}

type CommandGroup = "Look" | "Change" | "Install and check" | "Run" | "Other commands";
type Example = readonly [does: string, words: string];

/** The commands for a registry: what some of them take, say and do comes from its features. */
export function commandsOf(registry: readonly Feature[]): readonly CommandEntry[] {
  return [
    ...lookingCommands(registry),
    ...changingCommands(registry),
    ...installingCommands(registry),
    ...runningCommands(registry),
    ...otherCommands,
  ];
}

function lookingCommands(registry: readonly Feature[]): readonly CommandEntry[] {
  return [
    {
      usage: "status [subject]",
      group: "Look",
      summary: "show credential status in all steps",
      details: "What needs attention comes first, then what happens next. With a name or kind/name, only what belongs to that credential.",
      examples: [
        ["The current namespace", "status"],
        ["Every namespace, redrawn as it changes", "status -A --watch"],
        ["Everything that belongs to the credential signing-key, wherever it is", "status -A signing-key"],
        ["Every object, as JSON", "status -A -o json"],
      ],
      flags: statusFlags(registry),
      run: (given, console, [subject]) => statusCommand(given, console, { subject, registry }),
    },
    {
      usage: "plan [subject]",
      group: "Look",
      ...queryCommand("plan", registry),
      examples: [
        ["When the versions of the rotation set signing-key move", "plan signing-key"],
        ["What applying a changed file would do to its sets", "plan -f targets.yaml"],
        ["Which workloads a change of the Secret db would restart, and in which order", "plan secret/db"],
        ["Which workloads have an outdated Istio sidecar, in every namespace", "plan sidecars -A"],
      ],
    },
    {
      usage: "history <set>",
      group: "Look",
      ...queryCommand("history", registry),
      examples: [
        ["The versions of the set signing-key", "history signing-key"],
        ["With whole digests", "history signing-key -o wide"],
      ],
    },
    {
      usage: "diff",
      group: "Look",
      ...queryCommand("diff", registry),
      details: "Exits with 0 if nothing differs, 1 if something does, and 2 if that cannot be told, as kubectl diff does.",
      examples: [
        ["The current namespace", "diff"],
        ["Every namespace, in a script", "diff -A || echo something differs"],
      ],
      failsWith: 2,
    },
    {
      usage: "dashboard",
      group: "Look",
      summary: "open a live page of all steps in the browser",
      details: "The page is served on this machine and read with your own kubeconfig and rights. It changes nothing.",
      examples: [
        ["Open it", "dashboard"],
        ["On a machine without a browser: print the address, on a fixed port", "dashboard --no-open --dashboard-port 9000"],
      ],
      flags: dashboardFlags(registry),
      run: (given, console) => dashboardCommand(given, console, registry),
    },
  ];
}

function changingCommands(registry: readonly Feature[]): readonly CommandEntry[] {
  return [
    {
      usage: "pause <object>",
      group: "Change",
      summary: "leave an object as it is, for a while or until resume",
      details:
        "The object is KIND/NAME, or a name alone where only one object has it: of the kinds that Keyturn serves, a workload, a namespace (its checksums), or the Secret or ConfigMap that is the source of a rotation set.",
      examples: [
        ["Stop a rotation target where it is", "pause rotationtarget/signing-key-live"],
        ["Stop a whole set, by its source, for two hours", "pause secret/signing-key --for 2h"],
        ["Do not restart a Deployment before Christmas is over", "pause deployment/web --until 2026-12-27T06:00:00Z"],
      ],
      flags: pauseCommandFlags,
      run: (given, console, [subject]) => pauseCommand(given, console, { subject, registry }),
    },
    {
      usage: "resume <object>",
      group: "Change",
      summary: "end the pause of an object",
      examples: [["Go on", "resume rotationtarget/signing-key-live"]],
      flags: resumeCommandFlags,
      run: (given, console, [subject]) => resumeCommand(given, console, { subject, registry }),
    },
    {
      usage: "promote <set>",
      group: "Change",
      summary: "make the next version of a rotation set live now",
      details:
        "The first target takes the version without waiting for the rest of its delay. A target that must hold the version before it first, a JWKSConfig that must publish its key, a pause and a maintenance window are waited for as ever.",
      examples: [
        ["See when the next version would be live", "promote signing-key --dry-run"],
        ["Promote it, after a question", "promote signing-key"],
      ],
      flags: promoteFlags,
      run: promoteCommand,
    },
    {
      usage: "restart <subject>",
      group: "Change",
      summary: "restart a workload, or all that use a Secret or ConfigMap",
      details: "One after the other, as kubectl rollout restart does, each when the one before is healthy. It stops at the first that is not.",
      examples: [
        ["See what uses the Secret db", "restart secret/db --dry-run"],
        ["Restart it all, after a question", "restart secret/db"],
        ["Restart one workload", "restart deployment/web"],
      ],
      flags: restartCommandFlags,
      run: restartCommand,
    },
    {
      usage: "revoke <key>",
      group: "Change",
      summary: "withdraw a leaked public key from every JWKS that has it",
      details: "The key is named by its kid, its thumbprint or the fingerprint of its certificate.",
      examples: [
        ["See what publishes it", "revoke 4kXq0m -A --dry-run"],
        ["Withdraw it in the current namespace, after a question", "revoke 4kXq0m"],
        ["Withdraw it in every namespace, without a question", "revoke 4kXq0m -A --yes"],
      ],
      flags: revokeFlags,
      run: revokeCommand,
    },
    {
      usage: "checksum <action>",
      group: "Change",
      summary: "announce or allow a change of certificates that gateways verify",
      details:
        "announce: publish the checksum of certificates before they are written, so that gateways adopt them all at once. allow: confirm the certificates as they are, however much has changed.",
      examples: [
        ["Announce what is about to be applied", "checksum announce -f certificates/"],
        ["Let a large change through", "checksum allow -n ingress"],
      ],
      flags: checksumCommandFlags,
      choices: ["announce", "allow"],
      run: checksumCommand,
    },
    {
      usage: "orphans",
      group: "Change",
      summary: "list and delete applications and Secrets without an EventingAuth",
      examples: [
        ["List them", "orphans"],
        ["Delete them, with a question for each", "orphans --delete"],
      ],
      flags: orphansFlags,
      run: orphansCommand,
    },
  ];
}

function installingCommands(registry: readonly Feature[]): readonly CommandEntry[] {
  return [
    {
      usage: "doctor",
      group: "Install and check",
      summary: "check an installation, and say what to do about each problem",
      details: "It looks at the server, CRDs, rights, watches, leaders, clocks, operators beside it, and agents.",
      examples: [
        ["With your own rights", "doctor"],
        ["With the rights of the operator", "doctor --as-service-account keyturn-system/keyturn"],
      ],
      flags: doctorFlags(registry),
      run: (given, console) => doctorCommand(given, console, registry),
    },
    {
      usage: "crds",
      group: "Install and check",
      summary: "print the CustomResourceDefinitions",
      examples: [["Install them", "crds | kubectl apply --server-side -f -"]],
      flags: [],
      run: (_given, console) => crdsCommand(console, registry),
    },
    {
      usage: "rbac",
      group: "Install and check",
      summary: "print the RBAC manifests that the controllers need",
      examples: [["For two controllers in one namespace", "rbac --controllers rotation,jwks --namespaces shop"]],
      flags: rbacFlags(registry),
      run: (given, console) => rbacCommand(given, console, registry),
    },
  ];
}

function runningCommands(registry: readonly Feature[]): readonly CommandEntry[] {
  return [
    {
      usage: "dev",
      group: "Run",
      summary: "start a local Kubernetes control plane with examples at work",
      details: "Ctrl-C stops it and removes everything.",
      examples: [["Start it", "dev"]],
      flags: devFlags,
      run: devCommand,
    },
    {
      usage: "run",
      group: "Run",
      summary: "run the operator",
      details: "In a cluster, the chart does this. On your own machine it is for development.",
      examples: [
        ["All controllers against the current context; nothing is changed", "run --dry-run --log-format text"],
        ["Two of them, in one namespace", "run --controllers rotation,jwks --namespaces shop"],
      ],
      flags: runFlags(registry),
      run: (given, console) => runCommand(given, console, registry),
    },
    {
      usage: "agent",
      group: "Run",
      summary: "keep the verified certificates of a namespace on disk",
      details: "A set of certificates is adopted as a whole or not at all; what was verified before stays until then.",
      examples: [["Beside nginx", "agent --namespace ingress --dir /var/lib/certificates --on-change 'nginx -s reload'"]],
      flags: agentCommandFlags,
      run: agentCommand,
    },
  ];
}

const otherCommands: readonly CommandEntry[] = [
  {
    usage: "completion <shell>",
    group: "Other commands",
    summary: "print the completion script for bash, zsh, fish or powershell",
    examples: [["In this bash", "completion bash > keyturn.bash && . ./keyturn.bash"]],
    flags: [],
    choices: shells,
    run: completionCommand,
  },
  {
    usage: "version",
    group: "Other commands",
    summary: "show the versions of this program, the cluster and its operators",
    examples: [["Of this program alone, without a cluster", "version --client"]],
    flags: versionFlags,
    run: versionCommand,
  },
];

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
  const [first = "--help", ...words] = argumentsGiven;
  const entry = entryOf(first, entries);
  let exitCode = 0;
  try {
    if (first === "__complete") {
      await complete(words, entries, { console, registry });
      return 0;
    }
    // Commander would show the help of the whole.
    if (first === "help" && words[0] !== undefined && !entryOf(words[0], entries)) throw new UsageError(`unknown command '${words[0]}'`);
    const typed = argumentsGiven.length === 0 ? [first] : plainWords(argumentsGiven, entry?.flags ?? []);
    await buildProgram(console, entries, (code) => void (exitCode = code)).parseAsync(typed, { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    const message = messageOf(error);
    console.err(message.startsWith("an unexpected ") ? uncaughtText(error) : `keyturn: ${message}\n`);
    return entry?.failsWith ?? (error instanceof UsageError ? 2 : 1);
  }
}

function entryOf(name: string, entries: readonly CommandEntry[]): CommandEntry | undefined {
  return entries.find(({ usage }) => usage.split(" ")[0] === name);
}

/** What is said of an error that nobody caught: its name and where it was thrown, for whoever reports it. Its own words are withheld, because they may quote a secret. */
export function uncaughtText(error: unknown): string {
  const { name, frames } = safeErrorSummary(error);
  const places = frames.slice(0, 5).map((frame) => `  ${frame}\n`);
  return `keyturn: an unexpected ${name}\n${places.join("")}`;
}

/** The whole command line, ready to parse. */
function buildProgram(console: Console, entries: readonly CommandEntry[], ended: (exitCode: number) => void): Command {
  const name = console.program ?? "keyturn";
  const program = new Command(name)
    .description("The life of a credential in Kubernetes: issue, rotate, publish, verify, roll out.")
    .version(version, "--version", "show the version of this program")
    .helpOption("-h, --help", "show this help")
    .commandsGroup("Other commands:")
    .helpCommand("help [command]", "show the help of a command")
    .usage("COMMAND [flags]")
    .exitOverride()
    .configureHelp({ subcommandTerm: (command) => command.name(), formatItem })
    .configureOutput({
      writeOut: console.out,
      writeErr: console.err,
      getOutHelpWidth: () => console.width?.() ?? helpWidth,
      getErrHelpWidth: () => console.width?.() ?? helpWidth,
      outputError: (text, write) => write(text.replace(/^error: /, "keyturn: ")),
    })
    .addHelpText("after", `\n"${name} help COMMAND" shows the flags of a command and examples.`);
  for (const { usage, group, summary, details, examples, flags, run } of entries) {
    const command = program
      .command(usage)
      .helpGroup(`${group}:`)
      .summary(summary)
      .description([`${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`, ...(details === undefined ? [] : [details])].join("\n\n"))
      .helpOption("-h, --help", "show this help")
      .copyInheritedSettings(program)
      .addHelpText("after", `\nExamples:\n${examples.map(([does, words]) => `  # ${does}\n  ${name} ${words}\n`).join("\n")}`);
    addFlags(command, flags).action(async () => {
      const code = await run(givenTexts(command), console, command.args);
      if (typeof code === "number") ended(code);
    });
  }
  return program;
}

/** Where the width of the terminal is not known. */
const helpWidth = 100;
/** What is longer has its text below it, and leaves room for that of the others. */
const maxTerm = 32;

/** A flag or a command, and what it is for. */
function formatItem(term: string, termWidth: number, text: string, help: Help): string {
  const column = Math.min(termWidth, maxTerm) + 4;
  const width = Math.max((help.helpWidth ?? helpWidth) - column, 20);
  const indented = help
    .boxWrap(text, width)
    .split("\n")
    .join(`\n${" ".repeat(column)}`);
  const isLong = help.displayWidth(term) > maxTerm;
  return `  ${isLong ? `${term}\n${" ".repeat(column)}` : term.padEnd(column - 2)}${indented}`;
}
