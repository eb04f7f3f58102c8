// What the agent says about itself: one description for `/status`, `status.json`, the Lease, metrics and the log.
import { join } from "node:path";
import { type Client, type Clock, Lease, type Logger, managedByLabel, sleep } from "@keyturn/runtime";
import { agentAnnotations, agentLeaseLabel } from "../controllers/checksum/agent-lease.ts";
import type { SecretDifference } from "../controllers/checksum/difference.ts";
import { keyturn } from "../feature/feature.ts";
import type { Decision } from "./decision.ts";
import { type Disk, replaceFile } from "./disk.ts";
import type { NoticeResult } from "./gateway.ts";
import type { Alarm } from "./alarm-policies.ts";
import type { Snapshot } from "./snapshot-folder.ts";
import type { HeldSecret } from "./target-set.ts";

/** An alarm with its reason. */
export interface RaisedAlarm {
  readonly alarm: Alarm;
  readonly message: string;
}

/** How the last attempt at something went. */
export interface Attempt {
  readonly ok: boolean;
  readonly at: string;
  readonly durationMs: number;
  readonly detail: string;
}

/** The agent, described. Holds nothing of any Secret's content. */
export interface AgentStatus {
  readonly namespace: string;
  readonly identity: string;
  /** `starting` until the first decision. `promote` shows only while a promotion waits for its turn or is tried again. */
  readonly state: Decision["state"] | "starting";
  /** What `current` points to. */
  readonly generation: string | undefined;
  readonly checksum: string | undefined;
  readonly promotedAt: string | undefined;
  readonly verifiedAt: string | undefined;
  readonly secrets: { readonly promoted: number; readonly live: number | undefined; readonly leftOut: number | undefined };
  readonly alarms: readonly RaisedAlarm[];
  /** Everything that stands against the live set, whether it is an alarm or not. */
  readonly objections: Decision["objections"];
  /** How many Secrets keep the certificate that is served because something is wrong with the live one, and the first of them. */
  readonly heldCount: number;
  readonly held: readonly HeldSecret[];
  readonly differenceCounts: Readonly<Record<SecretDifference["direction"], number>>;
  /** The first of them. */
  readonly differences: readonly SecretDifference[];
  readonly promotion: Attempt | undefined;
  readonly command: Attempt | undefined;
}

/** What a description is made from. */
interface StatusFacts {
  readonly namespace: string;
  readonly identity: string;
  readonly decision: Decision | undefined;
  readonly promoted: Snapshot | undefined;
  readonly verifiedAtMs: number | undefined;
  readonly live: number | undefined;
  readonly leftOut: number | undefined;
  /** Alarms that no decision raises. */
  readonly troubles: readonly RaisedAlarm[];
  readonly promotion: Attempt | undefined;
  readonly command: Attempt | undefined;
}

/** Differences and held Secrets that are listed; the counts cover all of them, and `keyturn diff` shows them. */
const maxListed = 100;

export function describeAgent(facts: StatusFacts): AgentStatus {
  const { namespace, identity, decision, promoted, verifiedAtMs, live, leftOut, troubles, promotion, command } = facts;
  const differences = decision?.differences ?? [];
  const held = decision?.target?.held ?? [];
  const count = (direction: SecretDifference["direction"]): number => differences.filter((each) => each.direction === direction).length;
  return {
    namespace,
    identity,
    state: decision?.state ?? "starting",
    generation: promoted?.name,
    checksum: promoted?.manifest.checksum,
    promotedAt: timeOf(promoted?.manifest.promotedAtMs),
    verifiedAt: timeOf(verifiedAtMs),
    secrets: { promoted: Object.keys(promoted?.manifest.secrets ?? {}).length, live, leftOut },
    alarms: [...(decision ? decisionAlarms(decision) : []), ...troubles],
    objections: decision?.objections ?? [],
    heldCount: held.length,
    held: held.slice(0, maxListed),
    differenceCounts: { missing: count("missing"), unexpected: count("unexpected"), changed: count("changed") },
    differences: differences.slice(0, maxListed),
    promotion,
    command,
  };
}

/** An attempt from how it went. */
export function attemptOf({ ok, detail, durationMs }: NoticeResult, nowMs: number): Attempt {
  return { ok, at: new Date(nowMs).toISOString(), durationMs, detail };
}

function decisionAlarms({ alarms, objections }: Decision): readonly RaisedAlarm[] {
  return objections.flatMap(({ situation, message }) => (alarms.includes(situation) ? [{ alarm: situation, message }] : []));
}

function timeOf(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString();
}

// As a Lease with annotations, which `keyturn status` and dashboards list.

const renewEveryMs = 60_000;
/** Whoever asked the agent to end waits meanwhile: half a minute where it is Kubernetes. */
const removeWithinMs = 10_000;
const fieldManager = "keyturn-agent";

/** What the Lease is about. */
interface AgentLeaseOptions {
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
    const signal = AbortSignal.timeout(removeWithinMs);
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

// As a file in the agent's folder, for whoever has the disk and no network.

/** Writes `status.json` when the status changes, one write at a time. A disk that does not take it is no reason to stop anything. */
export class StatusFile {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #log: Logger;
  #wanted = "";
  #written = "";
  #writing: Promise<void> | undefined;

  constructor(disk: Disk, folder: string, log: Logger) {
    this.#disk = disk;
    this.#path = join(folder, "status.json");
    this.#log = log;
  }

  /** When it was last verified changes all the time and is worth no write of its own. */
  show(status: AgentStatus): void {
    this.#wanted = `${JSON.stringify({ ...status, verifiedAt: undefined }, undefined, 2)}\n`;
    this.#writing ??= this.#write().finally(() => (this.#writing = undefined));
  }

  /** Resolves when nothing is being written any more. */
  async settled(): Promise<void> {
    await this.#writing;
  }

  async #write(): Promise<void> {
    while (this.#written !== this.#wanted) {
      const content = this.#wanted;
      try {
        await replaceFile(this.#disk, this.#path, { content, mode: 0o644 });
        this.#written = content;
      } catch (error) {
        // The next change of the status tries again.
        return this.#log.debug({ err: error }, "could not write status.json");
      }
    }
  }
}
