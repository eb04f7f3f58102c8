// Commands that answer a question about a cluster: how they are connected, and how the answer is printed and followed.
import type { Kind } from "@keyturn/runtime";
import type { Query, Report } from "../controllers/report.ts";
import { readFlags } from "../flags/flag.ts";
import { LiveText } from "../text/live-text.ts";
import { watchAny } from "./any-change.ts";
import type { Console } from "./console.ts";
import { outputFlag, type OutputFormat, printed, streamed, watchFlag } from "./output.ts";
import { inSession, type Session, sessionFlags } from "./session.ts";

/** The flags that every such command takes. */
export const queryFlags = [...sessionFlags, outputFlag];

/** The flags of those whose answer can be followed. */
export const followedQueryFlags = [...queryFlags, watchFlag];

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
