// `keyturn status`: how credentials fare in all stages, from watches of what anybody may read.
import { type Caches, createCaches, createLogger, isApiError, sleep, systemClock, systemRandom } from "@keyturn/runtime";
import { stageControllers } from "../registry.ts";
import { Rollout, servesRollouts } from "../workloads/workload.ts";
import type { Feature, FeatureName, FlagReader, Report } from "../feature/feature.ts";
import { placeOf } from "../feature/record.ts";
import { type Flag, operatorNamespaceFlag, readFlags, UsageError } from "../feature/flag.ts";
import {
  type CredentialStatus,
  credentialStatusOf,
  leaseData,
  parseSubject,
  placed,
  reportData,
  statusData,
  type Subject,
} from "../status/credentials.ts";
import { keepContact } from "../status/server-contact.ts";
import { changesOf, type StatusChange, type StatusWatches, type StatusWatchOptions, watchStatus } from "../status/status-watches.ts";
import { blindText, credentialText, healthText, leadersText, overviewText, unreadText, whenSettled, wideText } from "../status/status-text.ts";
import { allNamespacesFlag, isData, LiveText, outputFlag, type OutputFormat, printed, streamed, watchFlag } from "./output.ts";
import { type Paint, paintFor } from "../text.ts";
import type { Console } from "./command-line.ts";
import { answered, inSession, type Session, sessionFlags } from "./session.ts";

const flags = {
  output: outputFlag,
  allNamespaces: allNamespacesFlag,
  watch: watchFlag,
  operatorNamespace: operatorNamespaceFlag,
};

/** The flags of `keyturn status`: its own, and those of features that its answer depends on. */
export function statusFlags(registry: readonly Feature[]): readonly Flag[] {
  return [...sessionFlags, ...Object.values(flags), ...registry.flatMap(({ records }) => records.flags ?? [])];
}

/** How long a watch that fails may take to recover before the answer is given without it. */
const patienceMs = 10_000;
const redrawEveryMs = 1000;

/** Prints how the credentials of a namespace fare, or one of them; with `--watch`, until asked to stop. */
export async function statusCommand(
  given: Readonly<Record<string, string | undefined>>,
  console: Console,
  { subject, registry }: { readonly subject: string | undefined; readonly registry: readonly Feature[] },
): Promise<void> {
  const { output, watch, allNamespaces, operatorNamespace } = readFlags(flags, given, console.environment);
  const view: View = {
    subject: subject === undefined ? undefined : parseSubject(subject),
    output,
    paint: paintFor(console.environment, console.height() !== undefined),
  };
  await inSession(given, console, async (session) => {
    // A server that does not answer is reported at once, and not once for each of a dozen kinds.
    await answered(session);
    const unserved = (await looksAtRollouts(session)) ? [] : [Rollout];
    const namespace = allNamespaces ? undefined : session.namespace;
    const stop = new AbortController();
    const controllers = stageControllers(given, console.environment, registry);
    const flag: FlagReader = (wanted) => readFlags({ flag: wanted }, given, console.environment).flag;
    const wider =
      namespace === undefined ? new Map<FeatureName, readonly string[]>() : await namespacesElsewhere(session, { namespace, registry, flag });
    const watches = startWatches(
      session,
      { namespace, operatorNamespace, unserved, registry, controllers, flag, wider },
      AbortSignal.any([session.signal, stop.signal]),
    );
    try {
      await whenSettled(
        watches.caches.map(({ status }) => status),
        { clock: systemClock, patienceMs, signal: session.signal },
      );
      if (watch) return await follow(watches, view, { session, console });
      const status = watches.at(session.now());
      const isBlind = watches.caches.every(({ status }) => !status().synced);
      if (isBlind && view.subject) throw new Error(blindText(status));
      console.out(`${printed(reportOf(viewed(status, view), view), output)}\n`);
      if (isBlind) throw new Error(blindText(status));
    } catch (error) {
      if (!session.signal.aborted) throw error;
    } finally {
      stop.abort();
    }
  });
}

/** Whether Argo Rollouts are among the workloads. If that is not known they are watched, and the watch says what is wrong. */
async function looksAtRollouts({ client, signal }: Session): Promise<boolean> {
  try {
    return await servesRollouts(client, signal);
  } catch (error) {
    signal.throwIfAborted();
    // Who may not even ask what is served learns that of every other kind.
    return !isApiError(error, "Forbidden");
  }
}

/** For each feature with objects in other namespaces that are about this one too: all that it is to look at. */
async function namespacesElsewhere(
  { client, signal }: Session,
  { namespace, registry, flag }: { readonly namespace: string; readonly registry: readonly Feature[]; readonly flag: FlagReader },
): Promise<ReadonlyMap<FeatureName, readonly string[]>> {
  const wider = new Map<FeatureName, readonly string[]>();
  for (const { name, records } of registry) {
    try {
      const others = (await records.elsewhere?.({ client, namespace, signal }, flag)) ?? [];
      if (others.length > 0) wider.set(name, [namespace, ...others]);
    } catch (error) {
      // Who may not look for them learns that of the watch of what it takes.
      if (!isApiError(error, "Forbidden")) throw error;
    }
  }
  return wider;
}

