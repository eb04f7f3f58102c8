// `keyturn pause` and `keyturn resume`: put the annotation on an object that has the operator leave it as it is, and take it off.
import { ConfigMap, isApiError, keyOf, type Kind, type KubeObject, Namespace, type ObjectName, Secret } from "@keyturn/runtime";
import { Kyma } from "../controllers/eventing-auth/api.ts";
import type { Feature } from "../feature/feature.ts";
import { durationFlag, readFlags, textFlag, UsageError } from "../feature/flag.ts";
import { pausedAnnotation, pauseOf } from "../feature/pause-and-selection.ts";
import { restartableKinds } from "../workloads/workload.ts";
import { type ChangeChoice, changeFlags, confirm, dryRunNote, fieldManager } from "./change.ts";
import type { Console } from "./command-line.ts";
import { inSession, type Session, sessionFlags } from "./session.ts";

const pauseFlags = {
  ...changeFlags,
  for: durationFlag({ name: "for", default: "0", help: "end the pause by itself after this time, such as 2h; 0 = it lasts until keyturn resume" }),
  until: textFlag({ name: "until", placeholder: "TIME", help: "end the pause by itself at this time, such as 2026-12-24T06:00:00Z" }),
};

/** The flags of `keyturn pause` and `keyturn resume`. */
export const pauseCommandFlags = [...sessionFlags, ...Object.values(pauseFlags)];
export const resumeCommandFlags = [...sessionFlags, ...Object.values(changeFlags)];

/** What a person names, and what there is to be named. */
interface Asked {
  readonly subject: string | undefined;
  readonly registry: readonly Feature[];
}

/** Pauses what the subject names. */
export async function pauseCommand(
  given: Readonly<Record<string, string | undefined>>,
  console: Console,
  { subject = "", registry }: Asked,
): Promise<void> {
  const choice = readFlags(pauseFlags, given, console.environment);
  if (choice.for > 0 && choice.until !== undefined) throw new UsageError("--for and --until: give one of them");
  await inSession(given, console, async (session) => {
    const untilText = choice.for > 0 ? new Date(session.now() + choice.for).toISOString() : choice.until;
    const untilMs = untilText === undefined ? undefined : pauseOf(untilText, session.now())?.untilMs;
    if (untilText !== undefined && untilMs === undefined)
      throw new UsageError(`--until: "${untilText}" is no time to come, written as 2026-12-24T06:00:00Z`);
    const { kind, name } = await pausable(session, { subject, registry });
    const end = untilText === undefined ? `until "keyturn resume ${wordOf(kind)}/${name.name}"` : `until ${untilText}`;
    await confirm(
      `Keyturn will leave ${wordOf(kind)} ${keyOf(name)} as it is ${end}: nothing is rotated, published, repaired or restarted for it.`,
      choice,
      console,
    );
    await annotate(session, { kind, name, value: untilText ?? "true" }, choice);
    console.out(`${wordOf(kind)}/${name.name} paused${dryRunNote(choice)}\n`);
  });
}

/** Ends the pause of what the subject names. */
export async function resumeCommand(
  given: Readonly<Record<string, string | undefined>>,
  console: Console,
  { subject = "", registry }: Asked,
): Promise<void> {
  const choice = readFlags(changeFlags, given, console.environment);
  await inSession(given, console, async (session) => {
    const { kind, name, object } = await pausable(session, { subject, registry });
    if (object.metadata.annotations?.[pausedAnnotation] === undefined) {
      return console.out(`${wordOf(kind)}/${name.name} is not paused\n`);
    }
    await confirm(`Keyturn will look after ${wordOf(kind)} ${keyOf(name)} again, and make up for what happened meanwhile.`, choice, console);
    // Of JSON merge patches, null takes away.
    await annotate(session, { kind, name, value: null }, choice);
    console.out(`${wordOf(kind)}/${name.name} resumed${dryRunNote(choice)}\n`);
  });
}

interface Annotated {
  readonly kind: Kind;
  readonly name: ObjectName;
  readonly value: string | null;
}

function annotate({ client, signal }: Session, { kind, name, value }: Annotated, { dryRun }: ChangeChoice): Promise<unknown> {
  const patch = { metadata: { annotations: { [pausedAnnotation]: value } } };
  return client.mergePatch(kind, name, patch, { fieldManager, dryRun, answer: "metadata" }, signal);
}

// What can be paused, and what a person means by a name.

const kindsOf = (registry: readonly Feature[]): readonly Kind[] => [
  ...registry.flatMap((feature): readonly Kind[] => feature.kinds),
  Kyma,
  ...Array.from(restartableKinds.values(), ({ kind }) => kind),
];
/** Only by their kind: every namespace has many of them that are no source of anything. */
const onlyByKind: readonly Kind[] = [Namespace, Secret, ConfigMap];

function wordOf({ kind }: Kind): string {
  return kind.toLowerCase();
}

/** An object that can be paused. */
interface Pausable {
  readonly kind: Kind;
  readonly name: ObjectName;
  readonly object: KubeObject;
}

/** What `kind/name`, or a name alone, means. Rejects with a `UsageError` if that is nothing, or several. */
async function pausable({ client, namespace, signal }: Session, { subject = "", registry }: Asked): Promise<Pausable> {
  const kinds = kindsOf(registry);
  const namedKinds = [...kinds, ...onlyByKind];
  const [word = "", own, ...more] = subject.split("/");
  if (more.length > 0 || own === "") throw new UsageError(`"${subject}" is not KIND/NAME`);
  const name = own ?? word;
  const meant =
    own === undefined ? kinds : namedKinds.filter((kind) => [wordOf(kind), kind.plural, `${kind.plural}.${kind.group}`].includes(word.toLowerCase()));
  if (meant.length === 0) throw new UsageError(`"${word}" cannot be paused; there are ${namedKinds.map(wordOf).join(", ")}`);
  const found = await Promise.all(
    meant.map(async (kind): Promise<readonly Pausable[]> => {
      const place = kind.namespaced ? { namespace, name } : { name };
      const object = await client.get(kind, place, signal).catch((error: unknown) => {
        // Of a name alone, what is not served or may not be read is passed over.
        if (own === undefined && isApiError(error, "NotFound", "Forbidden")) return undefined;
        throw error;
      });
      return object ? [{ kind, name: place, object }] : [];
    }),
  );
  const [only, ...others] = found.flat();
  if (!only) throw new UsageError(`there is no ${own === undefined ? "object" : word} "${name}" in namespace ${namespace}`);
  if (others.length > 0)
    throw new UsageError(`"${name}" means ${[only, ...others].map(({ kind }) => `${wordOf(kind)}/${name}`).join(" and ")}: name one of them`);
  return only;
}
