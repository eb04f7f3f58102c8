// Commands that answer a question about a cluster (`plan`, `history`, `diff`): how they are connected, and how the answer is printed and followed.
import { DaemonSet, Deployment, type Kind, Pod, Secret, StatefulSet } from "@keyturn/runtime";
import { SecretCheckSum } from "../controllers/checksum/api.ts";
import { diffReport } from "../controllers/checksum/difference.ts";
import { memberFlags } from "../controllers/checksum/flags.ts";
import { rotationFlags, rotationWindows } from "../controllers/rotation/feature.ts";
import { reportEverywhere, rotationHistoryReport, rotationKinds, rotationPlanReport } from "../controllers/rotation/queries.ts";
import { sidecarsOptions } from "../controllers/sidecars/feature.ts";
import { sidecarsFlags } from "../controllers/sidecars/flags.ts";
import { sidecarsPlanReport } from "../controllers/sidecars/queries.ts";
import type { FlagReader, Query, Report } from "../feature/feature.ts";
import { type Flag, readFlags } from "../feature/flag.ts";
import { selectionFlags } from "../feature/pause-and-selection.ts";
import type { Console } from "./command-line.ts";
import { allNamespacesFlag, LiveText, outputFlag, type OutputFormat, printed, streamed, watchFlag } from "./output.ts";
import { inSession, type Session, sessionFlags, watchAny } from "./session.ts";

/** The flags that every such command takes. */
export const queryFlags = [...sessionFlags, outputFlag];

/** The flags of those whose answer can be followed. */
const followedQueryFlags = [...queryFlags, watchFlag];

/** What an answer depends on, if it can be followed. */
export interface Follows {
  /** A change of any object of these kinds may change the answer. */
  readonly kinds: readonly Kind[];
  /** Default: the namespace of the query. */
  readonly allNamespaces?: boolean;
}

/** Asks with the person's own kubeconfig and rights, and prints the answer; with `--watch`, again after each change of what it depends on. */
export async function answerQuery(
  given: Readonly<Record<string, string | undefined>>,
  console: Console,
  answer: (query: Query) => Promise<Report>,
  follows?: Follows,
): Promise<void> {
  const { output, watch } = readFlags({ output: outputFlag, watch: watchFlag }, given, console.environment);
  await inSession(given, console, async (session) => {
    const ask = async (): Promise<Report> => answer({ ...session, nowMs: session.now() });
    if (watch && follows) return followAnswer(session, ask, { follows, output, console });
    return console.out(`${printed(await ask(), output)}\n`);
  });
}

async function followAnswer(
  session: Session,
  ask: () => Promise<Report>,
  { follows, output, console }: { readonly follows: Follows; readonly output: OutputFormat; readonly console: Console },
): Promise<void> {
  const screen = new LiveText({ write: console.out, height: console.height });
  let last = "";
  const show = ({ text, data }: Report): void => {
    if (output === "table") return screen.show(text, text);
    const document = streamed(data, output);
    if (document !== last) console.out(document);
    last = document;
  };
  const { kinds, allNamespaces = false } = follows;
  try {
    for await (const _ of watchAny(session, { kinds, namespace: allNamespaces ? undefined : session.namespace })) show(await ask());
  } catch (error) {
    // A question that was under way when the person had seen enough.
    if (!session.signal.aborted) throw error;
  }
}

// `keyturn plan <subject>`: what happens next and when, from the same plans that the operator carries out.

/** The flags of `keyturn plan`: those of the controller are there because its plan depends on them. */
export const planFlags: readonly Flag[] = [
  ...followedQueryFlags,
  allNamespacesFlag,
  ...Object.values(selectionFlags),
  rotationFlags.maintenanceWindows,
  rotationFlags.maintenanceTimeZone,
  ...Object.values(sidecarsFlags),
];

/** Prints the plan for a rotation set, or with `sidecars` for the workloads whose sidecars are outdated. */
export function planCommand(given: Readonly<Record<string, string | undefined>>, console: Console, [subject = ""]: readonly string[]): Promise<void> {
  const { allNamespaces } = readFlags({ allNamespaces: allNamespacesFlag }, given, console.environment);
  // `rotation/sidecars` is a set of that name.
  const flag: FlagReader = (each) => readFlags({ flag: each }, given, console.environment).flag;
  if (subject !== "sidecars") {
    const set = subject.replace(/^rotation\//, "");
    const report = (query: Query): Promise<Report> => rotationPlanReport(query, set, rotationWindows(flag));
    const follows = { kinds: rotationKinds, allNamespaces };
    return answerQuery(given, console, (query) => (allNamespaces ? reportEverywhere(query, set, report) : report(query)), follows);
  }
  const options = sidecarsOptions(flag);
  const follows = { kinds: [Deployment, StatefulSet, DaemonSet, Pod], allNamespaces };
  return answerQuery(given, console, (query) => sidecarsPlanReport(query, { options, allNamespaces }), follows);
}

// `keyturn history <set>`: the versions of a rotation set.

export const historyFlags = [...followedQueryFlags, allNamespacesFlag];

/** Prints the versions of a set, when they were seen and where they are. */
export function historyCommand(given: Readonly<Record<string, string | undefined>>, console: Console, [set = ""]: readonly string[]): Promise<void> {
  const { allNamespaces } = readFlags({ allNamespaces: allNamespacesFlag }, given, console.environment);
  const headed = async (query: Query): Promise<Report> => {
    const { text, data } = await rotationHistoryReport(query, set);
    return { text: `set ${set} in namespace ${query.namespace}\n${text}`, data };
  };
  return answerQuery(given, console, (query) => (allNamespaces ? reportEverywhere(query, set, headed) : rotationHistoryReport(query, set)), {
    kinds: rotationKinds,
    allNamespaces,
  });
}

// `keyturn diff`: which Secrets differ from the published checksum, and in which direction.

const flags = {
  allNamespaces: allNamespacesFlag,
  versionAnnotations: memberFlags.versionAnnotations,
  secretSelector: memberFlags.secretSelector,
  secretTypes: memberFlags.secretTypes,
};

/** The flags of `keyturn diff`. */
export const diffFlags = [...followedQueryFlags, ...Object.values(flags)];

/** Prints the differences. */
export async function diffCommand(given: Readonly<Record<string, string | undefined>>, console: Console): Promise<void> {
  const { allNamespaces, versionAnnotations, secretSelector: labels, secretTypes: types } = readFlags(flags, given, console.environment);
  const options = { rules: { versionAnnotations }, labels, types, allNamespaces };
  await answerQuery(given, console, (query) => diffReport(query, options), { kinds: [SecretCheckSum, Secret], allNamespaces });
}
