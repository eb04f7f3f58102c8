// The agent: looks, decides, acts and reports, again and again, and never stops for anything but its signal.
import { type Clock, type Logger, sleep } from "@keyturn/runtime";
import { leftOutOf, newerStamp, type ObservedSet } from "../controllers/checksum/difference.ts";
import { freshMs } from "./contact.ts";
import { decide, type Decision, type DecisionRules } from "./decision.ts";
import type { Disk } from "./disk.ts";
import type { GatewayNotice } from "./gateway.ts";
import type { ScopeView } from "./observe.ts";
import type { ServedSet } from "./served-set.ts";
import { type AgentMemory, type Manifest, writeMemory } from "./manifest.ts";
import type { ReadSecrets } from "./snapshots.ts";
import { type AgentStatus, describeAgent, type RaisedAlarm } from "./status.ts";

/** What an agent works with. */
interface AgentOptions {
  readonly namespace: string;
  readonly identity: string;
  readonly folder: string;
  readonly disk: Disk;
  readonly served: ServedSet;
  /** What was remembered from before. */
  readonly memory: AgentMemory;
  /** Undefined if nobody wants to be notified of changes. */
  readonly gateway: GatewayNotice | undefined;
  readonly rules: DecisionRules;
  /** From notifying the gateway to the next promotion: a gateway still reads its files for a while after it was notified. */
  readonly pauseMs: number;
  /** Called after every look. */
  readonly onStatus: (status: AgentStatus) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

/** What an agent looks at. */
interface Surroundings {
  readonly view: ScopeView;
  /** Reads Secrets when they are promoted. */
  readonly read: ReadSecrets;
}

/** Changes come in bursts; each burst is looked at once. Where a look takes long, there are fewer of them. */
const burstMs = 100;
const maxBurstMs = 2000;
/** Nothing may change and time still passes: certificates expire, outages grow long, files are damaged. */
const maxPauseMs = 10_000;
/** When what is served was last verified is written down this often. */
const rememberEveryMs = 60_000;
/** While the same thing is wrong, its details are logged this often at most. */
const repeatEveryMs = 10_000;

const stateInWords: Readonly<Record<AgentStatus["state"], string>> = {
  starting: "nothing is known of the API server yet",
  waiting: "waiting for the first list from the API server",
  verified: "what is served is what should be",
  promote: "a set is to be promoted",
  holding: "what is served stays as it is",
};

/** See the file's first line. */
export class Agent {
  readonly #options: AgentOptions;
  #memory: AgentMemory;
  #rememberedMs = -Infinity;
  #decision: Decision | undefined;
  #observed: ObservedSet | undefined;
  #blocker: { readonly sinceMs: number; readonly reason: string } | undefined;
  /** When what is served was last known to be what should be, on the monotonic scale: a clock that is set back makes nothing younger. */
  #verifiedMs: number | undefined;
  /** When that was last looked at. */
  #lookedMs = -Infinity;
  /** When the API server last answered. */
  #heardMs: ScopeView["heardMs"] = () => undefined;
  readonly #startedMs: number;
  #burstMs = burstMs;
  #said = { what: "", details: "", atMs: -Infinity };
  #isChanged = false;
  #wake = (): void => undefined;

  constructor(options: AgentOptions) {
    this.#options = options;
    this.#memory = options.memory;
    this.#startedMs = options.clock.monotonic();
  }

  /** Something may have changed. */
  changed(): void {
    this.#isChanged = true;
    this.#wake();
  }

