// Notices that the schema of a kind has changed, such as by an updated CRD: what was refused for it may be taken now.
import type { Client } from "../client/client.ts";
import type { Kind } from "../client/kind.ts";
import { type Clock, sleep } from "../clock.ts";
import { isRecord } from "../json.ts";
import type { Logger } from "../observe/logger.ts";
import { failureOf } from "../controller/failure.ts";
import type { Random } from "../random.ts";

/** What a schema watch works with. */
interface SchemaWatchOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** What controllers want of it. */
export interface Schemas {
  /** Calls `listener` when the schema of one of the kinds has changed. */
  subscribe(kinds: () => Iterable<Kind>, listener: () => void): void;
  /** Something was refused, which another schema may allow: for a while it is looked for more often. */
  expectChange(): void;
}

/** While all is well: a new default, or a new field that is not needed to go on, can wait. */
const calmMs = 600_000;
/** While something is refused. */
const expectantMs = 30_000;
/** Refusals are repeated every five minutes at most, so this bridges two of them. */
const expectantForMs = 360_000;

/**
 * Compares the hashes of the API server's OpenAPI documents, one per group and version. Everybody who is authenticated may read that index
 * (`system:discovery`), also where the operator is limited to namespaces, so this needs none of the rights that a watch of CRDs would.
 */
export class SchemaWatch implements Schemas {
  readonly #options: SchemaWatchOptions;
  readonly #subscriptions: { readonly kinds: () => Iterable<Kind>; readonly listener: () => void }[] = [];
  #hashes: ReadonlyMap<string, string> | undefined;
  #expectantUntilMs = Number.NEGATIVE_INFINITY;
  #hurry = new AbortController();

  constructor(options: SchemaWatchOptions) {
    this.#options = options;
  }

  subscribe(kinds: () => Iterable<Kind>, listener: () => void): void {
    this.#subscriptions.push({ kinds, listener });
  }

  expectChange(): void {
    const nowMs = this.#options.clock.monotonic();
    const wasCalm = nowMs >= this.#expectantUntilMs;
    this.#expectantUntilMs = nowMs + expectantForMs;
    if (wasCalm) this.#hurry.abort();
  }

  /** Looks until the signal aborts, then resolves. What cannot be read is looked for again. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options;
    while (!signal.aborted) {
      await this.#look(signal);
      this.#hurry = new AbortController();
      const isExpectant = clock.monotonic() < this.#expectantUntilMs;
      const waitMs = (isExpectant ? expectantMs : calmMs) * (0.9 + 0.2 * random());
      // Rejects when it is to be over, and when there is reason to hurry.
      await sleep(clock, waitMs, AbortSignal.any([signal, this.#hurry.signal])).catch(() => {});
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    let hashes: ReadonlyMap<string, string>;
    try {
      hashes = await schemaHashes(this.#options.client, signal);
    } catch (error) {
      if (signal.aborted) return;
      const { reason, message, unexpected } = failureOf(error);
      this.#options.log.debug({ reason, error: message, ...unexpected }, "could not look for changed schemas; trying again");
      return;
    }
    const before = this.#hashes;
    this.#hashes = hashes;
    if (!before) return;
    for (const { kinds, listener } of this.#subscriptions) {
      for (const kind of kinds()) {
        const name = documentOf(kind);
        if (hashes.get(name) === before.get(name)) continue;
        listener();
        break;
      }
    }
  }
}

/** The hash of each OpenAPI document, by its name: `api/v1`, `apis/apps/v1`. */
export async function schemaHashes(client: Client, signal?: AbortSignal): Promise<ReadonlyMap<string, string>> {
  const index = await client.request({ method: "GET", path: "/openapi/v3" }, signal);
  const paths = isRecord(index) && isRecord(index["paths"]) ? index["paths"] : {};
  return new Map(
    Object.entries(paths).flatMap(([name, entry]) => {
      const url = isRecord(entry) ? entry["serverRelativeURL"] : undefined;
      const hash = typeof url === "string" ? /[?&]hash=([^&]{1,256})/.exec(url)?.[1] : undefined;
      return hash === undefined ? [] : [[name, hash] as const];
    }),
  );
}

function documentOf({ group, version }: Kind): string {
  return group === "" ? `api/${version}` : `apis/${group}/${version}`;
}
