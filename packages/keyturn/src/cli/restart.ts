// `keyturn restart`: restarts a workload, or all that use a Secret or ConfigMap, one after the other, as `kubectl rollout restart` does.
import { type Kind, type KubeObject, sleep, type Stored, systemClock } from "@keyturn/runtime";
import { usesOf } from "../controllers/consumers/source-plan.ts";
import { durationFlag, readFlags, UsageError } from "../feature/flag.ts";
import { restartTime } from "../workloads/annotations.ts";
import { restartableKinds, Rollout, servesRollouts, templateOf, type Workload } from "../workloads/workload.ts";
import { type ChangeChoice, changeFlags, confirm, dryRunNote, fieldManager } from "./change.ts";
import type { Console } from "./command-line.ts";
import { inSession, type Session, sessionFlags } from "./session.ts";

const flags = {
  ...changeFlags,
  timeout: durationFlag({
    name: "timeout",
    default: "10m",
    help: "how long each workload may take to be healthy again; then no further one is restarted",
  }),
};

/** The flags of `keyturn restart`. */
export const restartCommandFlags = [...sessionFlags, ...Object.values(flags)];

const pollMs = 500;

/** Restarts what the subject means. Rejects, so that the exit code is 1, at the first that does not get healthy. */
export async function restartCommand(
  given: Readonly<Record<string, string | undefined>>,
  console: Console,
  [subject = ""]: readonly string[],
): Promise<void> {
  const choice = readFlags(flags, given, console.environment);
  await inSession(given, console, async (session) => {
    const chosen = await workloadsOf(session, subject);
    const lines = chosen.map(({ workload, why }) => `  ${wordOf(workload)}${why === undefined ? "" : `: ${why}`}`);
    const title = `These are restarted in namespace ${session.namespace}, one after the other, each when the one before is healthy:`;
    const description = [title, ...lines].join("\n");
    if (choice.dryRun) console.out(`${description}\n`);
    await confirm(description, choice, console);
    for (const { workload, kind } of chosen) {
      await restart(session, { workload, kind }, choice);
      console.out(`${wordOf(workload)} restarted${dryRunNote(choice)}\n`);
      if (choice.dryRun) continue;
      await healthy(session, { workload, kind }, choice.timeout);
      console.out(`${wordOf(workload)} is healthy\n`);
    }
  });
}

interface Restartable {
  readonly kind: Kind;
  readonly workload: Workload;
}

function wordOf({ ref }: Pick<Workload, "ref">): string {
  return `${ref.kind.toLowerCase()}/${ref.name}`;
}

/** One workload by its kind and name, or those that use a Secret or ConfigMap. Rejects with a `UsageError` if there is nothing to restart. */
async function workloadsOf(session: Session, subject: string): Promise<readonly (Restartable & { readonly why?: string })[]> {
  const { client, namespace, signal } = session;
  const [word = "", name = ""] = subject.split("/");
  const table = Array.from(restartableKinds.values());
  const own = table.find(({ kind }) => [kind.kind.toLowerCase(), kind.plural].includes(word.toLowerCase()));
  if (own) {
    const object = await client.get(own.kind, { namespace, name }, signal);
    if (!object) throw new UsageError(`there is no ${subject} in namespace ${namespace}`);
    const workload = own.keep(object);
    if (workload.blocker !== undefined) throw new UsageError(`${subject} cannot be restarted: ${blockedBy(workload.blocker)}`);
    return [{ kind: own.kind, workload }];
  }
  // Throws for what is neither a Secret nor a ConfigMap.
  usesOf({}, subject);
  const isServed = await servesRollouts(client, signal);
  const lists = await Promise.all(
    table
      .filter(({ kind }) => kind !== Rollout || isServed)
      .map(async ({ kind, keep }) => {
        const { items }: { readonly items: readonly Stored<KubeObject>[] } = await client.list(kind, { namespace }, signal);
        return items.map((object) => ({ kind, workload: keep(object) }));
      }),
  );
  const users = lists.flat().flatMap((each) => {
    const why = usesOf(templateOf(each.workload), subject);
    return why !== undefined && each.workload.blocker === undefined && each.workload.desired > 0 ? [{ ...each, why }] : [];
  });
  if (users.length === 0) throw new UsageError(`nothing in namespace ${namespace} that runs and can be restarted uses ${subject}`);
  return users;
}

function blockedBy(blocker: NonNullable<Workload["blocker"]>): string {
  return blocker === "Paused"
    ? "its rollouts are paused; kubectl rollout resume"
    : `${blocker}: its pods are replaced only when somebody deletes them`;
}

/** On exactly the object that was looked at. */
function restart({ client, now, signal }: Session, { kind, workload }: Restartable, { dryRun }: ChangeChoice): Promise<unknown> {
  const { namespace, name, uid } = workload.source;
  const at = restartTime(now());
  const annotations = { "kubectl.kubernetes.io/restartedAt": at };
  const spec = workload.restartedBy === "restartAt" ? { restartAt: at } : { template: { metadata: { annotations } } };
  const patch = { metadata: { uid }, spec };
  return client.mergePatch(kind, { namespace, name }, patch, { fieldManager, dryRun, answer: "metadata" }, signal);
}

/** Resolves when all pods are replaced and available. */
async function healthy({ client, signal }: Session, { kind, workload }: Restartable, timeoutMs: number): Promise<void> {
  const { namespace, name } = workload.source;
  const endsAtMs = systemClock.monotonic() + timeoutMs;
  for (;;) {
    const object: Stored<KubeObject> | undefined = await client.get(kind, { namespace, name }, signal);
    if (!object) throw new Error(`${wordOf(workload)} was deleted`);
    if (restartableKinds.get(kind.kind)?.keep(object).progress === "finished") return;
    if (systemClock.monotonic() > endsAtMs) throw new Error(`${wordOf(workload)} is not healthy in time; nothing further was restarted`);
    await sleep(systemClock, pollMs, signal);
  }
}
