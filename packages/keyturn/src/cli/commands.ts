// The commands, as one table: the parser, the help and the reference page come from it. What they do is in their own files.
import type { Flag } from "../flags/flag.ts";
import type { Console } from "./console.ts";
import { agentCommand, agentCommandFlags } from "./agent.ts";
import { checksumCommand, checksumCommandFlags } from "./checksum.ts";
import { crdsCommand } from "./crds.ts";
import { devCommand, devFlags } from "./dev.ts";
import { diffCommand, diffFlags } from "./diff.ts";
import { historyCommand, historyFlags } from "./history.ts";
import { planCommand, planFlags } from "./plan.ts";
import { rbacCommand, rbacFlags } from "./rbac.ts";
import { runCommand, runFlags } from "./run.ts";

/** A command: how it is typed, what it is for, and what it does. */
export interface CommandEntry {
  /** The name and its arguments in commander's notation, such as `plan <subject>`. */
  readonly usage: string;
  /** One line for `--help`. */
  readonly summary: string;
  readonly flags: readonly Flag[];
  /** Gets the texts of the flags by name and the arguments in order. Throws a `UsageError` for wrong usage. */
  readonly run: (given: Readonly<Record<string, string | undefined>>, console: Console, args: readonly string[]) => void | Promise<void>;
}

export const commands: readonly CommandEntry[] = [
  { usage: "run", summary: "run the controllers", flags: runFlags, run: runCommand },
  {
    usage: "dev",
    summary: "start a local Kubernetes control plane and show the controllers at work on it; Ctrl-C ends it and removes everything",
    flags: devFlags,
    run: devCommand,
  },
  {
    usage: "agent",
    summary: "keep the certificates of a namespace on disk for a gateway: verified as a whole, and never less than what was verified before",
    flags: agentCommandFlags,
    run: agentCommand,
  },
  {
    usage: "checksum <action>",
    summary: "announce: publish the checksum of certificates that are about to be written, so that gateways adopt them all at once",
    flags: checksumCommandFlags,
    run: checksumCommand,
  },
  { usage: "diff", summary: "show which Secrets differ from the published checksum, and in which direction", flags: diffFlags, run: diffCommand },
  {
    usage: "history <set>",
    summary: "show the versions of a rotation set, when each was seen and where it is now",
    flags: historyFlags,
    run: historyCommand,
  },
  { usage: "crds", summary: "print the CustomResourceDefinitions", flags: [], run: (_given, console) => crdsCommand(console) },
  { usage: "rbac", summary: "print the rights that the controllers need, as RBAC manifests", flags: rbacFlags, run: rbacCommand },
  {
    usage: "plan <subject>",
    summary: "show what happens next and when: with the name of a rotation set, its promotions; with sidecars, the workloads to be restarted",
    flags: planFlags,
    run: planCommand,
  },
];