  /** How long ago what is served was known to be what should be; undefined if it never was. */
  get stalenessMs(): number | undefined {
    const { clock, served } = this.#options;
    const nowMs = clock.monotonic();
    if (this.#verifiedMs !== undefined) {
      // What was verified is so still if the API server has answered since, and would have told of a change.
      const knownMs = this.#isVerified ? Math.min(this.#lookedMs, this.#heardMs() ?? this.#lookedMs) : this.#verifiedMs;
      const sinceMs = nowMs - knownMs;
      return this.#isVerified && sinceMs <= freshMs ? 0 : sinceMs;
    }
    const beforeMs = this.#memory.verifiedAtMs ?? served.promoted?.manifest.promotedAtMs;
    return beforeMs === undefined ? undefined : Math.max(clock.now() - beforeMs, nowMs - this.#startedMs);
  }

  /** Notifies the gateway and everybody else about what was found on the disk. Needs no API server. */
  async start(signal: AbortSignal): Promise<void> {
    const { served, gateway, log } = this.#options;
    if (served.promoted) log.info({ generation: served.promoted.name }, "serving what was verified before");
    await gateway?.notify(served.promoted?.name, signal);
    this.#report();
  }

  /** Works until the signal aborts. */
  async run(surroundings: Surroundings, signal: AbortSignal): Promise<void> {
    this.#heardMs = () => surroundings.view.heardMs();
    while (!signal.aborted) {
      this.#isChanged = false;
      await this.#look(surroundings, signal);
      await this.#pause(signal);
    }
    this.#rememberedMs = -Infinity;
    await this.#remember();
  }

  async #look({ view, read }: Surroundings, signal: AbortSignal): Promise<void> {
    const { served, gateway, clock, rules } = this.#options;
    const isWhole = await served.verifyFromTimeToTime();
    const beganMs = clock.monotonic();
    this.#observed = view.secrets();
    const blocker = view.blocker();
    this.#blocker = blocker === undefined ? undefined : { sinceMs: this.#blocker?.sinceMs ?? clock.monotonic(), reason: blocker };
    this.#decision = decide(
      {
        secrets: this.#observed,
        checksums: view.checksums(),
        promoted: served.promoted?.manifest,
        isWhole,
        broken: served.broken,
        stamp: newerStamp(this.#memory.stamp, served.promoted?.manifest.stamp),
        differsSinceMs: this.#decision?.differsSinceMs,
        largeChangeSinceMs: this.#memory.largeChangeSinceMs,
      },
      rules,
      clock.now(),
    );
    this.#memory = { ...this.#memory, largeChangeSinceMs: this.#decision.largeChangeSinceMs };
    this.#burstMs = Math.min(Math.max(burstMs, 4 * (clock.monotonic() - beganMs)), maxBurstMs);
    if (this.#isVerified) {
      this.#lookedMs = clock.monotonic();
      this.#verifiedMs = view.heardMs() ?? this.#lookedMs;
      this.#memory = { ...this.#memory, stamp: newerStamp(this.#memory.stamp, this.#decision.match?.stamp), verifiedAtMs: clock.now() };
      served.forgive();
    }
    this.#report();

    if (this.#decision.state === "promote" && this.#observed && clock.monotonic() >= this.#promotableMs()) {
      const done = await served.promote(this.#manifestOf(this.#observed, this.#decision), read);
      // What has just been promoted is looked at once more: usually it is verified now.
      if (done) this.#isChanged = true;
    } else if (this.#decision.state !== "promote") {
      // It cannot be mended from the API server, so what other snapshots have must do.
      await served.mend();
    }
    await gateway?.notify(served.promoted?.name, signal);
    this.#report();
    await this.#remember();
  }

  get #isVerified(): boolean {
    return this.#decision?.state === "verified" && this.#blocker === undefined;
  }

  /** From when on a promotion may be tried, on the monotonic scale. */
  #promotableMs(): number {
    const { served, gateway, pauseMs } = this.#options;
    return Math.max(served.notBeforeMs, (gateway?.endedMs ?? -Infinity) + pauseMs);
  }

