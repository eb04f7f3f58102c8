// A controller split by key: every shard has a Lease, and the replicas there are share the shards out evenly.
import { isApiError } from "../client/api-error.ts";
import type { Stored } from "../client/object.ts";
import { ConnectionError } from "../client/transport.ts";
import { sleep } from "../clock.ts";
import type { Term } from "../controller/term.ts";
import { failureOf } from "../controller/failure.ts";
import { missingRight } from "../controller/missing-right.ts";
import type { Lease } from "./lease.ts";
import { LeaseElector } from "./lease-elector.ts";
import type { ElectionProblem, ElectorOptions } from "./lease-elector.ts";
import { isFree } from "./lease-state.ts";
import { ShardIdlers } from "./shard-idlers.ts";
import { memberLabel, memberLeaseName, ShardMembers, shardsLabel } from "./shard-member.ts";
import { planShards } from "./shard-plan.ts";

/** What the election of all shards needs. `lease` is the prefix of the Leases' names. */
export interface ShardsOptions extends Omit<ElectorOptions, "lead" | "labels" | "wanted" | "onChange"> {
  readonly shards: number;
  /** How long runs may go on when a shard is given up. Never longer than `renewDeadlineMs`, so that no key is left alone for longer than a lease. */
  readonly drainGraceMs: number;
  readonly lead: (shard: number, term: Term) => Promise<void>;
  readonly onChange?: (lease: string, held: boolean) => void;
}

/**
 * One replica's part in the elections of all shards of one controller.
 *
 * Guarantees: a shard is worked on by at most one replica, as its Lease has it. Once membership is stable, shares differ by at most one. A replica
 * that comes takes its share from those who have most, and one that goes leaves its share to the others; all other shards stay where they are.
 * A shard whose holder died has another within a lease time and a few retry periods.
 *
 * Caveat: replicas must agree on the number of shards. To change it, stop all of them first: keys belong to other shards then, and for as long as both
 * counts are in use a key can have two holders.
 */
export class ShardElections {
  readonly #options: ShardsOptions;
  readonly #electors: readonly LeaseElector[];
  readonly #members: ShardMembers;
  readonly #idlers: ShardIdlers;
  #problem: ElectionProblem | undefined;

  constructor(options: ShardsOptions) {
    const { lease: prefix, shards, lead, times, onChange } = options;
    this.#options = options;
    this.#members = new ShardMembers(options);
    this.#idlers = new ShardIdlers(times);
    this.#electors = Array.from({ length: shards }, (_, shard) => {
      const lease = `${prefix}-${shard}`;
      return new LeaseElector({
        ...options,
        lease,
        wanted: false,
        labels: { [shardsLabel]: prefix },
        drainGraceMs: Math.min(options.drainGraceMs, times.renewDeadlineMs),
        lead: (term) => lead(shard, term),
        onChange: (held) => onChange?.(lease, held),
      });
    });
  }

  /** How many shards this replica may work on now. */
  get held(): number {
    return this.#electors.filter(({ held }) => held).length;
  }

  get problem(): ElectionProblem | undefined {
    return this.#problem ?? this.#electors.map(({ problem }) => problem).find((problem) => problem !== undefined);
  }

  /** Takes part until the signal aborts; then lets the work end, gives all leases back and resolves. */
  async run(signal: AbortSignal): Promise<void> {
    const member = this.#member();
    await Promise.all([this.#rounds(signal), member.run(signal), ...this.#electors.map((elector) => elector.run(signal))]);
  }

  /** Looks at all Leases again and again and adapts what is wanted. */
  async #rounds(signal: AbortSignal): Promise<void> {
    const { clock, random, times, outages, lease } = this.#options;
    while (!signal.aborted) {
      const timeout = new AbortController();
      const timer = clock.setTimer(times.renewDeadlineMs / 2, () => timeout.abort(new ConnectionError("listing leases: no answer in time")));
      try {
        await this.#round(AbortSignal.any([signal, timeout.signal]));
        this.#problem = undefined;
        outages.succeeded(`leases of ${lease}`);
      } catch (error) {
        if (!signal.aborted) this.#note(error);
      } finally {
        timer.cancel();
      }
      // Rejects only when the signal aborts, which the loop sees by itself.
      await sleep(clock, times.retryPeriodMs * (0.9 + 0.2 * random()), signal).catch(() => {});
    }
    outages.succeeded(`leases of ${lease}`);
  }

  async #round(signal: AbortSignal): Promise<void> {
    const { store, clock, lease: prefix, identity } = this.#options;
    const leases = await store.list(`${shardsLabel}=${prefix}`, signal);
    const nowMs = clock.monotonic();
    const isMember = (lease: Stored<Lease>): boolean => lease.metadata.labels?.[memberLabel] !== undefined;
    this.#members.observe(leases.filter(isMember), nowMs);
    const byName = new Map(leases.map((lease) => [lease.metadata.name, lease]));
    const members = new Set(this.#members.alive(nowMs));
    const holders = this.#electors.map((elector, shard) => {
      elector.observe(byName.get(`${prefix}-${shard}`), nowMs);
      if (elector.held) return identity;
      const { state } = elector;
      const holder = state.type === "seen" ? state.lease.spec?.holderIdentity : undefined;
      if (!isFree(state, nowMs, this.#options)) return holder;
      // Whoever let a shard run out is in trouble, even if its own Lease has some time left.
      if (holder && holder !== identity) members.delete(holder);
      return undefined;
    });
    for (const member of this.#idlers.at(nowMs)) if (member !== identity) members.delete(member);
    const { own, expected } = planShards({ holders, members: [...members], self: identity });
    this.#idlers.observe(expected, nowMs);
    for (const [shard, elector] of this.#electors.entries()) elector.want(own.has(shard));
    for (const gone of this.#members.litter(nowMs)) await store.remove(gone, signal);
  }

  #note(error: unknown): void {
    const { message } = failureOf(error);
    const rule = isApiError(error, "Forbidden") ? missingRight(error) : undefined;
    this.#problem = rule ? { type: "forbidden", rule } : { type: "failing", error: message };
    this.#options.outages.failed(`leases of ${this.#options.lease}`, message);
  }

  /** The Lease that says that this replica is there. Given back first at shutdown, so that others plan without us. */
  #member(): LeaseElector {
    const { lease: prefix, identity } = this.#options;
    return new LeaseElector({
      ...this.#options,
      lease: memberLeaseName(prefix, identity),
      labels: { [shardsLabel]: prefix, [memberLabel]: "true" },
      drainGraceMs: 0,
      onChange: () => {},
      lead: ({ drain, signal }) =>
        new Promise((resolve) => {
          for (const end of [drain, signal]) end.addEventListener("abort", () => resolve(), { once: true });
        }),
    });
  }
}
