// The flags of `keyturn agent`.
import { constants, hostname } from "node:os";
import { limitFlags } from "../controllers/checksum/blast-radius.ts";
import { announcementKeysFlag, checksumFlags, memberFlags } from "../controllers/checksum/flags.ts";
import { addressFlag, choiceFlag, durationFlag, type Flag, numberFlag, switchFlag, textFlag } from "../feature/flag.ts";
import { operatorFlags } from "../operator-flags.ts";
import { parseChangeCommand } from "./gateway.ts";
import { type Policy, type Situation, situationNames, alarmPolicies } from "./alarm-policies.ts";

const onChange = textFlag({
  name: "on-change",
  placeholder: "COMMAND",
  help: 'run after each promotion: words separated by spaces, or a JSON array such as ["sh","-c","…"]; no shell reads it',
});
const onChangeFlag: Flag<readonly [string, ...string[]] | undefined> = {
  ...onChange,
  parse: (text) => (text === undefined ? undefined : parseChangeCommand(text)),
};

const signal = textFlag({ name: "signal", placeholder: "NAME", help: "the signal for --signal-pid-file, such as HUP (default HUP)" });
const signalFlag: Flag<NodeJS.Signals> = {
  ...signal,
  default: "HUP",
  parse(text = "HUP") {
    const name = text.startsWith("SIG") ? text : `SIG${text}`;
    if (!isSignal(name)) throw new Error(`"${text}" is no signal`);
    return name;
  },
};

function isSignal(name: string): name is NodeJS.Signals {
  return Object.hasOwn(constants.signals, name);
}

/** One per situation. All safe by default: a set that is served is never given up for one that something stands against. */
export const policyFlags = Object.fromEntries(
  situationNames.map((situation) => {
    const { flag, help } = alarmPolicies[situation];
    return [situation, choiceFlag({ name: `on-${flag}`, choices: ["keep", "promote"], default: "keep", help: `what to do when ${help}` })];
  }),
) as Readonly<Record<Situation, Flag<Policy>>>;

/** All others. */
export const agentFlags = {
  namespace: textFlag({
    name: "namespace",
    short: "n",
    placeholder: "NAMESPACE",
    help: "the namespace whose certificates are served; with a wider --checksum.scope, the one in which its checksum is published",
  }),
  dir: textFlag({ name: "dir", placeholder: "FOLDER", help: "where certificates are kept; FOLDER/current is what is to be served" }),
  onChange: onChangeFlag,
  onChangeTimeout: durationFlag({
    name: "on-change-timeout",
    default: "30s",
    help: "how long the command may take before it is ended and counts as failed",
  }),
  signalPidFile: textFlag({
    name: "signal-pid-file",
    placeholder: "FILE",
    help: "send a signal to the process whose id is in this file after each promotion",
  }),
  signal: signalFlag,
  pause: durationFlag({
    name: "pause",
    default: "5s",
    help: "how long after notifying the gateway the next promotion may come; longer than the gateway needs to read its files",
  }),
  staleAfter: durationFlag({
    name: "stale-after",
    default: "10m",
    help: "how long Secrets may differ from every checksum before the checksum counts as stale",
  }),
  alarmAfter: durationFlag({ name: "alarm-after", default: "15s", help: "how long a difference or an outage may last before it is an alarm" }),
  maxStaleness: durationFlag({
    name: "max-staleness",
    default: "1h",
    help: "how long what is served may be unverified before /readyz fails; 0 = for ever",
  }),
  verifyEvery: durationFlag({ name: "verify-every", default: "10m", help: "how often the served files are verified" }),
  shareAbove: numberFlag({
    name: "share-above",
    default: 1000,
    least: 0,
    most: 1_000_000,
    help: "sets of more Secrets share unchanged files between generations (hard links) instead of copying them",
  }),
  lease: switchFlag({ name: "lease", default: true, help: "report the status of the agent in a Lease keyturn-agent-<identity> in the namespace" }),
  identity: textFlag({ name: "identity", placeholder: "NAME", help: "who this agent is in its Lease and status; otherwise the host's name" }),
  ...limitFlags,
  announcementKeys: announcementKeysFlag,
  scope: checksumFlags.scope,
  namespaces: checksumFlags.namespaces,
  namespaceSelector: checksumFlags.namespaceSelector,
  versionAnnotations: memberFlags.versionAnnotations,
  secretSelector: memberFlags.secretSelector,
  secretTypes: memberFlags.secretTypes,
  kubeconfig: operatorFlags.kubeconfig,
  context: operatorFlags.context,
  bindAddress: addressFlag({ name: "bind-address", default: ":8090", help: "where /status, /metrics, /healthz and /readyz are served; 0 = nowhere" }),
  logLevel: operatorFlags.logLevel,
  logFormat: operatorFlags.logFormat,
};

/** The name under which an agent shows itself, fit for the name of an object. */
export function identityOf(given: string | undefined): string {
  const name = (given ?? hostname()).toLowerCase().replaceAll(/[^a-z0-9.-]+/g, "-");
  return name.replaceAll(/^[.-]+|[.-]+$/g, "").slice(0, 200) || "agent";
}
