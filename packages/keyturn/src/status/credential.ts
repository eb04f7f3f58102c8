// One credential out of all: the objects of every step that are about it.
import { type Summary } from "../controllers/summary.ts";
import { type Life, placed, type StepLife } from "./life.ts";

/** What to look for: a name, with the kind if somebody gave it. */
export interface Subject {
  /** In lower case, as it was typed: `jwksconfig`, `rotationtargets`, `secret`. */
  readonly kind: string | undefined;
  readonly name: string;
}

/** Reads `kind/name` or `name`. */
export function parseSubject(text: string): Subject {
  const slash = text.indexOf("/");
  return slash < 0 ? { kind: undefined, name: text } : { kind: text.slice(0, slash).toLowerCase(), name: text.slice(slash + 1) };
}

/**
 * The life of one credential: the objects that are named so or are about a Secret or a set of that name, and from there on everything that shares a
 * Secret or a set with them; and the checksums and agents of the namespaces in which they are.
 */
export function lifeOf(life: Life, subject: Subject): Life {
  const all = placed(life).filter(({ step }) => step !== "verify");
  const found = new Set(all.filter(({ summary }) => isMeant(summary, subject)).map(({ summary }) => summary));
  for (let before = -1; before < found.size;) {
    before = found.size;
    const known = new Set([...found].flatMap((summary) => summary.names.map((name) => `${summary.namespace}/${name}`)));
    for (const { summary } of all) if (summary.names.some((name) => known.has(`${summary.namespace}/${name}`))) found.add(summary);
  }
  const namespaces = new Set([...found].map(({ namespace }) => namespace));
  const belongs = (step: StepLife["step"], summary: Summary): boolean =>
    step === "verify" ? namespaces.has(summary.namespace) || isMeant(summary, subject) : found.has(summary);
  return { ...life, steps: life.steps.map((each) => ({ ...each, objects: each.objects.filter((summary) => belongs(each.step, summary)) })) };
}

/** True if the object is what the person has typed. `secret/x` is any object that is about a Secret of that name. */
function isMeant({ kind, name, names }: Summary, subject: Subject): boolean {
  if (subject.kind === undefined || /^secrets?$|^set$/.test(subject.kind)) return names.includes(subject.name);
  const own = kind.toLowerCase();
  return name === subject.name && (subject.kind === own || subject.kind === `${own}s` || subject.kind.startsWith(`${own}s.`));
}
