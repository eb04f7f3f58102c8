// A connection with the person's own kubeconfig and rights, for as long as one command runs.
import { type Client, createClient, createHttpTransport, observeServerClock, systemClock, systemRandom, type Transport } from "@keyturn/runtime";
import { readFlags, textFlag } from "../flags/flag.ts";
import { operatorFlags } from "../flags/operator-flags.ts";
import { connect } from "./connection.ts";
import type { Console } from "./console.ts";

const flags = {
  namespace: textFlag({ name: "namespace", short: "n", placeholder: "NAMESPACE", help: "where to look; otherwise the kubeconfig's namespace" }),
  kubeconfig: operatorFlags.kubeconfig,
  context: operatorFlags.context,
};

/** For commands that show who leads. */
export const operatorNamespaceFlag = textFlag({
  name: "operator-namespace",
  placeholder: "NAMESPACE",
  help: "where the operator's Leases are, to see who leads; otherwise they are looked for everywhere",
});

/** The flags that say whom to ask, and where to look. */
export const sessionFlags = Object.values(flags);

/** What a command works with. */
export interface Session {
  readonly client: Client;
  readonly transport: Transport;
  /** Where requests go. */
  readonly server: string;
  /** The namespace that was asked for, or the kubeconfig's own, or `default`. */
  readonly namespace: string;
  /** The API server's time, as far as its answers have told it. */
  readonly now: () => number;
  /** By how much its clock is ahead of ours; undefined before its first answer. */
  readonly serverAheadMs: () => number | undefined;
  readonly signal: AbortSignal;
}

/** The longest that Node knows. */
const longestTimerMs = 2 ** 31 - 1;

/** Runs `work` with a connection, and closes it. Rejects with a `UsageError` for a kubeconfig that cannot be used. */
export async function inSession<T>(
  given: Readonly<Record<string, string | undefined>>,
  console: Console,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const where = readFlags(flags, given, console.environment);
  const connection = await connect(where, console.environment);
  const wire = createHttpTransport({ ...connection, env: console.environment, userAgent: "keyturn", clock: systemClock });
  const { transport, serverClock } = observeServerClock(wire, systemClock);
  // Neither a watch that waits for its next attempt nor a clock keeps a process alive, and the work is not done before it is done.
  const awake = setInterval(() => {}, longestTimerMs);
  try {
    return await work({
      client: createClient(transport, { clock: systemClock, random: systemRandom }),
      transport,
      server: connection.server,
      namespace: where.namespace ?? connection.namespace ?? "default",
      now: () => systemClock.now() + (serverClock.aheadMs() ?? 0),
      serverAheadMs: () => serverClock.aheadMs(),
      signal: console.signal,
    });
  } finally {
    clearInterval(awake);
    transport.close();
  }
}