  #manifestOf({ state }: ObservedSet, { match, target, peaks }: Decision): Manifest {
    const stamp = newerStamp(newerStamp(this.#memory.stamp, this.#options.served.promoted?.manifest.stamp), match?.stamp);
    return {
      version: 1,
      namespace: this.#options.namespace,
      checksum: state.checksum,
      ...(match && { matched: match.name }),
      ...(stamp && { stamp }),
      promotedAtMs: this.#options.clock.now(),
      secrets: target?.secrets ?? {},
      ...(target?.givenUp && { givenUp: target.givenUp }),
      ...(target?.confirmedMs !== undefined && { confirmedMs: target.confirmedMs }),
      ...(peaks && { peaks: [...peaks] }),
    };
  }

  async #pause(signal: AbortSignal): Promise<void> {
    const { clock, served, gateway } = this.#options;
    const { state, nextMs } = this.#decision ?? {};
    const nowMs = clock.monotonic();
    const waits = [
      maxPauseMs,
      ...(nextMs === undefined ? [] : [nextMs - clock.now()]),
      ...(state === "promote" ? [this.#promotableMs() - nowMs] : []),
      (gateway?.nextMs(served.promoted?.name) ?? Infinity) - nowMs,
    ];
    const interrupt = new AbortController();
    this.#wake = () => interrupt.abort();
    const stop = AbortSignal.any([signal, interrupt.signal]);
    if (!this.#isChanged) await sleep(clock, Math.max(this.#burstMs, Math.min(...waits)), stop).catch(() => undefined);
    this.#wake = () => undefined;
    if (this.#isChanged && !signal.aborted) await sleep(clock, this.#burstMs, signal).catch(() => undefined);
  }

  /** Everything there is to say: to whoever listens always, to the log when it is something else than before. */
  #report(): void {
    const { log, clock, onStatus } = this.#options;
    const status = this.#status();
    onStatus(status);
    const { state, alarms, objections } = status;
    const what = JSON.stringify([state, alarms.map(({ alarm }) => alarm), objections.map(({ situation }) => situation)]);
    const details = JSON.stringify([alarms, objections]);
    const isNews = what !== this.#said.what || (details !== this.#said.details && clock.monotonic() - this.#said.atMs >= repeatEveryMs);
    if (!isNews) return;
    this.#said = { what, details, atMs: clock.monotonic() };
    const fields = { state, generation: status.generation, differences: status.differenceCounts, objections };
    if (alarms.length > 0) log.warn({ ...fields, alarms }, "the served certificates need attention");
    else log.info(fields, stateInWords[state]);
  }

  #status(): AgentStatus {
    const { namespace, identity, served, gateway } = this.#options;
    return describeAgent({
      namespace,
      identity,
      decision: this.#decision,
      promoted: served.promoted,
      verifiedAtMs: this.#memory.verifiedAtMs,
      live: this.#observed?.state.ids.length,
      leftOut: this.#observed && leftOutOf(this.#observed).size,
      troubles: this.#troubles(),
      promotion: served.attempt,
      command: gateway?.attempt,
    });
  }

  #troubles(): readonly RaisedAlarm[] {
    const { served, gateway, rules, clock } = this.#options;
    const isHindered = this.#blocker && clock.monotonic() - this.#blocker.sinceMs >= rules.alarmAfterMs;
    return [
      ...(isHindered && this.#blocker ? [{ alarm: "Unreachable", message: this.#blocker.reason } as const] : []),
      ...(served.damage === undefined ? [] : [{ alarm: "Damaged", message: served.damage } as const]),
      ...(served.trouble === undefined ? [] : [{ alarm: "PromotionFailed", message: served.trouble } as const]),
      ...(gateway?.trouble === undefined ? [] : [{ alarm: "CommandFailed", message: gateway.trouble } as const]),
    ];
  }

  /** Writes down what has to survive a restart, if it is not there already. */
  async #remember(): Promise<void> {
    const { disk, folder, clock, log, gateway } = this.#options;
    const memory: AgentMemory = { ...this.#memory, notified: gateway?.notified };
    const isDue = clock.monotonic() - this.#rememberedMs >= rememberEveryMs;
    const isOther = memory.notified !== this.#memory.notified;
    this.#memory = memory;
    if (!isDue && !isOther) return;
    try {
      await writeMemory(disk, folder, memory);
      this.#rememberedMs = clock.monotonic();
    } catch (error) {
      // On a full disk this comes every time; the alarm for the disk is raised by promotions, which matter more.
      log.debug({ err: error }, "could not write the agent's memory");
    }
  }
}

// When something that failed is tried again: after a second at first, and ever more rarely.

/** How often something has failed in a row, and from when on it may be tried again, on the monotonic scale. */
export interface Retry {
  readonly failures: number;
  readonly notBeforeMs: number;
}

/** Nothing has failed yet. */
export const untried: Retry = { failures: 0, notBeforeMs: 0 };

const firstDelayMs = 1000;
/** Disks are freed and gateways come back within minutes; nobody should wait longer than this for the agent to notice. */
const maxDelayMs = 60_000;

/** After one more failure. */
export function failedAgain({ failures }: Retry, nowMs: number): Retry {
  return { failures: failures + 1, notBeforeMs: nowMs + Math.min(firstDelayMs * 2 ** failures, maxDelayMs) };
}
