// Shows in the cluster how the agent fares: a Lease with annotations, which `keyturn status` and dashboards list.
import { type Client, type Clock, Lease, type Logger, managedByLabel, sleep } from "@keyturn/runtime";
import { keyturn } from "../operator-identity.ts";
import type { AgentStatus } from "./agent-status.ts";

/** The label by which the Leases of agents are found. */
export const agentLeaseLabel = { key: "app.kubernetes.io/component", value: "agent" } as const;

/** The annotations of such a Lease. */
export const agentAnnotations = {
  state: "keyturn.io/agent-state",
  checksum: "keyturn.io/agent-checksum",
  generation: "keyturn.io/agent-generation",
  promotedAt: "keyturn.io/agent-promoted-at",
  verifiedAt: "keyturn.io/agent-verified-at",
  secrets: "keyturn.io/agent-secrets",
  differences: "keyturn.io/agent-differences",
  alarms: "keyturn.io/agent-alarms",
} as const;

const renewEveryMs = 60_000;
const fieldManager = "keyturn-agent";

/** What the Lease is about. */
export interface AgentLeaseOptions {
  readonly client: Client;
  readonly namespace: string;
  readonly identity: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The name of an agent's Lease. */
export function agentLeaseName(identity: string): string {
  return `keyturn-agent-${identity}`;
}

/** The annotations that describe an agent; each at least as short as anybody wants to read in a table. */
function annotationsOf({
  state,
  checksum,
  generation,
  promotedAt,
  verifiedAt,
  secrets,
  differenceCounts,
  alarms,
}: AgentStatus): Record<string, string> {
  const { missing, unexpected, changed } = differenceCounts;
  return {
    [agentAnnotations.state]: state,
    [agentAnnotations.checksum]: checksum ?? "",
    [agentAnnotations.generation]: generation ?? "",
    [agentAnnotations.promotedAt]: promotedAt ?? "",
    [agentAnnotations.verifiedAt]: verifiedAt ?? "",
    [agentAnnotations.secrets]: String(secrets.promoted),
    [agentAnnotations.differences]: `missing=${missing},unexpected=${unexpected},changed=${changed}`,
    [agentAnnotations.alarms]: alarms.map(({ alarm }) => alarm).join(","),
  };
}

/**
 * Keeps the Lease up to date: on change, and about once a minute. Never fails, and never holds up the agent: what the API server does not take now it takes a minute later.
 * A Lease of that name that is not an agent's is left alone.
 */
export class AgentLease {
  readonly #options: AgentLeaseOptions;
  #status: AgentStatus | undefined;
  #written = "";
  #wake = (): void => undefined;

  constructor(options: AgentLeaseOptions) {
    this.#options = options;
  }

  show(status: AgentStatus): void {
    this.#status = status;
    if (this.#words(status) !== this.#written) this.#wake();
  }

  /** Writes until the signal aborts; then takes the Lease away, since the agent is gone on purpose. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    while (!signal.aborted) {
      await this.#write(signal).catch((error: unknown) => {
        if (!signal.aborted) log.warn({ err: error }, "could not write the agent's Lease; trying again in a minute");
      });
      const interrupt = new AbortController();
      this.#wake = () => interrupt.abort();
      await sleep(clock, renewEveryMs, AbortSignal.any([signal, interrupt.signal])).catch(() => undefined);
    }
    await this.#remove().catch((error: unknown) => log.warn({ err: error }, "could not remove the agent's Lease"));
  }

  async #write(signal: AbortSignal): Promise<void> {
    const { client, namespace, identity, clock, log } = this.#options;
    const status = this.#status;
    if (!status) return;
    const name = { namespace, name: agentLeaseName(identity) };
    const words = this.#words(status);
    if (!(await this.#isOurs(signal))) {
      this.#written = words;
      return log.warn({ lease: name.name }, "there is a Lease of that name that is not an agent's; it is left alone");
    }
    const lease: Lease = {
      metadata: {
        ...name,
        labels: { [managedByLabel]: keyturn.name, [agentLeaseLabel.key]: agentLeaseLabel.value },
        annotations: annotationsOf(status),
      },
      spec: { holderIdentity: identity, leaseDurationSeconds: (3 * renewEveryMs) / 1000, renewTime: microTime(clock.now()) },
    };
    await client.apply(Lease, lease, { fieldManager, force: true, answer: "metadata" }, signal);
    this.#written = words;
  }

  /** True if the Lease is ours or does not exist. */
  async #isOurs(signal: AbortSignal): Promise<boolean> {
    const { client, namespace, identity } = this.#options;
    const live = await client.get(Lease, { namespace, name: agentLeaseName(identity) }, signal);
    const { labels = {} } = live?.metadata ?? { labels: { [managedByLabel]: keyturn.name, [agentLeaseLabel.key]: agentLeaseLabel.value } };
    return labels[managedByLabel] === keyturn.name && labels[agentLeaseLabel.key] === agentLeaseLabel.value;
  }

  async #remove(): Promise<void> {
    const { client, namespace, identity } = this.#options;
    const signal = AbortSignal.timeout(2000);
    if (this.#written !== "" && (await this.#isOurs(signal))) await client.delete(Lease, { namespace, name: agentLeaseName(identity) }, {}, signal);
  }

  /** When it was last verified changes all the time and is worth no write of its own. */
  #words(status: AgentStatus): string {
    return JSON.stringify({ ...annotationsOf(status), [agentAnnotations.verifiedAt]: "" });
  }
}

/** A MicroTime, as Leases have it. */
function microTime(ms: number): string {
  return new Date(ms).toISOString().replace("Z", "000Z");
}