/** What is shown of all there is, and how. */
interface View {
  readonly subject: Subject | undefined;
  readonly output: OutputFormat;
  readonly paint: Paint;
}

function startWatches(
  { transport, client, now }: Session,
  options: Pick<StatusWatchOptions, "namespace" | "operatorNamespace" | "unserved" | "registry" | "controllers" | "flag"> & {
    readonly wider: ReadonlyMap<FeatureName, readonly string[]>;
  },
  signal: AbortSignal,
): StatusWatches {
  const { namespace } = options;
  const clock = { ...systemClock, now };
  // What goes wrong with a watch is part of the answer.
  const log = createLogger({ level: "silent", destination: { write: () => {} } });
  const cachesIn = (namespaces: readonly string[]): Caches => createCaches({ transport, clock: systemClock, random: systemRandom, log, namespaces });
  const caches = cachesIn(namespace === undefined ? [] : [namespace]);
  const everywhere = cachesIn([]);
  const wider = new Map(Array.from(options.wider, ([feature, namespaces]) => [feature, cachesIn(namespaces)]));
  const watches = watchStatus({ ...options, caches, wider, everywhere, clock, log, contact: keepContact({ client, clock }, signal) });
  for (const each of [caches, ...wider.values(), everywhere]) each.start(signal);
  return watches;
}

/** The whole, or one credential. Throws a `UsageError` if there is nothing of that name, and an `Error` if that cannot be known. */
function viewed(status: CredentialStatus, { subject }: View): CredentialStatus {
  if (!subject) return status;
  const found = credentialStatusOf(status, subject);
  if (placed(found).length > 0) return found;
  const where = status.namespace === undefined ? "any namespace" : `namespace ${status.namespace} (-A looks in all of them)`;
  const message = `nothing that is called ${subject.name}, or is about a Secret or a set of that name, was found in ${where}`;
  // What a cluster does not serve has no objects.
  const unread = status.steps.flatMap((step) => step.unread).filter(({ reason }) => reason !== "missing");
  if (unread.length === 0) throw new UsageError(message);
  throw new Error(`${message}, as far as it could be read; ${[...new Set(unread.map(unreadText))].join("; ")}`);
}

function reportOf(status: CredentialStatus, { subject, paint }: View): Report & { readonly wide: string } {
  const wide = credentialText(status, paint);
  return { text: subject ? wide : overviewText(status, paint), wide: subject ? wide : wideText(status, paint), data: statusData(status) };
}

/** Redraws on a terminal; elsewhere prints the whole once and then each change. */
async function follow(
  watches: StatusWatches,
  view: View,
  { session, console }: { readonly session: Session; readonly console: Console },
): Promise<void> {
  const look = (): CredentialStatus => {
    const status = watches.at(session.now());
    return view.subject ? credentialStatusOf(status, view.subject) : status;
  };
  const screen = LiveText.on(console);
  let before: CredentialStatus | undefined;
  while (!session.signal.aborted) {
    const status = look();
    const { output } = view;
    const text = (): string => printed(reportOf(status, view), output);
    if (isData(output)) for (const change of changesOf(before, status)) console.out(streamed(changeData(change, status), output));
    else if (console.height() !== undefined) screen.show(text(), "");
    else if (!before) console.out(`${text()}\n\n`);
    else for (const change of changesOf(before, status)) console.out(`${changeText(change, status, view.paint)}\n`);
    before = status;
    // Not a request: what the watches hold is looked at, since ages and overdue steps come with time alone.
    await sleep(systemClock, redrawEveryMs, session.signal);
  }
}

function changeText(change: StatusChange, status: CredentialStatus, paint: Paint): string {
  const about = `${new Date(status.atMs).toISOString()}  ${change.step ?? "led by"}`;
  switch (change.type) {
    case "unread":
      return `${about}  ${change.unread.length === 0 ? "can be read again" : change.unread.map(unreadText).join("; ")}`;
    case "leaders":
      return `${about}  led by ${leadersText(change.stage, status, paint)}`;
    case "removed":
      return `${about}  ${placeOf(change.report)}  is gone`;
    case "added":
    case "changed":
    default:
      return `${about}  ${placeOf(change.report)}  ${healthText(change.report, paint)} (${change.report.detail})`;
  }
}

function changeData(change: StatusChange, { atMs }: CredentialStatus): object {
  const { type, step = null } = change;
  const about = { time: new Date(atMs).toISOString(), type, step };
  if (change.type === "unread") return { ...about, unread: change.unread };
  return change.type === "leaders" ? { ...about, leases: change.stage.leases.map(leaseData) } : { ...about, object: reportData(change.report) };
}
