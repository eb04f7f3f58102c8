// Names for completion that only the cluster knows. Best effort: a cluster that does not answer at once has nothing to offer.
import { type Kind, Namespace } from "@keyturn/runtime";
import { Command } from "commander";
import { features } from "../../controllers/registry.ts";
import { RotationTarget } from "../../controllers/rotation/api.ts";
import { addFlags, givenTexts, plainWords } from "../command-line.ts";
import type { Console } from "../console.ts";
import { allNamespacesFlag } from "../output.ts";
import { inSession, type Session, sessionFlags } from "../session.ts";
import type { NameSource } from "./candidates.ts";

/** Nobody waits longer for a key press. */
const patienceMs = 3000;

/** The names, or none. `words` are those of the command line, which may say where to look. */
export async function namesIn(source: NameSource, words: readonly string[], console: Console): Promise<readonly string[]> {
  const signal = AbortSignal.any([console.signal, AbortSignal.timeout(patienceMs)]);
  try {
    const names = await inSession(flagsAmong(words), { ...console, signal }, (session) => sources[source](session));
    return [...new Set(names)].sort();
  } catch {
    // There is nobody to tell: what is printed here is taken for candidates.
    return [];
  }
}

const sources: Readonly<Record<NameSource, (session: Session) => Promise<readonly string[]>>> = {
  namespaces: async ({ client, signal }) => (await client.list(Namespace, {}, signal)).items.map(({ metadata }) => metadata.name),
  sets: async ({ client, namespace, signal }) => (await client.list(RotationTarget, { namespace }, signal)).items.map(({ spec }) => spec.rotationSet),
  async objects({ client, namespace, signal }) {
    const kinds: readonly Kind[] = features.flatMap((feature) => feature.kinds);
    const lists = await Promise.allSettled(kinds.map((kind) => client.list(kind, { namespace }, signal)));
    return lists.flatMap((list) => (list.status === "fulfilled" ? list.value.items.map(({ metadata }) => metadata.name) : []));
  },
};

/** The flags among words that need not make a whole command line yet. */
function flagsAmong(words: readonly string[]): Readonly<Record<string, string | undefined>> {
  const quiet = { writeErr: () => {}, writeOut: () => {} };
  const parser = new Command().exitOverride().helpOption(false).allowUnknownOption().allowExcessArguments().configureOutput(quiet);
  const flags = [...sessionFlags, allNamespacesFlag];
  return givenTexts(addFlags(parser, flags).parse(plainWords(words, flags), { from: "user" }));
}
