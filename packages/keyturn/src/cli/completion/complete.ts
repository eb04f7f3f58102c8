// `keyturn __complete …`: what the shells' scripts ask, in the form that kubectl expects of its plugins too.
import type { Console } from "../console.ts";
import { type Candidate, type CompletedCommand, completionOf } from "./candidates.ts";
import { namesIn } from "./cluster-names.ts";

/** What a shell should do besides, as cobra's scripts and kubectl read it: 0 offers files, 4 does not. */
const offerFiles = 0;
const offerNoFiles = 4;

/** Prints a word a line, with its help after a tab, and what to do besides. `words` are those after the program's name; the last is being typed. */
export async function complete(words: readonly string[], commands: readonly CompletedCommand[], console: Console): Promise<void> {
  // Some shells cannot pass on an empty word.
  const completion = completionOf(
    words.map((word) => (word === '""' || word === "''" ? "" : word)),
    commands,
  );
  if (completion.type === "files") return console.out(`:${offerFiles}\n`);
  const candidates = completion.type === "words" ? completion.candidates : await named(completion, console);
  console.out(`${candidates.map(({ word, help }) => `${word}\t${help.split("\n")[0]}\n`).join("")}:${offerNoFiles}\n`);
}

async function named(
  { of, typed, before, words }: Extract<ReturnType<typeof completionOf>, { type: "names" }>,
  console: Console,
): Promise<readonly Candidate[]> {
  const names = await namesIn(of, words, console);
  return names.filter((name) => name.startsWith(typed)).map((name) => ({ word: `${before}${name}`, help: of }));
}
