// What `keyturn run` does before it starts: it finds the namespace of its Leases, and does not start beside another operator that serves the same objects.
import {
  type Client,
  type ConnectionConfig,
  createClient,
  createHttpTransport,
  isApiError,
  Lease,
  type Logger,
  messageOf,
  Namespace,
  observeServerClock,
  systemClock,
  systemRandom,
} from "@keyturn/runtime";
import { type Feature, type FlagReader, keyturn } from "../feature/feature.ts";
import type { ValuesOf } from "../feature/flag.ts";
import { selectorText } from "../feature/pause-and-selection.ts";
import { impatientTransport } from "../feature/plain-errors.ts";
import { leaseSummary, type LeaseSummary } from "../feature/record.ts";
import { isShared, type ServedScope } from "../feature/served-scope.ts";
import { type operatorFlags, usualNamespace } from "../operator-flags.ts";
import { fieldManager } from "./change.ts";

type OperatorValues = ValuesOf<typeof operatorFlags>;

/** One for everybody who runs the operator from a terminal, so that it takes turns with the one that is installed. */
export function leaseNamespaceOf(
  { leaderElectNamespace }: Pick<OperatorValues, "leaderElectNamespace">,
  { source, namespace }: Pick<ConnectionConfig, "source" | "namespace">,
): string {
  return leaderElectNamespace ?? (source === "in-cluster" ? namespace : undefined) ?? usualNamespace;
}

/** What the flags say that the operator serves. */
export function servedScope(
  chosen: readonly Feature[],
  { namespaces, skipNamespaces }: Pick<OperatorValues, "namespaces" | "skipNamespaces">,
  flag: FlagReader,
): ServedScope {
  const limited = chosen.flatMap((feature) => {
    const only = feature.ownNamespaces ? flag(feature.ownNamespaces) : [];
    return only.length === 0 ? [] : feature.controllers(flag).map(({ name }) => [name, only] as const);
  });
  return { namespaces, skipNamespaces, selector: flag(selectorText) ?? "", only: Object.fromEntries(limited) };
}

/** An operator that is about to start. */
interface Starter {
  readonly leaseNamespace: string;
  readonly leaderElect: boolean;
  readonly allowOtherOperators: boolean;
  readonly scope: ServedScope;
  readonly controllers: readonly string[];
}

/** Those who lead a controller of the starter's over the same objects, and do not take turns with it. Whoever does not say what it serves is none. */
export function rivalsOf(
  { leaseNamespace, leaderElect, scope }: Pick<Starter, "leaseNamespace" | "leaderElect" | "scope">,
  leases: readonly LeaseSummary[],
): readonly LeaseSummary[] {
  return leases.filter(
    ({ controller, namespace, state, serves }) =>
      state === "held" && (namespace !== leaseNamespace || !leaderElect) && serves !== undefined && isShared(controller, scope, serves),
  );
}

/** Why it does not start. */
export function refusalOf(rivals: readonly LeaseSummary[]): string | undefined {
  const [first] = rivals;
  if (!first) return undefined;
  const { holder = "another process", namespace } = first;
  const led = rivals.filter((rival) => rival.namespace === namespace).map(({ controller }) => controller);
  return (
    `another operator serves the same objects: ${holder}, with the Leases of ${led.join(", ")} in namespace ${namespace}; ` +
    `stop it, or take turns with it by --leader-elect-namespace ${namespace}, or give the two different --namespaces or --selector (--allow-other-operators starts all the same)`
  );
}

/** How the starter reaches the cluster, and where it says what it does. */
interface Surroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/**
 * Sees to it that the usual namespace exists, and rejects beside a rival, unless told to start all the same. A server that does not answer is waited for by the
 * operator itself, and where one may not list Leases nobody is found.
 */
export async function takePlace(connection: ConnectionConfig, starter: Starter & Surroundings): Promise<void> {
  const { log, allowOtherOperators } = starter;
  const refusal = refusalOf(await findRivals(connection, starter));
  if (refusal === undefined) return;
  if (!allowOtherOperators) throw new Error(refusal);
  log.warn({ refusal }, "started beside another operator, because --allow-other-operators says so");
}

async function findRivals(connection: ConnectionConfig, starter: Starter & Surroundings): Promise<readonly LeaseSummary[]> {
  const { environment, log, signal, leaseNamespace, controllers } = starter;
  const wire = createHttpTransport({ ...connection, env: environment, userAgent: keyturn.name, clock: systemClock });
  const { transport, serverClock } = observeServerClock(wire, systemClock);
  const quick = impatientTransport(transport, { server: connection.server, now: () => systemClock.monotonic() });
  const client = createClient(quick, { clock: systemClock, random: systemRandom });
  try {
    if (leaseNamespace === usualNamespace) await makeNamespace(client, leaseNamespace, { log, signal });
    const { items } = await client.list(Lease, { fields: "metadata.namespace!=kube-node-lease" }, signal);
    const nowMs = systemClock.now() + (serverClock.aheadMs() ?? 0);
    return rivalsOf(
      starter,
      items.flatMap((lease) => leaseSummary(lease, controllers, nowMs) ?? []),
    );
  } catch (error) {
    if (!signal.aborted) log.debug({ error: messageOf(error) }, "could not look for other operators");
    return [];
  } finally {
    wire.close();
  }
}

/** Most who may not make it need not: it is there. */
async function makeNamespace(client: Client, name: string, { log, signal }: Pick<Surroundings, "log" | "signal">): Promise<void> {
  try {
    if (await client.get(Namespace, { name }, signal)) return;
    await client.create(Namespace, { metadata: { name } }, { fieldManager }, signal);
    log.info({ namespace: name }, "made the namespace of the Leases");
  } catch (error) {
    if (!isApiError(error, "Forbidden", "AlreadyExists")) throw error;
  }
}
