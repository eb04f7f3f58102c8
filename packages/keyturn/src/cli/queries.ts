// Commands that answer a question about a cluster (`plan`, `history`, `diff`): how they are connected, and how the answer is printed and followed.
import type { Kind } from "@keyturn/runtime";
import type { Feature, FeatureQuery, FlagReader, Query, QueryCommand, Report } from "../feature/feature.ts";
import { readFlags, UsageError } from "../feature/flag.ts";
import type { Console } from "./command-line.ts";
import { allNamespacesFlag, isData, LiveText, outputFlag, type OutputFormat, printed, streamed, watchFlag } from "./output.ts";
import type { CommandEntry } from "./program.ts";
import { answered, inSession, type Session, sessionFlags, watchAny } from "./session.ts";

/** The flags that every such command takes. */
export const queryFlags = [...sessionFlags, outputFlag];

/** The flags of those whose answer can be followed. */
const followedQueryFlags = [...queryFlags, watchFlag];

/** What an answer depends on, if it can be followed. */
interface Follows {
  /** A change of any object of these kinds may change the answer. */
  readonly kinds: readonly Kind[];
  /** Default: the namespace of the query. */
  readonly allNamespaces?: boolean;
}

/** Asks with the person's own kubeconfig and rights, prints the answer and resolves to it; with `--watch`, prints again after each change of what it depends on. */
export async function answerQuery(
  given: Readonly<Record<string, string | undefined>>,
  console: Console,
  answer: (query: Query) => Promise<Report>,
  follows?: Follows,
): Promise<Report | undefined> {
  const { output, watch } = readFlags({ output: outputFlag, watch: watchFlag }, given, console.environment);
  return inSession(given, console, async (session) => {
    const ask = async (): Promise<Report> => answer({ ...session, nowMs: session.now() });
    if (watch && follows) return followAnswer(session, ask, { follows, output, console });
    const report = await ask();
    console.out(`${printed(report, output)}\n`);
    return report;
  });
}

async function followAnswer(
  session: Session,
  ask: () => Promise<Report>,
  { follows, output, console }: { readonly follows: Follows; readonly output: OutputFormat; readonly console: Console },
): Promise<undefined> {
  const screen = LiveText.on(console);
  let last = "";
  const show = (report: Report): void => {
    const { text, data } = report;
    if (!isData(output)) return screen.show(printed(report, output), text);
    const document = streamed(data, output);
    if (document !== last) console.out(document);
    last = document;
  };
  const { kinds, allNamespaces = false } = follows;
  await answered(session);
  try {
    for await (const _ of watchAny(session, { kinds, namespace: allNamespaces ? undefined : session.namespace })) show(await ask());
  } catch (error) {
    // A question that was under way when the person had seen enough.
    if (!session.signal.aborted) throw error;
  }
}

// `keyturn plan <subject>`, `keyturn history <set>` and `keyturn diff`: what features answer, each for itself.

/** What they are for, in a few words. */
const summaries: Readonly<Record<QueryCommand, string>> = {
  plan: "show what happens next, and when",
  history: "show the versions of a rotation set, and where each is now",
  diff: "show which Secrets differ from the published checksum",
};

/** A feature that answers a command. */
interface Answering {
  readonly feature: string;
  readonly query: FeatureQuery;
}

/** The features that answer a command, in their order. */
export function answeringFeatures(command: QueryCommand, registry: readonly Feature[]): readonly Answering[] {
  return registry.flatMap(({ name, queries }) => (queries?.[command] ? [{ feature: name, query: queries[command] }] : []));
}

/** Such a command without its usage: its flags are there because answers depend on them. */
export function queryCommand(command: QueryCommand, registry: readonly Feature[]): Omit<CommandEntry, "usage" | "group" | "examples"> {
  const answering = answeringFeatures(command, registry);
  const [first, ...others] = answering.map(({ query }) => query.summary);
  return {
    summary: summaries[command],
    details: `It shows ${[first, ...others].join("; ")}.`,
    flags: [...new Set([...followedQueryFlags, allNamespacesFlag, ...answering.flatMap(({ query }) => query.flags ?? [])])],
    async run(given, console, [subject]) {
      const { allNamespaces } = readFlags({ allNamespaces: allNamespacesFlag }, given, console.environment);
      const flag: FlagReader = (each) => readFlags({ flag: each }, given, console.environment).flag;
      if (subject === undefined && answering.some(({ query }) => query.isAsked) && !answering.some(({ query }) => query.isAsked?.(flag))) {
        throw new UsageError(
          `say what to ${command}: the name of a set, or ${answering
            .filter(({ query }) => !query.names)
            .map(({ feature }) => feature)
            .join(", ")}; or give manifests with -f`,
        );
      }
      const alone = answering.filter(({ query }) => query.isAsked?.(flag));
      const asked =
        subject === undefined
          ? (alone.length > 0 ? alone : answering).map(({ feature, query }) => ({ feature, query, name: "" }))
          : [askedOf(answering, subject)];
      const answer = async (query: Query): Promise<Report> => {
        const reports: Report[] = [];
        for (const { query: own, name } of asked) reports.push(await own.answer(query, { name, allNamespaces, flag }));
        const [only] = reports;
        if (only && reports.length === 1) return only;
        const texts = (of: (report: Report) => string): string => reports.map(of).join("\n\n");
        return {
          text: texts(({ text }) => text),
          wide: texts(({ text, wide = text }) => wide),
          data: { items: reports.map(({ data }) => data) },
          differs: reports.some(({ differs }) => differs),
        };
      };
      const report = await answerQuery(given, console, answer, { kinds: asked.flatMap(({ query }) => query.follows), allNamespaces });
      return report?.differs ? 1 : 0;
    },
  };
}

/**
 * `sidecars` means a feature that takes no name; `secret/db`, an object of a kind that a feature knows; `rotation/sidecars`, and `x`, a name: of that feature,
 * or of the first that takes one.
 */
function askedOf(answering: readonly Answering[], subject: string): Answering & { readonly name: string } {
  const whole = answering.find(({ feature, query }) => feature === subject && !query.names);
  if (whole) return { ...whole, name: "" };
  const [prefix = "", ...rest] = subject.split("/");
  const about = answering.find(({ feature, query: { objects } }) => rest.length > 0 && objects && [feature, ...objects].includes(prefix));
  if (about) return { ...about, name: about.feature === prefix ? rest.join("/") : subject };
  const named = answering.filter(({ query }) => query.names);
  const chosen = named.find(({ feature }) => subject.startsWith(`${feature}/`));
  if (chosen) return { ...chosen, name: subject.slice(chosen.feature.length + 1) };
  const [first] = named;
  if (!first) throw new UsageError(`nothing is known of "${subject}"; ask for ${answering.map(({ feature }) => feature).join(", ")}`);
  return { ...first, name: subject };
}
